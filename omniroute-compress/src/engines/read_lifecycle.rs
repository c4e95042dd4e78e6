//! `read-lifecycle`: an older read of a file that a newer read makes needless becomes a line that says so. At rewrite
//! points only, and never the latest state of a file.
//!
//! Without the retrieval tool only reads go that stand byte for byte in the newer one: nothing is lost then, and the
//! change can be computed back. With it a newer read of the whole file is enough; the older one can be fetched.

use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss, Replacement, Sources,
};

use super::reads::{Read, latest, reads};
use super::trail::{read_id, spelled};
use crate::ccr::{in_place_of, keep};
use crate::config::Settings;
use crate::entry::{EngineEntry, Parts, one_of};
use crate::marker;

const INFO: EngineInfo = EngineInfo::new("read-lifecycle", Loss::Recoverable)
    .summary("older reads of a file that a newer one contains become a line; only where the history is rewritten anyway")
    .priority(25)
    .targets(&[])
    .rewrites_history();

/// Shorter reads are not worth a line.
const MIN_BYTES: usize = 400;

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry =
    EngineEntry::new(INFO, build).technique(|name| one_of(&["superseded", "stale"], name));

fn build(_: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(ReadLifecycle)
}

#[derive(Debug)]
struct ReadLifecycle;

impl CompressionEngine for ReadLifecycle {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        let all = reads(past);
        let newest = latest(&all);
        let segments = past.segments();
        // Searching is paid by the bytes of all reads: one long file that was read often in parts ends it.
        let length = |read: &Read| segments.get(read.index).map_or(0, |s| s.original().len());
        let mut budget = 8 * all.iter().map(length).sum::<usize>();
        for read in &all {
            let Some(Some(old)) = past.is_open(read.index).then(|| segments.get(read.index)) else {
                continue;
            };
            let newer = newest.get(read.path.as_str()).into_iter().flatten().flatten().copied();
            let mut newer: Vec<&Read> = newer.filter(|newer| newer.index > read.index).collect();
            newer.dedup(); // the latest read may be one of the whole file
            let text = old.original();
            if newer.is_empty() || text.len() < MIN_BYTES || marker::contains(text) {
                continue;
            }
            let lines = text.lines().count();
            let line = format!(
                "[older read of {}, {lines} lines: superseded by a later read below]",
                shown(&read.path)
            );
            let found = newer.iter().filter_map(|newer| segments.get(newer.index)).find_map(|new| {
                let cost = text.len() + new.original().len();
                if text.len() > new.original().len() || cost > budget {
                    return None;
                }
                budget -= cost;
                find(text, new.original()).map(|at| (new, at))
            });
            if let Some((new, at)) = found {
                let undo = format!("{} {at} {}", spelled(new.id), text.len());
                past.replace(
                    INFO.id,
                    read.index,
                    Replacement::new(line).technique("superseded", 1).undo(undo),
                );
                continue;
            }
            if !cx.reachable || cx.lossless_only || !newer.iter().any(|newer| newer.whole) {
                continue;
            }
            let Ok(handle) = keep(cx, text)? else { continue };
            let out = in_place_of(text, &handle, format!("{line}\n{handle}")).technique("stale", 1);
            past.replace(INFO.id, read.index, out);
        }
        Ok(())
    }

    fn undo(&self, _after: &str, undo: &str, sources: &dyn Sources) -> Option<String> {
        let mut words = undo.split(' ');
        let text = sources.original(read_id(&mut words)?)?;
        let at: usize = words.next()?.parse().ok()?;
        let length: usize = words.next()?.parse().ok()?;
        text.get(at..at.checked_add(length)?).map(str::to_owned)
    }
}

/// Where `old` stands in `new`, from the start of a line to the end of one.
fn find(old: &str, new: &str) -> Option<usize> {
    let (old_bytes, new_bytes) = (old.as_bytes(), new.as_bytes());
    let starts = |at: usize| at == 0 || new_bytes.get(at - 1) == Some(&b'\n');
    let ends = |end: usize| old.ends_with('\n') || matches!(new_bytes.get(end), None | Some(b'\n' | b'\r'));
    // A few places are enough; a text that repeats itself endlessly is left alone.
    memchr::memmem::find_iter(new_bytes, old_bytes).take(16).find(|at| starts(*at) && ends(at + old.len()))
}

/// A path for a line of ours: one line, without brackets, at most 80 characters.
fn shown(path: &str) -> String {
    path.chars().map(|c| if c.is_control() || matches!(c, '[' | ']') { ' ' } else { c }).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_text_is_found_on_whole_lines_only() {
        for (old, new, at) in [
            ("a\nb", "a\nb\nc", Some(0)),
            ("b\nc", "a\nb\nc", Some(2)),
            ("b\n", "a\nb\nc", Some(2)),
            ("b", "ab\nbc\nb", Some(6)),
            ("b\nc", "a\nb\ncd", None),
            ("x", "a", None),
        ] {
            assert_eq!(find(old, new), at, "{old:?} in {new:?}");
        }
    }
}
