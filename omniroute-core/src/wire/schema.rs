//! JSON Schema in the dialect of a target. Keywords are chosen from a list of those that are known to work, so a new
//! one never leaks; names of properties are never touched.

use std::borrow::Cow;

use super::json::JsonWriter;
use crate::doc::{Doc, Kind, NodeId};

/// Keywords that Gemini takes in `parametersJsonSchema` and `responseJsonSchema`.
const GEMINI_JSON: &[&str] = &[
    "$defs",
    "$ref",
    "$anchor",
    "$id",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
];

/// Keywords whose members are names, not keywords.
const NAMES: &[&str] = &["properties", "$defs"];
/// Keywords that hold schemas.
const SCHEMAS: &[&str] = &["items", "prefixItems", "anyOf", "oneOf", "additionalProperties"];

/// The schema in Gemini's own JSON-Schema dialect, and whether anything was left out. What was meant by `const`
/// becomes a list of one.
pub fn gemini_json(schema: &str) -> (Cow<'_, str>, bool) {
    let Ok(doc) = Doc::parse_with_limit(schema.to_owned(), usize::MAX) else { return (schema.into(), false) };
    let mut out = JsonWriter::with_capacity(schema.len());
    let changed = write(&doc, doc.root(), &mut out);
    if changed { (out.finish().into(), true) } else { (schema.into(), false) }
}

/// Depth is bounded by the document's own limit.
fn write(doc: &Doc, node: NodeId, out: &mut JsonWriter) -> bool {
    let mut changed = false;
    match doc.kind(node) {
        Kind::Array => {
            out.array();
            doc.elements(node).for_each(|n| changed |= write(doc, n, out));
            out.end_array();
        }
        Kind::Object => {
            out.object();
            for (key, value) in doc.members(node) {
                let name = doc.str(key).unwrap_or_default();
                if name == "const" {
                    out.key("enum").array().raw(doc.raw(value)).end_array();
                    changed = true;
                } else if !GEMINI_JSON.contains(&name.as_ref()) {
                    changed = true;
                } else if NAMES.contains(&name.as_ref()) && doc.kind(value) == Kind::Object {
                    out.key(&name).object();
                    for (property, inner) in doc.members(value) {
                        out.key(&doc.str(property).unwrap_or_default());
                        changed |= write(doc, inner, out);
                    }
                    out.end_object();
                } else if SCHEMAS.contains(&name.as_ref()) {
                    out.key(&name);
                    changed |= write(doc, value, out);
                } else {
                    out.key(&name).raw(doc.raw(value));
                }
            }
            out.end_object();
        }
        _ => drop(out.raw(doc.raw(node))),
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_chosen_and_names_kept() {
        let schema = r#"{"$schema":"x","type":"object","properties":{"pattern":{"type":"string","minLength":1},"$ref":{"const":"a"},"tags":{"type":"array","items":{"type":"string","uniqueItems":true}}},"required":["pattern"],"additionalProperties":false}"#;
        let (kept, changed) = gemini_json(schema);
        assert!(changed);
        assert_eq!(
            kept,
            r#"{"type":"object","properties":{"pattern":{"type":"string"},"$ref":{"enum":["a"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["pattern"],"additionalProperties":false}"#
        );
        let (again, changed) = gemini_json(&kept);
        assert_eq!((again.as_ref(), changed), (kept.as_ref(), false), "twice is the same as once");
    }
}
