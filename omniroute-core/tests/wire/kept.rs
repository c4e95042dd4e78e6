//! What the matrix promises, held against what became of a request: whether it keeps its parameters, or is refused for
//! a reason that the matrix knows. The tests of other crates share this.

use omniroute_core::Doc;
use omniroute_core::hub::{Param, Part, Request, Source};
use omniroute_core::wire::{OPENAI_CHAT, WireError};
use serde_json::Value;

use crate::matrix::{self, Fate, Row};

/// An error unless the matrix knows why the target refuses the request.
pub(crate) fn refused(rows: &[Row], error: &WireError, target: &str) -> Result<(), String> {
    let code = error.code();
    let known = rows.iter().any(|row| match &row.fates[target] {
        Fate::Incapable(known) => known == code,
        Fate::Mapped(_, rule) => rule.contains(code),
        _ => false,
    });
    match error {
        WireError::Incapable { .. } if known => Ok(()),
        _ => Err(error.to_string()),
    }
}

/// What became of `row` on the way to `target`, checked against what the matrix promises.
pub(crate) fn keeps(
    row: &Row,
    from: &Request<'_>,
    to: &Request<'_>,
    codes: &[(String, String)],
    target: &str,
) -> Result<(), String> {
    let find = |r: &Request<'_>| {
        let at = Param::ALL.iter().find(|p| p.row() == row.name)?;
        r.param(*at).map(|v| v.raw().to_owned())
    };
    let Some(asked) = find(from) else { return Ok(()) };
    // What every wire does when nothing is said.
    if row.name == "parallel_tools" && asked == "true" {
        return Ok(());
    }
    let noted = |code: &str| codes.iter().any(|(c, at)| c == code && at.contains(&row.name));
    match &row.fates[target] {
        Fate::Carried(_) => match find(to) {
            Some(found) if same_value(&asked, &found) => Ok(()),
            // The model or a rule of the wire took it away, and said so.
            None if noted("param_dropped") => Ok(()),
            other => Err(format!("{}: {asked} became {other:?}", row.name)),
        },
        Fate::Mapped(_, rule) => match find(to) {
            Some(found) if same_value(&asked, &found) => Ok(()),
            // Another word for the same.
            Some(found) if rule.contains(found.trim_matches('"')) => Ok(()),
            // The limit grows by the room to think.
            Some(_) if row.name == "max_output" && from.reasoning.is_some() => Ok(()),
            _ if noted("param_clamped") || noted("param_dropped") => Ok(()),
            other => Err(format!("{}: {asked} became {other:?} without a remark", row.name)),
        },
        Fate::Dropped(code) if noted(code) => Ok(()),
        Fate::Dropped(code) => Err(format!("{}: dropped without {code}", row.name)),
        Fate::Nothing | Fate::Url => Ok(()),
        Fate::Incapable(_) if matches!(asked.as_str(), "1" | "false" | "[]" | "{}") => Ok(()),
        Fate::Incapable(code) => Err(format!("{}: sent although the matrix says {code}", row.name)),
    }
}

pub(crate) fn has_documents(request: &Request<'_>) -> bool {
    let parts = request.turns.iter().flat_map(|t| &t.parts);
    parts.into_iter().any(|p| matches!(p, Part::Media(m) if matches!(m.source, Source::Text(_))))
}

fn same_value(a: &str, b: &str) -> bool {
    let parse = |t: &str| serde_json::from_str::<Value>(t).unwrap();
    let list = |v: Value| if v.is_string() { Value::Array(vec![v]) } else { v };
    list(parse(a)) == list(parse(b))
}

/// Twin: a parameter that is lost in silence breaks the promise.
#[test]
fn a_lost_parameter_is_noticed() {
    let rows: Vec<_> = matrix::rows().into_iter().filter(|r| r.name == "temperature").collect();
    let docs = [
        Doc::parse(r#"{"model":"m","temperature":0.5,"messages":[]}"#).unwrap(),
        Doc::parse(r#"{"model":"m","messages":[]}"#).unwrap(),
    ];
    let [with, without] = docs.each_ref().map(|doc| OPENAI_CHAT.read_request(doc).unwrap().value);
    assert!(keeps(&rows[0], &with, &with, &[], "openai-chat").is_ok());
    assert!(keeps(&rows[0], &with, &without, &[], "openai-chat").is_err());
}

/// Twin: a refusal that the matrix does not know is none.
#[test]
fn an_unknown_refusal_is_noticed() {
    let rows: Vec<_> = matrix::rows().into_iter().filter(|r| r.name == "documents").collect();
    let error = |code| WireError::incapable(code, "/documents", "no");
    assert!(refused(&rows, &error("unsupported_param"), "gemini").is_ok());
    assert!(refused(&rows, &error("unsupported_tool"), "gemini").is_err());
}
