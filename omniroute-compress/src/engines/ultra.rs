//! `ultra`: prose in old results loses its least telling words, for a conversation that no longer fits. At rewrite points
//! only.

use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss};

use super::kept::{Cut, open_results, put};
use crate::caveman::prune;
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts, one_of};

const INFO: EngineInfo = EngineInfo::new("ultra", Loss::Lossy)
    .summary("prose in old results loses its least telling words; only where the history is rewritten anyway")
    .priority(45)
    .targets(&[])
    .offers_retrieval()
    .rewrites_history();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_chars", 400, (50, 1_000_000), "shorter results stay, in bytes"),
    ConfigField::int(
        "rate",
        50,
        (10, 95),
        "share of the words that stays, in percent; more if more must stay",
    ),
    ConfigField::int(
        "min_score",
        30,
        (0, 100),
        "words under this score go even if the share is met, in percent",
    ),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry =
    EngineEntry::new(INFO, build).fields(FIELDS).technique(|name| one_of(&["words"], name));

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Ultra {
        min: settings.size("min_chars"),
        rate: settings.size("rate"),
        min_score: settings.size("min_score"),
    })
}

#[derive(Debug)]
struct Ultra {
    min: usize,
    rate: usize,
    min_score: usize,
}

impl CompressionEngine for Ultra {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        for index in open_results(past, self.min) {
            let Some(segment) = past.segments().get(index) else { continue };
            let sent = segment.sent();
            if sent.trim_start().starts_with(['{', '[']) {
                continue;
            }
            let Some(text) = prune(sent, self.rate, self.min_score) else { continue };
            let bytes = sent.len().saturating_sub(text.len()) as u64;
            put(past, cx, INFO.id, (index, "words"), Cut { text, bytes, ..Cut::default() })?;
        }
        Ok(())
    }
}
