//! Picking members out of objects, with the rule that a deciding key may be given only once.

use crate::doc::{Doc, DocError, JsonStr, Kind, NodeId, Rule};

/// One value, or none, for each of `N` names.
pub type Values<const N: usize> = [Option<NodeId>; N];

/// The values of `once` and of `rest` in `object`; everything else goes to `other`.
/// Of members in `rest` that are given more than once the last one counts.
///
/// # Errors
/// [`Rule::DuplicateKey`] if one of `once` is given twice.
pub fn fields<'d, const N: usize, const M: usize>(
    doc: &'d Doc,
    object: NodeId,
    once: [&'static str; N],
    rest: [&'static str; M],
    mut other: impl FnMut(JsonStr<'d>, NodeId),
) -> Result<(Values<N>, Values<M>), DocError> {
    let (mut found, mut last) = ([None; N], [None; M]);
    for (key, value) in doc.members(object) {
        let Some(name) = doc.json_str(key) else { continue };
        if let Some((slot, wanted)) = found.iter_mut().zip(once).find(|(_, wanted)| name.is(wanted)) {
            if slot.replace(value).is_some() {
                return Err(error(doc, key, Rule::DuplicateKey, format!("key \"{wanted}\" is given twice")));
            }
        } else if let Some((slot, _)) = last.iter_mut().zip(rest).find(|(_, wanted)| name.is(wanted)) {
            *slot = Some(value);
        } else {
            other(name, value);
        }
    }
    Ok((found, last))
}

/// As [`fields()`], ignoring what is not named.
///
/// # Errors
/// As [`fields()`].
pub fn pick<const N: usize, const M: usize>(
    doc: &Doc,
    object: NodeId,
    once: [&'static str; N],
    rest: [&'static str; M],
) -> Result<(Values<N>, Values<M>), DocError> {
    fields(doc, object, once, rest, |_, _| {})
}

/// The values of `names` in `object`, the last one of each.
pub(super) fn last<const N: usize>(doc: &Doc, object: NodeId, names: [&'static str; N]) -> Values<N> {
    // Nothing must be given once, so nothing can fail.
    fields(doc, object, [], names, |_, _| {}).map_or([None; N], |([], found)| found)
}

/// An error that names `node` as its place.
pub fn error(doc: &Doc, node: NodeId, rule: Rule, detail: String) -> DocError {
    DocError::at(rule, doc.bytes(), doc.offset(node), detail)
}

/// The root, if it is an object.
///
/// # Errors
/// [`Rule::Shape`] if it is not.
pub fn root_object(doc: &Doc) -> Result<NodeId, DocError> {
    expect(doc, doc.root(), Kind::Object, "the body")?;
    Ok(doc.root())
}

/// Refuses `node`, called `what`, unless it has the kind.
///
/// # Errors
/// [`Rule::Shape`] if it has another.
pub fn expect(doc: &Doc, node: NodeId, kind: Kind, what: &str) -> Result<(), DocError> {
    if doc.kind(node) == kind {
        return Ok(());
    }
    let (found, wanted) = (kind_name(doc.kind(node)), kind_name(kind));
    Err(error(doc, node, Rule::Shape, format!("{what} is {found}, expected {wanted}")))
}

/// The array behind a deciding key; a missing one is an error at the start of `object`.
///
/// # Errors
/// [`Rule::Shape`] if it is missing or no array.
pub fn array(doc: &Doc, object: NodeId, value: Option<NodeId>, name: &str) -> Result<NodeId, DocError> {
    let node = value.ok_or_else(|| error(doc, object, Rule::Shape, format!("key \"{name}\" is missing")))?;
    expect(doc, node, Kind::Array, name)?;
    Ok(node)
}

/// A string member, or nothing if it is absent or not a string.
pub(super) fn text(doc: &Doc, value: Option<NodeId>) -> Option<JsonStr<'_>> {
    value.and_then(|v| doc.json_str(v))
}

/// Whether a member is there and not `null`.
pub(super) fn present(doc: &Doc, value: Option<NodeId>) -> bool {
    value.is_some_and(|v| doc.kind(v) != Kind::Null)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}
