//! `aggressive`: old results keep their ends, their hits or their first rows. At rewrite points only.
//!
//! What people and models said, calls and failed results stay as they are: the task, its limits, every path that was
//! written and every open error remain in sight, so no summary is needed. Each cut says how much has gone, and all of it
//! can be fetched where the retrieval tool is there.

mod json;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss};

use super::kept::{Cut, Lines, open_results, put};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts, one_of};
use crate::protect;
use crate::shell::tools::{ToolKind, tool_kind};

const INFO: EngineInfo = EngineInfo::new("aggressive", Loss::Lossy)
    .summary("old results keep their ends, hits or first rows; only where the history is rewritten anyway")
    .priority(40)
    .targets(&[])
    .offers_retrieval()
    .rewrites_history();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_chars", 600, (200, 1_000_000), "shorter results stay, in bytes"),
    ConfigField::int("head_lines", 20, (0, 10_000), "first lines of a file or page that stay"),
    ConfigField::int("tail_lines", 5, (0, 10_000), "last lines of a file or page that stay"),
    ConfigField::int("hits", 30, (1, 10_000), "hits of a search that stay"),
    ConfigField::int("shell_lines", 50, (1, 10_000), "last lines of a command's output that stay"),
    ConfigField::int("json_chars", 2_000, (200, 1_000_000), "shorter documents stay, in bytes"),
    ConfigField::int("array_head", 5, (1, 1_000), "first rows of a list that stay"),
    ConfigField::int("array_tail", 2, (0, 1_000), "last rows of a list that stay"),
];

/// Files named in the line that stands for hits.
const MAX_FILES: usize = 20;

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build)
    .fields(FIELDS)
    .technique(|name| one_of(&["array", "hits", "tail", "ends"], name));

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Aggressive::new(settings))
}

#[derive(Debug)]
struct Aggressive {
    min: usize,
    ends: (usize, usize),
    hits: usize,
    shell: usize,
    json: usize,
    rows: (usize, usize),
}

impl CompressionEngine for Aggressive {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        for index in open_results(past, self.min) {
            let Some(segment) = past.segments().get(index) else { continue };
            let kind = past.call_of(index).map_or(ToolKind::Other, |call| tool_kind(&call.tool));
            let (technique, cut) = self.cut(segment.sent(), kind);
            put(past, cx, INFO.id, (index, technique), cut)?;
        }
        Ok(())
    }
}

impl Aggressive {
    fn new(settings: &Settings) -> Self {
        let size = |key| settings.size(key);
        Aggressive {
            min: size("min_chars"),
            ends: (size("head_lines"), size("tail_lines")),
            hits: size("hits"),
            shell: size("shell_lines"),
            json: size("json_chars"),
            rows: (size("array_head"), size("array_tail")),
        }
    }

    fn cut(&self, text: &str, kind: ToolKind) -> (&'static str, Cut) {
        if let Some(doc) = json::read(text) {
            let long = text.len() >= self.json;
            return ("array", if long { json::cut(&doc, self.rows) } else { Cut::default() });
        }
        let hits: Vec<Option<&str>> = text.split_inclusive('\n').map(file_of_hit).collect();
        let found = hits.iter().flatten().count();
        if found > self.hits && found * 10 >= hits.len() * 6 {
            return ("hits", self.search(text, &hits));
        }
        let mut lines = Lines::new(text, &protect::spans(text));
        let count = lines.lines.len();
        if kind == ToolKind::Shell {
            lines.keep(count.saturating_sub(self.shell)..count);
            return ("tail", lines.cut());
        }
        lines.keep(0..self.ends.0);
        lines.keep(count.saturating_sub(self.ends.1)..count);
        ("ends", lines.cut())
    }

    /// The first hits, and in which files the others are.
    fn search(&self, text: &str, hits: &[Option<&str>]) -> Cut {
        let mut lines = Lines::new(text, &protect::spans(text));
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        let mut seen = 0;
        for (n, hit) in hits.iter().enumerate() {
            match hit {
                Some(_) if seen < self.hits => {
                    seen += 1;
                    lines.keep(n..n + 1);
                }
                Some(file) => *files.entry(*file).or_default() += 1,
                None => lines.keep(n..n + 1),
            }
        }
        let mut cut = lines.cut();
        if cut.bytes > 0 {
            let mut list = String::new();
            for (n, (file, count)) in files.iter().take(MAX_FILES).enumerate() {
                let file: String = file
                    .chars()
                    .map(|c| if c.is_ascii_graphic() && !"[]".contains(c) { c } else { '_' })
                    .take(80)
                    .collect();
                let _ = write!(list, "{}{file} ({count})", if n == 0 { "" } else { ", " });
            }
            if files.len() > MAX_FILES {
                let _ = write!(list, ", {} more files", files.len() - MAX_FILES);
            }
            let end = if cut.text.ends_with('\n') { "" } else { "\n" };
            let _ = write!(cut.text, "{end}[omitted: hits behind the first {} are in {list}]", self.hits);
        }
        cut
    }
}

/// The file of a line `file:12:text`.
fn file_of_hit(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let hit = digits > 0 && matches!(rest.as_bytes().get(digits), Some(b':' | b'-'));
    (hit && !file.is_empty() && !file.contains(' ')).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    fn engine() -> Aggressive {
        Aggressive::new(&Step::new("aggressive").resolve(FIELDS, &mut Vec::new()))
    }

    #[test]
    fn each_kind_of_result_keeps_what_it_is_read_for() {
        let text: String = (0..200).map(|n| format!("plain line number {n} of the text\n")).collect();
        let (name, cut) = engine().cut(&text, ToolKind::Read);
        assert_eq!((name, cut.lines), ("ends", 175));
        assert!(
            cut.text.contains("number 19 ")
                && cut.text.contains("number 195 ")
                && !cut.text.contains("number 20 ")
        );
        let (name, cut) = engine().cut(&text, ToolKind::Shell);
        assert_eq!((name, cut.lines), ("tail", 150));
        let noted = text.replacen("plain line number 77 ", "do not drop line 77 ", 1);
        assert!(engine().cut(&noted, ToolKind::Shell).1.text.contains("do not drop line 77"));
        let hits: String = (0..90).map(|n| format!("src/f{}.rs:{n}: let value = {n};\n", n % 3)).collect();
        let (name, cut) = engine().cut(&hits, ToolKind::Read);
        assert_eq!((name, cut.lines), ("hits", 60));
        assert!(cut.text.ends_with(
            "[omitted: hits behind the first 30 are in src/f0.rs (20), src/f1.rs (20), src/f2.rs (20)]"
        ));
    }
}
