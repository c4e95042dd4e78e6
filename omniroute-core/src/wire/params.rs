//! Simple parameters: one table a wire says what each is called there, or what becomes of it.

use super::WireError;
use super::common::dropped;
use super::json::JsonWriter;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, JsonStr};
use crate::hub::{Json, Param, Request, WriteContext};

/// What becomes of a parameter on a wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// Carried under this name.
    Key(&'static str),
    /// Carried as a number within bounds (written as text).
    Clamp(&'static str, &'static str, &'static str),
    /// Carried as a list of at most so many texts.
    List(&'static str, usize),
    /// Carried under this name to hosts that say they take it.
    Host(&'static str),
    /// Carried by code of the wire, in a place of its own.
    Own,
    /// Left out with a diagnostic.
    Drop,
    /// Left out, nothing is lost.
    Silent,
    /// The target cannot serve the request.
    Incapable(&'static str),
}

/// The parameters of a wire.
#[derive(Debug, Clone, Copy)]
pub struct ParamTable {
    /// The wire.
    pub wire: &'static str,
    /// Each parameter once.
    pub rows: &'static [(Param, Fate)],
    /// Other names that are read.
    pub also: &'static [(&'static str, Param)],
}

impl ParamTable {
    /// The parameter with this name on the wire.
    pub fn param(&self, key: JsonStr<'_>) -> Option<Param> {
        let named = |fate: &Fate| match fate {
            Fate::Key(k) | Fate::Clamp(k, ..) | Fate::List(k, _) | Fate::Host(k) => key.is(k),
            _ => false,
        };
        let own = self.rows.iter().find(|(_, fate)| named(fate)).map(|(param, _)| *param);
        own.or_else(|| self.also.iter().find(|(name, _)| key.is(name)).map(|(_, param)| *param))
    }

    /// What becomes of a parameter.
    pub fn fate(&self, param: Param) -> Fate {
        self.rows.iter().find(|(p, _)| *p == param).map_or(Fate::Drop, |(_, fate)| *fate)
    }

    /// What becomes of a parameter that was read from the wire `from`. Some values have a shape that only their own
    /// wire knows, under whatever name others have for the same thing.
    fn fate_of(&self, param: Param, from: &str) -> Fate {
        match (self.fate(param), param) {
            (fate, _) if from == self.wire => fate,
            (Fate::Key(_), Param::SafetySettings | Param::SpeechConfig) => Fate::Drop,
            (Fate::Key(_), Param::ContextManagement) => Fate::Incapable("unsupported_param"),
            (fate, _) => fate,
        }
    }

    /// Writes the parameters of a request as members of the open object. Those that the wire carries in its own
    /// way are left to it.
    ///
    /// # Errors
    /// [`WireError::Incapable`] for a parameter the target would have to obey and cannot.
    pub fn write(
        &self,
        request: &Request<'_>,
        cx: &WriteContext,
        out: &mut JsonWriter,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<(), WireError> {
        for (param, value) in &request.params {
            if value.raw() == "null" {
                continue;
            }
            match self.fate_of(*param, request.wire) {
                Fate::Own | Fate::Silent => {}
                Fate::Drop => notes.push(dropped(param.row())),
                Fate::Incapable(_) if harmless(*param, value) => {}
                Fate::Incapable(code) => {
                    let message = format!("wire \"{}\" has no \"{}\"", self.wire, param.row());
                    return Err(WireError::incapable(code, format!("/{}", param.row()), message));
                }
                Fate::Host(key) => {
                    let wanted = request.wire == self.wire || cx.quirks.allow_params.iter().any(|p| p == key);
                    if wanted && !refused(cx, key) {
                        out.key(key).json(value);
                    } else {
                        notes.push(dropped(param.row()));
                    }
                }
                Fate::Key(key) | Fate::Clamp(key, ..) | Fate::List(key, _) if refused(cx, key) => {
                    notes.push(dropped(param.row()));
                }
                Fate::Key(key) => drop(out.key(key).json(value)),
                Fate::Clamp(key, low, high) => {
                    let bounded = clamp(value, low, high);
                    if bounded != value.raw() {
                        notes.push(clamped(param.row(), bounded));
                    }
                    out.key(key).raw(bounded);
                }
                Fate::List(key, most) => list(key, most, param.row(), value, out, notes),
            }
        }
        Ok(())
    }
}

fn refused(cx: &WriteContext, key: &str) -> bool {
    cx.quirks.drop_params.iter().any(|p| p == key)
}

/// A value that asks for nothing a wire could not do.
fn harmless(param: Param, value: &Json<'_>) -> bool {
    match param {
        Param::Candidates => value.count() == Some(1),
        _ => matches!(value.raw(), "false" | "[]" | "{}"),
    }
}

fn clamp<'a>(value: &'a Json<'_>, low: &'static str, high: &'static str) -> &'a str {
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    match value.number() {
        Some(n) if n < number(low) => low,
        Some(n) if n > number(high) => high,
        _ => value.raw(),
    }
}

fn clamped(row: &str, to: &str) -> Diagnostic {
    Diagnostic::new("param_clamped", format!("/{row}"), format!("sent as {to}"))
}

fn list(
    key: &str,
    most: usize,
    row: &str,
    value: &Json<'_>,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) {
    let Ok(doc) = Doc::parse_with_limit(value.raw().to_owned(), usize::MAX) else { return };
    let root = doc.root();
    out.key(key).array();
    if doc.json_str(root).is_some() {
        out.raw(doc.raw(root));
    }
    for node in doc.elements(root).take(most) {
        out.raw(doc.raw(node));
    }
    out.end_array();
    if doc.elements(root).count() > most {
        notes.push(clamped(row, &format!("the first {most}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{MATRIX, anthropic, gemini, openai_chat, openai_responses};

    fn cell(param: Param, wire: &str) -> &'static str {
        let mut lines = MATRIX.lines().filter(|l| !l.starts_with('#'));
        let column = lines.next().and_then(|head| head.split('\t').position(|name| name == wire)).unwrap();
        let row = lines.find(|l| l.starts_with(&format!("request\t{}\t", param.row())));
        row.unwrap_or_else(|| panic!("no row for {param:?}")).split('\t').nth(column).unwrap()
    }

    /// Whether a table and a cell of the matrix say the same.
    fn agree(fate: Fate, cell: &str) -> bool {
        match fate {
            Fate::Drop => cell == "-",
            Fate::Silent => cell == ".",
            Fate::Incapable(code) => cell == format!("!{code}"),
            Fate::Host(_) => cell == "-", // only hosts that say they take it
            Fate::Own => !["-", ".", "!"].iter().any(|mark| cell.starts_with(mark)),
            Fate::Key(key) => cell.split(' ').any(|path| names(path, key)),
            Fate::Clamp(key, low, high) => names(cell, key) && cell.contains(&format!("{low}..{high}")),
            Fate::List(key, most) => {
                names(cell, key) && (most == usize::MAX || cell.contains(&most.to_string()))
            }
        }
    }

    fn names(cell: &str, key: &str) -> bool {
        cell.split([' ', '.', '~', '*']).any(|word| word.trim_end_matches("[]") == key)
    }

    #[test]
    fn tables_say_what_the_matrix_says() {
        for table in [openai_chat::PARAMS, openai_responses::PARAMS, anthropic::PARAMS] {
            for param in Param::ALL {
                let (fate, cell) = (table.fate(param), cell(param, table.wire));
                assert!(agree(fate, cell), "{} {param:?}: {fate:?} and {cell:?}", table.wire);
            }
        }
        for param in Param::ALL {
            let (top, config) = (gemini::TOP.fate(param), gemini::CONFIG.fate(param));
            let fate = if top == Fate::Own { config } else { top };
            assert!(agree(fate, cell(param, "gemini")), "gemini {param:?}: {fate:?}");
        }
    }

    /// The twin: a table that drops what the matrix carries is caught.
    #[test]
    fn a_table_that_disagrees_is_caught() {
        assert!(!agree(Fate::Drop, cell(Param::Seed, "openai-chat")));
        assert!(!agree(Fate::Key("topK"), cell(Param::TopP, "gemini")));
    }
}
