//! `template`: say in one sentence what becomes shorter and what is never lost.

use std::sync::Arc;

use omniroute_core::{CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, SegmentView};

use crate::config::Settings;
use crate::entry::{EngineEntry, Parts};

const INFO: EngineInfo =
    EngineInfo::new("template", Loss::Lossless).summary("one line for people").priority(90);

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build);

fn build(_: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Template)
}

#[derive(Debug)]
struct Template;

impl CompressionEngine for Template {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let _ = view.text();
        Ok(Edit::Keep("not_applicable"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made() {
        let engine = build(&Settings::default(), &Parts::default());
        assert_eq!(engine.info().id, ENTRY.info.id);
    }
}
