//! What anybody could do: keep as many lines as a plan keeps tokens, chosen without looking.

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Replacement, SegmentView,
};

const INFO: EngineInfo = EngineInfo::new("control", Loss::Lossy).min_bytes(200).own_gates();

/// Which lines stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    First,
    Last,
    Spread,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::First, Kind::Last, Kind::Spread];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::First => "control, 12 requests: first lines",
            Kind::Last => "control, 12 requests: last lines",
            Kind::Spread => "control, 12 requests: every n-th line",
        }
    }
}

/// Keeps so many of a thousand lines of every result.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) kind: Kind,
    pub(crate) per_mille: usize,
}

impl CompressionEngine for Control {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let lines: Vec<&str> = view.text().split_inclusive('\n').collect();
        let keep = (lines.len() * self.per_mille).div_ceil(1000).clamp(1, lines.len().max(1));
        if keep >= lines.len() {
            return Ok(Edit::Keep("no_gain"));
        }
        let kept: Vec<&str> = match self.kind {
            Kind::First => lines.iter().take(keep).copied().collect(),
            Kind::Last => lines.iter().skip(lines.len() - keep).copied().collect(),
            Kind::Spread => (0..keep).filter_map(|n| lines.get(n * lines.len() / keep).copied()).collect(),
        };
        Ok(Edit::Replace(Replacement::new(kept.concat())))
    }
}
