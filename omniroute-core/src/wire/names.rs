//! Names of tools, fitted to what a target takes. The same name always becomes the same, and what the model calls is
//! given its own name again. Nothing is put in front of a name, and a name that fits is never touched.

use std::collections::HashMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::StreamReader;
use crate::diagnostic::Diagnostic;
use crate::hub::{Event, Part, PartKind, Reply, StreamItem};

/// What names a target takes.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Longest name, in bytes.
    pub longest: usize,
    /// Characters beside letters and digits.
    pub also: &'static [u8],
    /// Whether a name must begin with a letter or `_`.
    pub letter_first: bool,
}

/// What most vendors take: letters, digits, `_` and `-`, at most 64.
pub const PORTABLE: NameRule = NameRule { longest: 64, also: b"_-", letter_first: false };
/// Gemini: also `.` and `:`, at most 128, the first one a letter or `_`.
pub const GEMINI: NameRule = NameRule { longest: 128, also: b"_-.:", letter_first: true };

impl NameRule {
    /// Whether the target takes the name as it is. An empty one is no name, and none of this rule's business.
    pub fn takes(&self, name: &str) -> bool {
        let first = name.bytes().next();
        let begins = !self.letter_first || first.is_none_or(|b| b.is_ascii_alphabetic() || b == b'_');
        begins && name.len() <= self.longest && name.bytes().all(|b| self.allows(b))
    }

    fn allows(&self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || self.also.contains(&byte)
    }

    /// A name that the target takes, made from one that it does not: what can be kept of it, then `digits` digits
    /// that stand for all of it.
    fn made(&self, name: &str, digits: usize) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let room = self.longest.saturating_sub(digits + 1);
        let fit = |c: char| u8::try_from(c).ok().filter(|b| self.allows(*b)).map_or('_', char::from);
        let mut out: String = name.chars().take(room).map(fit).collect();
        if self.letter_first && !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            out = std::iter::once('_').chain(out.chars().take(room.saturating_sub(1))).collect();
        }
        out.push('_');
        let nibbles = Sha256::digest(name.as_bytes()).into_iter().flat_map(|b| [b >> 4, b & 15]);
        out.extend(nibbles.take(digits).map(|n| char::from(HEX[usize::from(n)])));
        out
    }
}

/// Names of tools as a target was sent them, and as the client knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    /// What was sent, what it stands for.
    pairs: Vec<(String, String)>,
    /// Places among the pairs: by the client's name, by what was sent, and by that in small letters where only one fits.
    by_own: HashMap<String, usize>,
    by_sent: HashMap<String, usize>,
    near: HashMap<String, Option<usize>>,
    changed: bool,
}

impl ToolNames {
    /// Names for these tools under a rule.
    pub(crate) fn fit<'a>(rule: &NameRule, names: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> Self {
        let mut by_own: HashMap<String, usize> = HashMap::new();
        let mut known: Vec<String> = Vec::new();
        for name in names.filter(|n| !n.is_empty()) {
            if !by_own.contains_key(name.as_ref()) {
                by_own.insert(name.as_ref().to_owned(), known.len());
                known.push(name.into_owned());
            }
        }
        let sent = |name: &String| {
            if rule.takes(name) {
                return name.clone();
            }
            let short = rule.made(name, 8);
            if by_own.contains_key(&short) { rule.made(name, 32) } else { short }
        };
        let pairs: Vec<(String, String)> = known.into_iter().map(|name| (sent(&name), name)).collect();
        let changed = pairs.iter().any(|(sent, own)| sent != own);
        let by_sent = pairs.iter().enumerate().map(|(at, (sent, _))| (sent.clone(), at)).collect();
        let mut near: HashMap<String, Option<usize>> = HashMap::new();
        for (at, (sent, _)) in pairs.iter().enumerate() {
            near.entry(sent.to_ascii_lowercase()).and_modify(|place| *place = None).or_insert(Some(at));
        }
        ToolNames { pairs, by_own, by_sent, near, changed }
    }

    /// Whether every name was sent as it is.
    pub fn is_plain(&self) -> bool {
        !self.changed
    }

    /// What the target was sent for a name of the client.
    pub fn sent(&self, name: &str) -> Option<&str> {
        let (sent, own) = self.pairs.get(*self.by_own.get(name)?)?;
        (sent != own).then_some(sent.as_str())
    }

    /// The client's name for what a model called: the one it stands for, or the one that differs only in the size of
    /// its letters. Nothing if the name is right as it is, or unknown.
    pub fn own(&self, called: &str) -> Option<&str> {
        let exact = self.by_sent.get(called).copied();
        let at = exact.or_else(|| self.near.get(&called.to_ascii_lowercase()).copied().flatten())?;
        self.pairs.get(at).map(|(_, own)| own.as_str()).filter(|own| *own != called)
    }

    /// Gives the calls of a reply the names that the client knows.
    pub fn restore(&self, reply: &mut Reply<'_>) {
        for part in reply.choices.iter_mut().flat_map(|c| &mut c.turn.parts) {
            if let Part::Call(call) = part
                && let Some(own) = self.own(&call.name.decode())
            {
                call.name = own.to_owned().into();
            }
        }
    }

    /// The same for an event of a stream.
    pub fn restore_event(&self, event: &mut Event) {
        if let Event::PartStart { kind: PartKind::Call { name, .. }, .. } = event
            && let Some(own) = self.own(name)
        {
            *name = own.to_owned();
        }
    }
}

