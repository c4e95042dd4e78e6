//! Shorter descriptions in lists of tools, prompts and resources. Everything else stays byte for byte.

use std::collections::BTreeMap;

use bytes::Bytes;
use omniroute_core::{Doc, DocError, Kind, NodeId, escape};

use crate::caveman::{Condenser, Language, Level};

/// Schemas in schemas that are followed.
const DEPTH: usize = 64;

/// How descriptions are shortened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ListingOptions {
    /// How much is taken out; default lite, for a description is an instruction.
    pub level: Level,
    /// Language of the descriptions; default is to find it out for each.
    pub language: Option<Language>,
    /// Most characters of one description; a longer one ends with the last sentence that fits, and `…`. Default none.
    pub max_chars: Option<usize>,
}

impl Default for ListingOptions {
    fn default() -> Self {
        ListingOptions { level: Level::Lite, language: None, max_chars: None }
    }
}

impl ListingOptions {
    /// Sets the level.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Says which language the descriptions are in.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Sets the limit of one description, in characters.
    #[must_use]
    pub fn max_chars(mut self, chars: usize) -> Self {
        self.max_chars = Some(chars);
        self
    }
}

/// A list with shorter descriptions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listing {
    /// The JSON. The very same bytes if nothing was changed.
    pub json: Bytes,
    /// Descriptions looked at.
    pub descriptions: u32,
    /// Descriptions that are shorter now.
    pub changed: u32,
    /// Descriptions that were cut at the limit.
    pub cut: u32,
    /// Bytes saved.
    pub saved: u64,
    /// Ids of rules and how often they acted.
    pub rules: BTreeMap<&'static str, u32>,
}

/// Shortens the descriptions in the result of `tools/list`, `prompts/list`, `resources/list` and
/// `resources/templates/list`, with or without the JSON-RPC reply around it.
///
/// Only the value of `description` in a tool, in the schemas of its input and output, in a prompt, its arguments, a
/// resource and a template is touched; names, titles, enums, defaults, examples, patterns and addresses never.
///
/// ```
/// use omniroute_compress::mcp::{ListingOptions, compress_listing};
/// let list = r#"{"tools": [{"name": "read", "description": "Use this in order to read a file. It is the one to use if there is not a cache."}]}"#;
/// let out = compress_listing(list, ListingOptions::default())?;
/// assert_eq!(out.changed, 1);
/// assert!(std::str::from_utf8(&out.json).is_ok_and(|t| t.contains("Use this to read a file. It is the one")));
/// # Ok::<(), omniroute_core::DocError>(())
/// ```
///
/// # Errors
/// [`DocError`] if the text is no JSON.
pub fn compress_listing(json: impl Into<Bytes>, options: ListingOptions) -> Result<Listing, DocError> {
    let doc = Doc::parse(json)?;
    let mut condenser = Condenser::new(options.level);
    if let Some(language) = options.language {
        condenser = condenser.language(language);
    }
    let mut found = Vec::new();
    let root = doc.get(doc.root(), "result").unwrap_or_else(|| doc.root());
    for (key, inner) in [
        ("tools", ["inputSchema", "outputSchema"].as_slice()),
        ("prompts", &["arguments"]),
        ("resources", &[]),
        ("resourceTemplates", &[]),
    ] {
        let Some(list) = doc.get(root, key).filter(|n| doc.kind(*n) == Kind::Array) else { continue };
        for item in doc.elements(list) {
            description(&doc, item, &mut found);
            for part in inner.iter().filter_map(|name| doc.get(item, name)) {
                match doc.kind(part) {
                    Kind::Array => doc.elements(part).for_each(|n| description(&doc, n, &mut found)),
                    _ => schema(&doc, part, DEPTH, &mut found),
                }
            }
        }
    }
    let mut out = Listing {
        json: doc.bytes().clone(),
        descriptions: 0,
        changed: 0,
        cut: 0,
        saved: 0,
        rules: BTreeMap::new(),
    };
    let mut edits = Vec::new();
    for node in found {
        let Some(text) = doc.str(node) else { continue };
        out.descriptions += 1;
        let done = condenser.condense(&text);
        let cut = options.max_chars.and_then(|most| cut(&done.text, most));
        let new = cut.as_deref().unwrap_or(&done.text);
        let literal = escape(new);
        if new == text.as_ref() || literal.len() >= doc.raw(node).len() {
            continue;
        }
        out.changed += 1;
        out.cut += u32::from(cut.is_some());
        out.saved += (doc.raw(node).len() - literal.len()) as u64;
        for (rule, count) in done.rules {
            *out.rules.entry(rule).or_default() += count;
        }
        edits.push((node, literal.into()));
    }
    if let (false, Ok(new)) = (edits.is_empty(), doc.replace_strings(edits)) {
        out.json = new.bytes().clone();
    }
    Ok(out)
}

fn description(doc: &Doc, object: NodeId, out: &mut Vec<NodeId>) {
    if doc.kind(object) == Kind::Object
        && let Some(node) = doc.get(object, "description")
        && doc.kind(node) == Kind::String
    {
        out.push(node);
    }
}

