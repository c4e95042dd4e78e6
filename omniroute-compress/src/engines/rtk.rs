//! `rtk`: command output with fewer tokens and every fact an agent acts on. The work is done in [`crate::rtk`].

use std::sync::Arc;

use omniroute_core::{
    BlobError, BlobId, CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Replacement,
    SegmentView,
};

use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::redact::redact;
use crate::rtk::kit::{Level, hides};
use crate::rtk::{FilterSet, LOG_CLASSES, run};
use crate::shell::class;

const INFO: EngineInfo = EngineInfo::new("rtk", Loss::Lossy)
    .summary("command output: the grammar of each tool decides what stays, what is counted, what is rendered shorter")
    .priority(10)
    .min_bytes(200)
    .own_gates()
    .alone();

const FIELDS: &[ConfigField] = &[
    ConfigField::choice(
        "intensity",
        "standard",
        &["minimal", "standard", "aggressive"],
        "how much may be left out; results that tell of an error are always worked on at minimal",
    ),
    ConfigField::choice(
        "keep_original",
        "logs",
        &["never", "logs", "always"],
        "whose original goes to the blob store, secrets redacted, when lines are left out; the marker names its id",
    ),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS).level("intensity");

fn build(settings: &Settings, parts: &Parts) -> Arc<dyn CompressionEngine> {
    let level = Level::ALL.into_iter().find(|l| l.name() == settings.word("intensity"));
    let keep = match settings.word("keep_original") {
        "never" => Keep::Never,
        "always" => Keep::Always,
        _ => Keep::Logs,
    };
    Arc::new(Rtk { level: level.unwrap_or_default(), keep, filters: parts.filters.clone() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Never,
    Logs,
    Always,
}

#[derive(Debug)]
struct Rtk {
    level: Level,
    keep: Keep,
    filters: Arc<FilterSet>,
}

impl CompressionEngine for Rtk {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, cx: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let text = view.text();
        let level = if view.this().is_error { Level::Minimal } else { self.level };
        let input = input(view);
        let mut kept: Vec<BlobId> = Vec::new();
        let mut failed = None;
        let mut keep = |class: &'static str| {
            let wanted = match self.keep {
                Keep::Never => false,
                Keep::Logs => LOG_CLASSES.contains(&class),
                Keep::Always => true,
            };
            if !wanted {
                return None;
            }
            if kept.is_empty() {
                match cx.blobs.put(cx.principal, redact(view.this().original()).as_bytes()) {
                    Ok(id) => kept.push(id),
                    // Nothing is lost that counts: the marker then names no address.
                    Err(BlobError::TooLarge { .. }) => return None,
                    Err(error) => failed = Some(error),
                }
            }
            kept.first().map(ToString::to_string)
        };
        let ran = match run::run(&input, level, &self.filters, &mut keep) {
            Ok(ran) => ran,
            Err(reason) => return Ok(Edit::Keep(reason)),
        };
        if let Some(error) = failed {
            return Err(EngineError::new("blob_store", error.to_string()));
        }
        let mut out = Replacement::new(ran.text);
        for (name, count) in ran.techniques {
            out = out.technique(name, count);
        }
        let unseen = hidden(&out.text);
        out = out.technique("rtk-hidden-characters", unseen);
        out.dropped.bytes = text.len().saturating_sub(out.text.len()) as u64;
        out.dropped.lines = ran.folded + ran.omitted.iter().map(|(_, n)| n).sum::<u64>();
        if !kept.is_empty() {
            out.dropped.recoverable_bytes = out.dropped.bytes;
            out.recoverable = kept;
        }
        Ok(Edit::Replace(out))
    }
}

/// Characters that nobody sees: zero-width ones, those that turn the direction, tags. They stay where they are; who reads
/// the receipt learns of them.
fn hidden(text: &str) -> u32 {
    if text.is_ascii() {
        return 0;
    }
    u32::try_from(text.chars().filter(|c| hides(*c) || *c == '\u{feff}').count()).unwrap_or(u32::MAX)
}

/// What is known about a result.
pub(super) fn input<'v>(view: &SegmentView<'v, '_>) -> run::Input<'v> {
    let call = view.call();
    run::Input {
        text: view.text(),
        tool: call.map(|c| c.tool.as_str()),
        command: call.and_then(|c| c.command.as_deref()),
        argv: call.and_then(|c| c.argv.as_deref()),
        exit_code: view.this().exit_code(),
        class: class::of(view),
    }
}

#[cfg(test)]
mod tests {
    use super::hidden;

    #[test]
    fn what_nobody_sees_is_counted() {
        for (text, count) in [
            ("plain\tlines\n", 0),
            ("visible: \u{e9} \u{4e2d} \u{1f469}\u{200d}\u{1f4bb}", 0),
            ("a\u{200b}b \u{202e}c\u{2066} \u{feff}", 4),
            ("\u{e006e}\u{e006f}", 2),
        ] {
            assert_eq!(hidden(text), count, "{text:?}");
        }
    }
}