/// A reader whose events carry the client's names of tools, and which keeps from the client the usage that only we
/// asked for.
#[derive(Debug)]
pub(super) struct Restored {
    pub(super) inner: Box<dyn StreamReader>,
    pub(super) names: ToolNames,
    pub(super) hide_usage: bool,
}

impl Restored {
    fn restore(&self, items: &mut [StreamItem]) {
        for item in items {
            item.events.iter_mut().for_each(|event| self.names.restore_event(event));
            let usage = |event: &Event| matches!(event, Event::Usage(_));
            if self.hide_usage && !item.events.is_empty() && item.events.iter().all(usage) {
                item.raw = Bytes::new();
            }
        }
    }
}

impl StreamReader for Restored {
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>) {
        let from = out.len();
        self.inner.feed(bytes, out);
        self.restore(out.get_mut(from..).unwrap_or_default());
    }

    fn end(&mut self, out: &mut Vec<StreamItem>) {
        let from = out.len();
        self.inner.end(out);
        self.restore(out.get_mut(from..).unwrap_or_default());
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.inner.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(rule: &NameRule, names: &[&str]) -> ToolNames {
        ToolNames::fit(rule, names.iter().map(|n| (*n).into()))
    }

    #[test]
    fn names_that_fit_stay_and_others_come_back() {
        let long = "x".repeat(200);
        let names = ["read", "mcp.files/read", "naïve", "1st", "a b", "a_b", &long];
        for rule in [&PORTABLE, &GEMINI] {
            let fitted = fit(rule, &names);
            assert!(!fitted.is_plain());
            for name in names {
                let sent = fitted.sent(name).unwrap_or(name);
                assert!(rule.takes(sent), "{sent}");
                assert_eq!(fitted.own(sent).unwrap_or(sent), name);
                assert_eq!(fit(rule, &[name]).sent(name), fitted.sent(name), "whatever stands beside it");
            }
        }
        assert!(fit(&PORTABLE, &["read", "a-b"]).is_plain());
        assert_eq!(fit(&GEMINI, &["mcp.read"]).sent("mcp.read"), None);
    }

    #[test]
    fn two_names_never_become_one() {
        let taken = PORTABLE.made("a b", 8);
        let fitted = fit(&PORTABLE, &["a b", "a c", "a_b", &taken]);
        let sent: Vec<_> = fitted.pairs.iter().map(|(sent, _)| sent).collect();
        let mut apart = sent.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), sent.len());
        assert_eq!(fitted.own(&taken), None, "a declared name is its own");
    }

    #[test]
    fn the_size_of_letters_is_mended_where_it_is_clear() {
        let names = fit(&PORTABLE, &["readFile", "do.it", "DO", "do"]);
        assert_eq!(names.own("readfile"), Some("readFile"));
        assert_eq!(names.own("Do"), None, "two could be meant");
        assert_eq!((names.own("readFile"), names.own("other")), (None, None));
    }
}