/// Descriptions in a schema and in the schemas inside it; values of enums, defaults and examples are no schemas.
fn schema(doc: &Doc, node: NodeId, depth: usize, out: &mut Vec<NodeId>) {
    if depth == 0 || doc.kind(node) != Kind::Object {
        return;
    }
    description(doc, node, out);
    for (key, value) in doc.members(node) {
        match (doc.str(key).as_deref(), doc.kind(value)) {
            (Some("properties" | "patternProperties" | "$defs" | "definitions"), Kind::Object) => {
                doc.members(value).for_each(|(_, inner)| schema(doc, inner, depth - 1, out));
            }
            (Some("items" | "additionalProperties" | "not" | "contains"), Kind::Object) => {
                schema(doc, value, depth - 1, out);
            }
            (Some("anyOf" | "oneOf" | "allOf" | "prefixItems"), Kind::Array) => {
                doc.elements(value).for_each(|inner| schema(doc, inner, depth - 1, out));
            }
            _ => {}
        }
    }
}

/// The text up to the last end of a sentence within the limit; none if it fits or its first sentence does not.
fn cut(text: &str, most: usize) -> Option<String> {
    let (limit, _) = text.char_indices().nth(most)?;
    let head = text.get(..limit)?;
    let ends = |(at, c): (usize, char)| {
        let end = at + c.len_utf8();
        let stops = matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?') && text.get(end..).is_some_and(|t| t.starts_with([' ', '\n'])));
        (stops && end < limit).then_some(end)
    };
    let end = head.char_indices().rev().find_map(ends)?;
    Some(format!("{}…", text.get(..end)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const LIST: &str = r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [
  {"name": "query", "title": "Please run", "description": "Please use this tool in order to run a query. Do not use it if the table is not there, at most 5 rows.",
   "inputSchema": {"type": "object", "properties": {
      "description": {"type": "string", "description": "This is basically the text of the query that is to be run, as it is in the file."},
      "mode": {"enum": ["in order to", "x"], "default": "in order to", "examples": ["in order to"], "description": "the mode"},
      "list": {"type": "array", "items": {"anyOf": [{"description": "It is a name that is in use prior to the run of the query."}]}}}}}],
  "prompts": [{"name": "p", "description": "It is due to the fact that the file is there.", "arguments": [{"name": "a", "description": "It is in order to be there as the name of the file."}]}],
  "resources": [{"uri": "file:///in order to", "name": "in order to", "description": "It is the file that is in use in order to be there."}]}}"#;

    #[test]
    fn only_descriptions_change() {
        let options = ListingOptions::default().language(Language::En);
        let out = compress_listing(LIST, options).unwrap();
        let text = std::str::from_utf8(&out.json).unwrap();
        assert_eq!((out.descriptions, out.changed, out.cut), (7, 6, 0));
        assert_eq!(out.saved as usize, LIST.len() - text.len());
        assert_eq!(out.rules.get("in-order-to"), Some(&3));
        assert!(text.contains(
            "use this tool to run a query. Do not use it if the table is not there, at most 5 rows."
        ));
        for same in [
            r#""title": "Please run""#,
            r#"["in order to", "x"], "default": "in order to""#,
            "file:///in order to",
        ] {
            assert!(text.contains(same), "{same}");
        }
        // Same keys in the same order, and every value but descriptions is equal.
        let blank = |text: &str| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            fn walk(value: &mut Value) {
                match value {
                    Value::Object(members) => members.iter_mut().for_each(|(key, v)| match v {
                        Value::String(s) if key == "description" => s.clear(),
                        v => walk(v),
                    }),
                    Value::Array(items) => items.iter_mut().for_each(walk),
                    _ => {}
                }
            }
            walk(&mut value);
            value
        };
        assert_eq!(blank(LIST), blank(text));
        assert_eq!(Doc::parse(LIST).unwrap().keys(), Doc::parse(text.to_owned()).unwrap().keys());
    }

    #[test]
    fn twice_is_once_and_nothing_to_do_gives_the_same_bytes() {
        for level in Level::ALL {
            let options = ListingOptions::default().language(Language::En).level(level);
            let once = compress_listing(LIST, options).unwrap();
            assert_eq!(compress_listing(LIST, options).unwrap().json, once.json);
            let twice = compress_listing(once.json.clone(), options).unwrap();
            assert_eq!((twice.json, twice.changed), (once.json, 0));
        }
        for json in ["{}", "[]", "1", r#"{"tools": 5, "prompts": [1, {"description": 2}]}"#] {
            assert_eq!(compress_listing(json, ListingOptions::default()).unwrap().json, json);
        }
        assert!(compress_listing("{", ListingOptions::default()).is_err());
    }

    #[test]
    fn a_limit_cuts_at_the_end_of_a_sentence() {
        let list = r#"{"tools": [{"name": "a", "description": "First one. Second one. Third one."}, {"name": "b", "description": "No end in sight here"}]}"#;
        let out = compress_listing(list, ListingOptions::default().max_chars(25)).unwrap();
        let text = std::str::from_utf8(&out.json).unwrap();
        assert!(
            text.contains("\"First one. Second one.…\"") && text.contains("No end in sight here"),
            "{text}"
        );
        assert_eq!((out.changed, out.cut), (1, 1));
        let out = compress_listing(list, ListingOptions::default().max_chars(100)).unwrap();
        assert_eq!(out.cut, 0);
    }
}
