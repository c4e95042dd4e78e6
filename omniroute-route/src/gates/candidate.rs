//! What speaks against one candidate, for ever or for now.

use omniroute_core::route::{Columns, DropReason, Entry, Health, Need, Needs, Pool, RequestFacts};

use super::{Ask, Behind};

/// Needs that have to be confirmed: sending them to a model that has not got them loses what was sent.
const CONFIRMED: Needs =
    Needs::NONE.with(Need::Vision).with(Need::AudioIn).with(Need::AudioOut).with(Need::Video);

/// What waiting does not change.
pub(super) fn permanent(ask: Ask<'_>, pool: &Pool, index: usize, by_tags: bool) -> Option<DropReason> {
    let entry = &pool.entries()[index];
    if entry.disabled {
        return Some(DropReason::Disabled);
    }
    if entry.excluded {
        return Some(DropReason::Excluded);
    }
    if ask.request.connection.as_ref().is_some_and(|connection| *connection != entry.target.connection) {
        return Some(DropReason::Filtered);
    }
    if by_tags && !has_tags(entry, ask) {
        return Some(DropReason::Tag);
    }
    if entry.no_credential {
        return Some(DropReason::NoCredential);
    }
    capability(ask, pool.can()[index], pool.cannot()[index]).or_else(|| {
        let window = pool.windows()[index];
        let too_long = window > 0 && required(ask.request, entry.model.max_output) > window;
        let input = with_margin(ask.request.input_tokens);
        (too_long || entry.model.max_input.is_some_and(|most| input > most)).then_some(DropReason::Context)
    })
}

fn capability(ask: Ask<'_>, can: u8, cannot: u8) -> Option<DropReason> {
    let needs = ask.request.needs.bits();
    if needs == 0 {
        return None;
    }
    let unconfirmed =
        if ask.options.vision_unknown { CONFIRMED.bits() & !Need::Vision.bit() } else { CONFIRMED.bits() };
    let missing = needs & (cannot | (unconfirmed & !can));
    let first = Need::ALL.into_iter().find(|need| missing & need.bit() != 0)?;
    Some(match first {
        Need::Vision => DropReason::CapabilityVision,
        Need::AudioIn => DropReason::CapabilityAudioIn,
        Need::AudioOut => DropReason::CapabilityAudioOut,
        Need::Video => DropReason::CapabilityVideo,
        Need::Document => DropReason::CapabilityDocument,
        Need::Structured => DropReason::CapabilityStructured,
        _ => DropReason::CapabilityTools,
    })
}

/// What time may change. `anyway`: breakers and low scores do not count.
pub(super) fn temporary(ask: Ask<'_>, columns: &Columns, index: usize, anyway: bool) -> Option<DropReason> {
    let bad =
        |reason| matches!(reason, DropReason::BreakerOpen | DropReason::ScoreFloor | DropReason::SelfHeal);
    if let Some(reason) = columns.blocked[index]
        && columns.blocked_until[index] > ask.now.mono
        && !(anyway && bad(reason))
    {
        return Some(reason);
    }
    if columns.health[index] == Health::Open && !anyway {
        return Some(DropReason::BreakerOpen);
    }
    let most_used = columns.used.iter().map(|used| used[index]).fold(0.0, f32::max);
    let used = most_used.max(1.0 - crate::strategies::order::known(columns.quota_left[index], 1.0));
    if used >= 1.0 {
        return Some(DropReason::QuotaExhausted);
    }
    (used >= ask.options.quota_cutoff).then_some(DropReason::QuotaCutoff)
}

/// Whether it stands behind the others.
pub(super) fn behind(ask: Ask<'_>, pool: &Pool, columns: &Columns, index: usize) -> Behind {
    if columns.in_flight[index] >= columns.cap[index] {
        return Behind::Full;
    }
    let unknown = ask.request.needs.bits() & !pool.can()[index];
    if unknown != 0 || pool.windows()[index] == 0 { Behind::Uncertain } else { Behind::No }
}

/// Whether it has the tags that the request asks for.
pub(super) fn has_tags(entry: &Entry, ask: Ask<'_>) -> bool {
    let mut wanted = ask.request.tags.iter();
    if ask.options.tags_all {
        wanted.all(|tag| entry.tags.contains(tag))
    } else {
        wanted.any(|tag| entry.tags.contains(tag))
    }
}

/// Tokens of the window that a request needs.
pub(crate) fn required(request: &RequestFacts, most_output: Option<u64>) -> u64 {
    let reserve = most_output.map_or(request.reserve(), |most| most.min(request.reserve()));
    with_margin(request.input_tokens).saturating_add(reserve)
}

/// An estimate of tokens, and a tenth.
fn with_margin(tokens: u64) -> u64 {
    tokens.saturating_add(tokens.div_ceil(10))
}
