//! Which strings of a body were changed: what a binding needs to carry an edit into objects of its language without
//! another trip through JSON text.

use omniroute_core::{CompressReceipt, Doc, Kind, NodeId};

/// One step of the way from the root of a body to a value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Step {
    /// A member of an object.
    Key(String),
    /// An element of a list, from 0.
    Index(usize),
}

/// A string with a new text.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct TextEdit {
    /// Where it stands.
    pub path: Vec<Step>,
    /// The text that is sent.
    pub text: String,
}

impl std::fmt::Debug for TextEdit {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextEdit").field("path", &self.path).field("bytes", &self.text.len()).finish()
    }
}

/// The changed strings of a body in document order, and the record of what was done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Edited {
    /// The strings; none if nothing was changed.
    pub edits: Vec<TextEdit>,
    /// What was done and what was not, and why.
    pub receipt: CompressReceipt,
}

/// The strings in which `after` differs from `before`; both have the same shape.
pub(crate) fn between(before: &Doc, after: &Doc) -> Vec<TextEdit> {
    let mut found = Vec::new();
    walk(before, before.root(), after, after.root(), &mut Vec::new(), &mut found);
    found
}

fn walk(
    before: &Doc,
    old: NodeId,
    after: &Doc,
    new: NodeId,
    path: &mut Vec<Step>,
    found: &mut Vec<TextEdit>,
) {
    if before.raw(old) == after.raw(new) {
        return; // one comparison of memory for everything below
    }
    match after.kind(new) {
        Kind::String => {
            let text = after.str(new).unwrap_or_default().into_owned();
            found.push(TextEdit { path: path.clone(), text });
        }
        Kind::Array => {
            for (index, (old, new)) in before.elements(old).zip(after.elements(new)).enumerate() {
                path.push(Step::Index(index));
                walk(before, old, after, new, path, found);
                path.pop();
            }
        }
        Kind::Object => {
            for ((_, old), (key, new)) in before.members(old).zip(after.members(new)) {
                path.push(Step::Key(after.str(key).unwrap_or_default().into_owned()));
                walk(before, old, after, new, path, found);
                path.pop();
            }
        }
        Kind::Null | Kind::Bool | Kind::Number => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_changed_string_with_its_way() {
        let before = Doc::parse(r#"{"m":[{"c":"a","d":["x",{"e":"y"}]},{"c":"z"}],"n":1}"#).unwrap();
        let after = Doc::parse(r#"{"m":[{"c":"a","d":["X\n",{"e":"yy"}]},{"c":"z"}],"n":1}"#).unwrap();
        let edits = between(&before, &after);
        let ways = serde_json::to_string(&edits).unwrap();
        assert_eq!(ways, r#"[{"path":["m",0,"d",0],"text":"X\n"},{"path":["m",0,"d",1,"e"],"text":"yy"}]"#);
        assert!(between(&before, &before).is_empty());
        assert!(!format!("{edits:?}").contains("yy"));
    }
}
