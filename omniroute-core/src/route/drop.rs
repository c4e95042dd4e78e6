//! Why a candidate is not in the plan. The list is closed: every drop has exactly one of these reasons.

/// Why a candidate was dropped, passed over or never reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum DropReason {
    /// Switched off, or not allowed for this caller.
    Disabled,
    /// Excluded or hidden by the operator.
    Excluded,
    /// The request names another connection, or the filter of an `auto` name is not met.
    Filtered,
    /// There is no usable credential.
    NoCredential,
    /// It is over with the credential: closed, out of money, expired.
    CredentialTerminal,
    /// Does not have a tag that the request asks for.
    Tag,
    /// Cannot call tools.
    CapabilityTools,
    /// Cannot see images, or nobody knows whether it can.
    CapabilityVision,
    /// Cannot hear, or nobody knows.
    CapabilityAudioIn,
    /// Cannot speak, or nobody knows.
    CapabilityAudioOut,
    /// Cannot watch video, or nobody knows.
    CapabilityVideo,
    /// Cannot read documents.
    CapabilityDocument,
    /// Cannot hold to a schema.
    CapabilityStructured,
    /// The window is too small.
    Context,
    /// The provider's breaker is open.
    BreakerOpen,
    /// The connection rests.
    Cooling,
    /// The model is locked.
    ModelLocked,
    /// A probe is needed and none is free.
    NoProbeSlot,
    /// Below the configured cutoff of its allowance.
    QuotaCutoff,
    /// The allowance is used up.
    QuotaExhausted,
    /// As many attempts run as may.
    AtCapacity,
    /// As many requests wait as may.
    QueueFull,
    /// Costs more than the request may.
    Budget,
    /// Not good enough for the class of the task.
    ScoreFloor,
    /// May not be tried out by this request.
    ExplorationExcluded,
    /// Excluded for a while because it did badly.
    SelfHeal,
    /// Something of it failed earlier in this request.
    RequestExhausted,
    /// Too little time is left.
    Deadline,
    /// The first token usually comes later than there is time.
    PredictiveTtft,
    /// Opens only when everything before it is out of quota.
    OnlyOnQuota,
}

impl DropReason {
    /// Every reason, in the order of declaration.
    pub const ALL: [DropReason; 30] = [
        DropReason::Disabled,
        DropReason::Excluded,
        DropReason::Filtered,
        DropReason::NoCredential,
        DropReason::CredentialTerminal,
        DropReason::Tag,
        DropReason::CapabilityTools,
        DropReason::CapabilityVision,
        DropReason::CapabilityAudioIn,
        DropReason::CapabilityAudioOut,
        DropReason::CapabilityVideo,
        DropReason::CapabilityDocument,
        DropReason::CapabilityStructured,
        DropReason::Context,
        DropReason::BreakerOpen,
        DropReason::Cooling,
        DropReason::ModelLocked,
        DropReason::NoProbeSlot,
        DropReason::QuotaCutoff,
        DropReason::QuotaExhausted,
        DropReason::AtCapacity,
        DropReason::QueueFull,
        DropReason::Budget,
        DropReason::ScoreFloor,
        DropReason::ExplorationExcluded,
        DropReason::SelfHeal,
        DropReason::RequestExhausted,
        DropReason::Deadline,
        DropReason::PredictiveTtft,
        DropReason::OnlyOnQuota,
    ];

    /// Stable code for programs and other languages.
    pub const fn code(self) -> &'static str {
        match self {
            DropReason::Disabled => "disabled",
            DropReason::Excluded => "excluded",
            DropReason::Filtered => "filtered",
            DropReason::NoCredential => "no_credential",
            DropReason::CredentialTerminal => "credential_terminal",
            DropReason::Tag => "tag",
            DropReason::CapabilityTools => "capability:tools",
            DropReason::CapabilityVision => "capability:vision",
            DropReason::CapabilityAudioIn => "capability:audio_in",
            DropReason::CapabilityAudioOut => "capability:audio_out",
            DropReason::CapabilityVideo => "capability:video",
            DropReason::CapabilityDocument => "capability:document",
            DropReason::CapabilityStructured => "capability:structured_output",
            DropReason::Context => "context",
            DropReason::BreakerOpen => "breaker_open",
            DropReason::Cooling => "cooling",
            DropReason::ModelLocked => "model_locked",
            DropReason::NoProbeSlot => "no_probe_slot",
            DropReason::QuotaCutoff => "quota_cutoff",
            DropReason::QuotaExhausted => "quota_exhausted",
            DropReason::AtCapacity => "at_capacity",
            DropReason::QueueFull => "queue_full",
            DropReason::Budget => "budget",
            DropReason::ScoreFloor => "score_floor",
            DropReason::ExplorationExcluded => "exploration_excluded",
            DropReason::SelfHeal => "self_heal",
            DropReason::RequestExhausted => "request_exhausted",
            DropReason::Deadline => "deadline",
            DropReason::PredictiveTtft => "predictive_ttft",
            DropReason::OnlyOnQuota => "only_on_quota",
        }
    }

    /// True if waiting changes nothing for this request.
    pub const fn permanent(self) -> bool {
        matches!(
            self,
            DropReason::Disabled
                | DropReason::Excluded
                | DropReason::Filtered
                | DropReason::NoCredential
                | DropReason::CredentialTerminal
                | DropReason::Tag
                | DropReason::Context
        ) || self.capability()
    }

    /// True if the model lacks something the request needs.
    pub const fn capability(self) -> bool {
        matches!(
            self,
            DropReason::CapabilityTools
                | DropReason::CapabilityVision
                | DropReason::CapabilityAudioIn
                | DropReason::CapabilityAudioOut
                | DropReason::CapabilityVideo
                | DropReason::CapabilityDocument
                | DropReason::CapabilityStructured
        )
    }

    /// True if an allowance is the reason.
    pub const fn quota(self) -> bool {
        matches!(self, DropReason::QuotaCutoff | DropReason::QuotaExhausted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_in_order() {
        let mut codes: Vec<_> = DropReason::ALL.iter().map(|reason| reason.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), DropReason::ALL.len());
        assert!(DropReason::ALL.iter().enumerate().all(|(i, reason)| *reason as usize == i));
    }
}
