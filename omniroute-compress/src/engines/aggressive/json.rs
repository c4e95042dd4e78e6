//! Lists in a JSON document lose the rows in their middle; the document stays one.

use std::collections::HashSet;

use omniroute_core::{Doc, Kind, NodeId, Patch};

use super::super::kept::{Cut, stays};

/// The document that a text is, if it is one.
pub(super) fn read(text: &str) -> Option<Doc> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    Doc::parse_with_limit(text.to_owned(), usize::MAX).ok()
}

/// The document with `head` first and `tail` last rows of each long list; rows that tell of an error or bring a key that
/// no kept row has stay as well.
pub(super) fn cut(doc: &Doc, (head, tail): (usize, usize)) -> Cut {
    let mut out = Cut::default();
    let mut patch = Patch::new();
    let mut open = vec![doc.root()];
    while let Some(node) = open.pop() {
        match doc.kind(node) {
            Kind::Object => open.extend(doc.members(node).map(|(_, value)| value)),
            Kind::Array => {
                let rows: Vec<NodeId> = doc.elements(node).collect();
                if rows.len() <= head + tail + 1 {
                    open.extend(rows);
                } else if let Some(list) = list(doc, &rows, (head, tail), &mut out)
                    && patch.set_json(node, list).is_err()
                {
                    return Cut::default();
                }
            }
            _ => {}
        }
    }
    let done = doc.splice(&patch).ok().and_then(|bytes| Doc::parse_with_limit(bytes, usize::MAX).ok());
    match done.filter(|done| done.keys() == doc.keys()) {
        Some(done) => Cut { text: done.source().to_owned(), ..out },
        None => Cut::default(),
    }
}

fn list(doc: &Doc, rows: &[NodeId], (head, tail): (usize, usize), out: &mut Cut) -> Option<String> {
    let mut known: HashSet<&str> = HashSet::new();
    let mut parts: Vec<String> = Vec::new();
    let (mut gone, mut bytes) = (0_u64, 0_u64);
    let flush = |gone: &mut u64, parts: &mut Vec<String>| {
        if *gone > 0 {
            parts.push(format!("\"[omitted: {gone} rows]\""));
        }
        *gone = 0;
    };
    let mut total = 0;
    for (n, row) in rows.iter().enumerate() {
        let raw = doc.raw(*row);
        let keys = doc.members(*row).map(|(key, _)| doc.raw(key));
        let novel = doc.kind(*row) == Kind::Object && keys.filter(|key| known.insert(*key)).count() > 0;
        if n < head || n + tail >= rows.len() || novel || stays(raw) {
            flush(&mut gone, &mut parts);
            parts.push(raw.to_owned());
        } else {
            (gone, total, bytes) = (gone + 1, total + 1, bytes + raw.len() as u64);
        }
    }
    flush(&mut gone, &mut parts);
    out.rows += total;
    out.bytes += bytes;
    (total > 0).then(|| format!("[{}]", parts.join(",")))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn lists_keep_their_ends_their_errors_and_every_key() {
        let rows: Vec<String> = (0..40)
            .map(|n| match n {
                20 => r#"{"id":20,"state":"failed"}"#.to_owned(),
                25 => r#"{"id":25,"late":1.50}"#.to_owned(),
                _ => format!(r#"{{"id":{n},"state":"ok"}}"#),
            })
            .collect();
        let text = format!(r#"{{"total":40,"big":12345678901234567890,"items":[{}]}}"#, rows.join(","));
        let cut = cut(&read(&text).unwrap(), (5, 2));
        assert_eq!(cut.rows, 31);
        let items = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["items"].take();
        let omitted = |row: &serde_json::Value| {
            row.as_str()?.strip_prefix("[omitted: ")?.strip_suffix(" rows]")?.parse::<u64>().ok()
        };
        let counted = |text: &str| items(text).as_array().unwrap().iter().filter_map(omitted).sum::<u64>();
        assert_eq!(counted(&cut.text), 31, "{}", cut.text);
        assert_eq!(items(&cut.text).as_array().unwrap().len(), 9 + 3, "{}", cut.text);
        for kept in [
            r#"{"id":20,"state":"failed"}"#,
            r#"{"id":25,"late":1.50}"#,
            "12345678901234567890",
            r#""id":39"#,
        ] {
            assert!(cut.text.contains(kept), "{kept}");
        }
        let given: Value = serde_json::from_str(&text).unwrap();
        let sent: Value = serde_json::from_str(&cut.text).unwrap();
        assert_eq!(complete(&given, &sent), Ok(31));
        // The same check sees each way in which a cut could lie.
        let broken = |change: &dyn Fn(&mut Vec<Value>)| {
            let mut twin = sent.clone();
            change(twin["items"].as_array_mut().unwrap());
            complete(&given, &twin)
        };
        assert!(broken(&|rows| drop(rows.remove(1))).is_err(), "a kept row has gone without a word");
        assert!(broken(&|rows| rows.retain(|row| !row.is_string())).is_err(), "nothing is counted");
        assert!(broken(&|rows| rows[5] = "[omitted: 14 rows]".into()).is_err(), "a count is too small");
        assert!(broken(&|rows| rows.swap(0, 1)).is_err(), "rows are in another order");
        assert!(broken(&|rows| rows[0]["id"] = 7.into()).is_err(), "a value has changed");
        assert!(broken(&|rows| rows[0] = serde_json::json!({"id": 0})).is_err(), "a member has gone");
    }

    /// How many rows a document counts as gone, if all that it does not count is there: the same members, and of each list
    /// rows in their order with a true count in every gap.
    fn complete(given: &Value, sent: &Value) -> Result<u64, String> {
        match (given, sent) {
            (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
                a.iter().map(|(key, value)| complete(value, &b[key])).sum()
            }
            (Value::Array(a), Value::Array(b)) => {
                let (mut at, mut gone) = (0, 0);
                for row in b {
                    let count = row.as_str().and_then(|s| {
                        s.strip_prefix("[omitted: ")?.strip_suffix(" rows]")?.parse::<usize>().ok()
                    });
                    match count {
                        Some(count) => (at, gone) = (at + count, gone + count as u64),
                        None => {
                            let own = a.get(at).ok_or_else(|| format!("row {at} is one too many"))?;
                            (at, gone) = (at + 1, gone + complete(own, row)?);
                        }
                    }
                }
                if at == a.len() { Ok(gone) } else { Err(format!("{at} rows are not {}", a.len())) }
            }
            (a, b) if a == b => Ok(0),
            (a, b) => Err(format!("{a} became {b}")),
        }
    }

    #[test]
    fn every_cut_of_nested_lists_is_complete() {
        for (rows, inner) in [(3, 3), (9, 30), (40, 2), (40, 40)] {
            let row = |n: usize| {
                let list: Vec<Value> = (0..inner).map(|m| serde_json::json!([n, m, "x"])).collect();
                serde_json::json!({"id": n, "list": list, "state": if n % 7 == 6 { "failed" } else { "ok" }})
            };
            let given = serde_json::json!({"total": rows, "rows": (0..rows).map(row).collect::<Vec<_>>()});
            let text = given.to_string();
            let cut = cut(&read(&text).unwrap(), (5, 2));
            let sent = if cut.text.is_empty() { text } else { cut.text };
            assert_eq!(
                complete(&given, &serde_json::from_str(&sent).unwrap()),
                Ok(cut.rows),
                "{rows} {inner}"
            );
        }
    }
}
