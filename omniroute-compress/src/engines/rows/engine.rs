//! The engine on top of the encoder: which results it may touch, and how its change is taken back.

use std::ops::Range;
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Replacement, SegmentView, Sources,
};

use super::{Escapes, Layout, Options, Printer, decode, encode, restore};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::shell::class::{self, ResultClass};

const INFO: EngineInfo = EngineInfo::new("rows", Loss::Lossless)
    .summary("lists of JSON objects become tables that name each key once")
    .priority(15)
    .min_bytes(512)
    .alone();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_rows", 8, (2, 1_000_000), "fewer rows are no table"),
    ConfigField::int("min_saving_percent", 10, (1, 99), "least saving, in percent of the document's tokens"),
    ConfigField::int("min_saving_tokens", 40, (1, 1_000_000), "least saving, in tokens"),
    ConfigField::switch(
        "verify",
        true,
        "decode every table and compare it with its source before it is sent",
    ),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS).aliases(&["headroom"]);

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    let number = |key| u32::try_from(settings.size(key)).unwrap_or(u32::MAX);
    let options = Options {
        min_rows: number("min_rows"),
        min_saving_percent: number("min_saving_percent"),
        min_saving_tokens: number("min_saving_tokens"),
        verify: settings.bool("verify"),
        refuse_marked: false, // the pipeline has looked at the original
        ..Options::default()
    };
    Arc::new(Rows { options })
}

#[derive(Debug)]
struct Rows {
    options: Options,
}

impl CompressionEngine for Rows {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, cx: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let text = view.text();
        if memchr::memchr(b'{', text.as_bytes()).is_none() {
            return Ok(Edit::Keep("not_json"));
        }
        match class::of(view) {
            ResultClass::View => return Ok(Edit::Keep("file_view")),
            ResultClass::Diff => return Ok(Edit::Keep("diff")),
            _ => {}
        }
        let encoded = match encode(text, &|t| cx.tokenizer.count(t), &self.options) {
            Ok(encoded) => encoded,
            Err(refusal) => return Ok(Edit::Keep(refusal.code())),
        };
        if cx.lossless_only && encoded.printer.is_none() {
            return Ok(Edit::Keep("own_layout")); // only the document could be restored, not its spelling
        }
        let count = encoded.rows;
        let printer = encoded.printer.map_or_else(|| "-".to_owned(), spell);
        let undo = format!("{} {} {printer}", encoded.block.start, encoded.block.end);
        let out = Replacement::new(encoded.text).technique(encoded.form.technique(), count).undo(undo);
        // A receipt says where the proof was waived.
        Ok(Edit::Replace(out.technique("unverified", u32::from(!self.options.verify))))
    }

    fn undo(&self, after: &str, undo: &str, _: &dyn Sources) -> Option<String> {
        let mut fields = undo.splitn(3, ' ');
        let block: Range<usize> = fields.next()?.parse().ok()?..fields.next()?.parse().ok()?;
        match fields.next()? {
            // Printed in a way of its own: the same document, compact.
            "-" => {
                let document = decode(after.get(block.clone())?).ok()?;
                Some([after.get(..block.start)?, &document, after.get(block.end..)?].concat())
            }
            printer => restore(after, &super::Edit { block, printer: Some(parse(printer)?) }),
        }
    }
}

/// Text form of a printer: layout, escapes, lines.
fn spell(printer: Printer) -> String {
    let layout = match printer.layout {
        Layout::Compact => "compact".to_owned(),
        Layout::OneSpace => "space".to_owned(),
        Layout::Indent { width, tab: false } => format!("indent{width}"),
        Layout::Indent { width, tab: true } => format!("tab{width}"),
    };
    let escapes = match printer.escapes {
        Escapes::Minimal => "",
        Escapes::Ascii => " ascii",
    };
    let lines = if printer.lines { " lines" } else { "" };
    format!("{layout}{escapes}{lines}")
}

fn parse(text: &str) -> Option<Printer> {
    let mut words = text.split(' ');
    let layout = match words.next()? {
        "compact" => Layout::Compact,
        "space" => Layout::OneSpace,
        other => match (other.strip_prefix("indent"), other.strip_prefix("tab")) {
            (Some(width), _) => Layout::Indent { width: width.parse().ok()?, tab: false },
            (_, Some(width)) => Layout::Indent { width: width.parse().ok()?, tab: true },
            _ => return None,
        },
    };
    let rest: Vec<&str> = words.collect();
    let escapes = if rest.contains(&"ascii") { Escapes::Ascii } else { Escapes::Minimal };
    Some(Printer { layout, escapes, lines: rest.contains(&"lines") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printers_survive_their_text_form() {
        for layout in [
            Layout::Compact,
            Layout::OneSpace,
            Layout::Indent { width: 2, tab: false },
            Layout::Indent { width: 1, tab: true },
        ] {
            for escapes in [Escapes::Minimal, Escapes::Ascii] {
                for lines in [false, true] {
                    let printer = Printer { layout, escapes, lines };
                    assert_eq!(parse(&spell(printer)), Some(printer));
                }
            }
        }
    }
}
