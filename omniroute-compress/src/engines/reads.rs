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
        let asked = segment.call.and_then(|at| past.segments().get(at));
        let (Some(path), Some(asked)) = (call.path.as_deref().filter(|path| !path.is_empty()), asked) else {
            continue;
        };
        match extent(asked, call) {
            Extent::Hits => {}
            extent => out.push(Read { index, path: normal(path), whole: extent == Extent::Whole }),
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

/// What of a file a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of it.
    Whole,
    /// Some lines.
    Part,
    /// What matches: that is not the state of the file.
    Hits,
}

/// Arguments of searches.
const SEARCHES: [&str; 6] = ["pattern", "regex", "query", "glob", "search", "search_term"];

fn extent(call: &omniroute_core::Segment<'_>, of: &Call) -> Extent {
    let Ok(doc) = omniroute_core::Doc::parse(call.original().to_owned()) else { return Extent::Part };
    let mut extent = Extent::Whole;
    for (key, value) in doc.members(doc.root()) {
        let is_path = doc.str(value).is_some_and(|text| Some(text.as_ref()) == of.path.as_deref());
        if is_path || doc.raw(value) == "null" {
            continue;
        }
        if doc.str(key).is_some_and(|key| SEARCHES.contains(&key.as_ref())) {
            return Extent::Hits;
        }
        extent = Extent::Part;
    }
    extent
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
