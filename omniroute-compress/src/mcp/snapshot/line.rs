//! What one line of a tree says: `role "name" [ref=e1] [state]: text`, or all before the colon in single quotes.

/// Roles of elements that a model acts on.
pub(super) const ACTIVE: [&str; 16] = [
    "button",
    "link",
    "textbox",
    "checkbox",
    "combobox",
    "menuitem",
    "tab",
    "radio",
    "slider",
    "switch",
    "searchbox",
    "spinbutton",
    "option",
    "menuitemcheckbox",
    "menuitemradio",
    "treeitem",
];

/// States that somebody has set.
const STATES: [&str; 9] = [
    "[checked",
    "[expanded",
    "[focused",
    "[disabled",
    "[invalid",
    "[selected",
    "[pressed",
    "[active",
    "[required",
];

/// An element's line behind its `- `.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    /// Empty for a property, such as `/url`, and for text that is no element.
    pub(super) role: &'t str,
    /// The text between the first quotes.
    pub(super) name: Option<&'t str>,
    /// `[ref=…]`, or empty.
    pub(super) reference: &'t str,
    /// What stands behind the role.
    pub(super) rest: &'t str,
    /// What stands behind the name.
    attributes: &'t str,
}

impl<'t> Line<'t> {
    pub(super) fn read(line: &'t str) -> Line<'t> {
        let line = line.strip_prefix('\'').unwrap_or(line);
        let end = line.bytes().take_while(u8::is_ascii_lowercase).count();
        let ends = line.as_bytes().get(end).is_none_or(|b| matches!(b, b' ' | b':' | b'\n' | b'\r' | b'['));
        let (role, rest) = line.split_at(if ends { end } else { 0 });
        let quoted = rest.split_once('"').and_then(|(before, behind)| {
            let (name, attributes) = behind.split_at(name_len(behind)?);
            Some((before, name, attributes))
        });
        // Quotes further behind are in the text: the reference stands before them.
        let attributes = match quoted {
            Some((" ", _, attributes)) => attributes,
            _ => rest,
        };
        let reference = attributes.find("[ref=").and_then(|at| attributes.get(at..)).unwrap_or("");
        let reference = reference.find(']').and_then(|end| reference.get(..=end)).unwrap_or("");
        Line { role, name: quoted.map(|(_, name, _)| name), reference, rest, attributes }
    }

    /// Whether a model can act on the element.
    pub(super) fn is_active(&self) -> bool {
        !self.reference.is_empty() && ACTIVE.contains(&self.role)
    }

    /// Whether somebody has set a state of the element.
    pub(super) fn is_stateful(&self) -> bool {
        STATES.iter().any(|state| self.attributes.contains(state))
    }
}

/// Bytes up to the quote that ends a name.
fn name_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })
}
