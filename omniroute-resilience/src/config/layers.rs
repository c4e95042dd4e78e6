//! The numbers of the three layers, beyond what depends on the class.

use super::knob::{ConfigError, Knob, knobs};
use crate::span::Span;

knobs! {
    /// The provider breaker, beyond what depends on the class.
    BreakerConfig {
        /// Failures of one connection this close together count once, unless the later attempt began after the earlier failure. 0 to 1 h.
        coalesce: Span = Span::seconds(5), Span::ZERO..=Span::hours(1);
        /// How long a probe may hold the half-open state. 1 s to 1 h.
        probe_lease: Span = Span::seconds(90), Span::seconds(1)..=Span::hours(1);
        /// Probes in a row without a verdict after which it opens again. 1 to 100.
        inconclusive: u32 = 3, 1..=100;
        /// Successes take counted failures back; how often that is written down, unless it heals. 0 to 1 min.
        success_flush: Span = Span::seconds(5), Span::ZERO..=Span::minutes(1);
        /// A sibling's success this recent keeps one connection from opening the provider's breaker. 0 to 1 h.
        sibling_window: Span = Span::seconds(60), Span::ZERO..=Span::hours(1);
        /// Reset time while only one origin is in use and transport failures cannot be confirmed. 1 s to 24 h.
        uncorroborated_reset: Span = Span::seconds(15), Span::seconds(1)..=Span::hours(24);
        /// How long concurrency ramps up after recovery; 0 switches the ramp off. 0 to 10 min.
        ramp: Span = Span::seconds(30), Span::ZERO..=Span::minutes(10);
        /// How often the ramp's limit doubles. 1 s to 10 min.
        ramp_step: Span = Span::seconds(5), Span::seconds(1)..=Span::minutes(10);
        /// No ramp if fewer attempts than this ran at once before the outage. 1 to 1 000 000.
        ramp_from: u32 = 10, 1..=1_000_000;
    }
}

knobs! {
    /// Whether failures of the network are ours or the provider's.
    EgressConfig {
        /// With no success on a network path for this long, and failures of several origins in it, the path is suspected. 1 s to 10 min.
        silence: Span = Span::seconds(10), Span::seconds(1)..=Span::minutes(10);
        /// Origins dialled this recently are in use. 1 s to 1 h.
        in_use: Span = Span::seconds(60), Span::seconds(1)..=Span::hours(1);
        /// How many of those must fail, or all that there are, but at least two. 2 to 100.
        origins: u32 = 3, 2..=100;
    }
}

knobs! {
    /// The connection cooldown, beyond what depends on the class.
    CooldownConfig {
        /// Wait after "overloaded"; it never grows. 0 to 1 h.
        overload: Span = Span::seconds(10), Span::ZERO..=Span::hours(1);
        /// Wait after a 403 that names no model. 0 to 24 h.
        forbidden: Span = Span::seconds(60), Span::ZERO..=Span::hours(24);
        /// Wait when a quota is used up and nobody says until when. 1 s to 24 h.
        quota_unknown: Span = Span::hours(1), Span::seconds(1)..=Span::hours(24);
        /// Wait when a proxy says for the first time that the money is gone. 1 s to 24 h.
        credits_proxy: Span = Span::hours(1), Span::seconds(1)..=Span::hours(24);
        /// Longest declared wait of a direct connection. 1 s to 365 d.
        declared_max: Span = Span::days(31), Span::seconds(1)..=Span::days(365);
        /// Longest declared wait of a proxy. 1 s to 365 d.
        declared_max_proxy: Span = Span::minutes(10), Span::seconds(1)..=Span::days(365);
        /// Declared waits longer than this are verified from then on. 1 min to 31 d.
        verify_after: Span = Span::minutes(15), Span::minutes(1)..=Span::days(31);
        /// How often at most. 1 min to 31 d.
        verify_every: Span = Span::minutes(60), Span::minutes(1)..=Span::days(31);
        /// After cooldowns longer than this a connection starts with one attempt at a time. 0 to 24 h.
        reentry_over: Span = Span::seconds(10), Span::ZERO..=Span::hours(24);
        /// Attempts at once at which that slow start ends. 1 to 10 000.
        reentry_full: u32 = 32, 1..=10_000;
        /// Two reports this far apart confirm a dead credential. 0 to 24 h.
        confirm_after: Span = Span::seconds(30), Span::ZERO..=Span::hours(24);
        /// Failures in a row on one connection, with a healthy sibling, after which its cooldown starts to grow. 1 to 100.
        concentration: u32 = 3, 1..=100;
        /// Share of a provider's connections that computed cooldowns after server or transport errors may remove. 0 to 100.
        ejection_percent: u32 = 50, 0..=100;
    }
}

knobs! {
    /// The model lockout.
    LockoutConfig {
        /// Whether models are locked at all.
        enabled: bool = true, ();
        /// First lock. 5 s to 10 min.
        base: Span = Span::seconds(120), Span::seconds(5)..=Span::minutes(10);
        /// Longest computed lock. 5 s to 1 h, not below `base`.
        max: Span = Span::minutes(30), Span::seconds(5)..=Span::hours(1);
        /// How often it doubles at most. 0 to 20.
        steps: u32 = 10, 0..=20;
        /// Whether it doubles.
        backoff: bool = true, ();
        /// First lock of a model that a local server does not have. 1 s to 10 min.
        local_base: Span = Span::seconds(5), Span::seconds(1)..=Span::minutes(10);
        /// Longest of those. 1 s to 1 h.
        local_max: Span = Span::seconds(60), Span::seconds(1)..=Span::hours(1);
        /// Lock after "no capacity"; it never grows. 0 to 1 h.
        capacity: Span = Span::seconds(10), Span::ZERO..=Span::hours(1);
        /// "No capacity" from two connections this close together locks the model everywhere. 0 to 1 h.
        capacity_window: Span = Span::seconds(30), Span::ZERO..=Span::hours(1);
        /// Empty answers in a row that lock a model. 1 to 100.
        empty_in_row: u32 = 3, 1..=100;
    }
}
