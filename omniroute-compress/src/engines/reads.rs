//! Which results show a file, and which one shows its latest state.

use std::collections::{HashMap, HashSet};

use omniroute_core::{Call, History, SegmentKind};

use crate::shell::tools::{ToolKind, tool_kind};

/// A result that shows a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    /// Which segment.
    pub(super) index: usize,
    /// The path, written in one way.
    pub(super) path: String,
    /// Whether the call asked for the whole file.
    pub(super) whole: bool,
}

/// All reads in order.
pub(super) fn reads(past: &History<'_, '_>) -> Vec<Read> {
    let mut out = Vec::new();
    for (index, segment) in past.segments().iter().enumerate() {
        if segment.kind != SegmentKind::ToolResult || segment.is_error {
            continue;
        }
        let Some(call) = past.call_of(index) else { continue };
        if tool_kind(&call.tool) != ToolKind::Read {
            continue;
        }
        if let Some(path) = call.path.as_deref().filter(|path| !path.is_empty()) {
            let whole =
                segment.call.and_then(|at| past.segments().get(at)).is_some_and(|at| whole_file(at, call));
            out.push(Read { index, path: normal(path), whole });
        }
    }
    out
}

/// The latest read of every file, and the latest of the whole file.
pub(crate) fn newest_reads(past: &History<'_, '_>) -> HashSet<usize> {
    let all = reads(past);
    latest(&all)
        .into_values()
        .flat_map(|newest| newest.into_iter().flatten())
        .map(|read| read.index)
        .collect()
}

/// For every path the latest read and the latest of the whole file.
pub(super) fn latest(all: &[Read]) -> HashMap<&str, [Option<&Read>; 2]> {
    let mut out: HashMap<&str, [Option<&Read>; 2]> = HashMap::new();
    for read in all {
        let [last, whole] = out.entry(&read.path).or_default();
        *last = Some(read);
        if read.whole {
            *whole = Some(read);
        }
    }
    out
}

/// A call without any argument but the path: no range, no limit, no pattern.
fn whole_file(call: &omniroute_core::Segment<'_>, of: &Call) -> bool {
    let Ok(doc) = omniroute_core::Doc::parse(call.original().to_owned()) else { return false };
    let root = doc.root();
    let others = doc.members(root).filter(|(_, value)| {
        let is_path = doc.str(*value).is_some_and(|text| Some(text.as_ref()) == of.path.as_deref());
        !is_path && doc.raw(*value) != "null"
    });
    others.count() == 0
}

/// A path without `.`, `..` and doubled separators, as far as that can be told from its text.
fn normal(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_path() {
        for (path, want) in [
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/x/../a.rs", "src/a.rs"),
            ("../a.rs", "../a.rs"),
            ("../../a.rs", "../../a.rs"),
            ("/../a/./b", "/a/b"),
            ("src\\a.rs", "src/a.rs"),
            ("Src/a.rs", "Src/a.rs"),
            ("/", "/"),
        ] {
            assert_eq!(normal(path), want, "{path}");
        }
    }
}
