//! The numbers of what stands beside the layers: sessions, leases, slots, quotas, waiting, retries, refreshing.

use super::knob::{ConfigError, Knob, knobs};
use crate::span::Span;

knobs! {
    /// Sessions that stay on one connection.
    AffinityConfig {
        /// How long an unused pin lives; 0 switches pins off. 0 to 24 h.
        ttl: Span = Span::ZERO, Span::ZERO..=Span::hours(24);
        /// How long any pin lives; 0: no limit. 0 to 365 d.
        max_age: Span = Span::hours(24), Span::ZERO..=Span::days(365);
        /// A pinned connection is worth waiting this long for. 0 to 5 min.
        grace: Span = Span::seconds(10), Span::ZERO..=Span::minutes(5);
        /// Blocked no longer than this, the pin is kept while another connection serves. 0 to 1 h.
        keep: Span = Span::seconds(60), Span::ZERO..=Span::hours(1);
        /// Requests in a row served elsewhere after which the pin moves. 1 to 100.
        diversions: u32 = 2, 1..=100;
        /// Pins held in this process. 1 to 10 000 000.
        max_pins: u32 = 50_000, 1..=10_000_000;
        /// Of those, pins of one consumer. 1 to 10 000 000.
        max_pins_per_consumer: u32 = 5_000, 1..=10_000_000;
    }
}

knobs! {
    /// Exclusive leases.
    LeaseConfig {
        /// Whether leases are looked at. Off costs nothing.
        enabled: bool = false, ();
        /// How long a lease lives without renewal. 1 s to 30 min.
        ttl: Span = Span::seconds(120), Span::seconds(1)..=Span::minutes(30);
        /// Longest time an owner may ask for. 1 s to 30 min.
        ttl_max: Span = Span::minutes(30), Span::seconds(1)..=Span::minutes(30);
        /// How long a lease lives even when renewed; none: no limit. 1 min to 365 d.
        max_age: Option<Span> = None, Span::minutes(1)..=Span::days(365);
        /// Accept a store that forgets on a crash.
        allow_volatile: bool = false, ();
        /// A granted request renews the lease it runs under, at most every quarter of its life. Not with `max_age`.
        renew_on_use: bool = true, ();
        /// How long ended leases are kept. 1 min to 365 d.
        keep_ended: Span = Span::days(7), Span::minutes(1)..=Span::days(365);
        /// How long an owner's last generation is remembered. 1 h to 3650 d.
        keep_generation: Span = Span::days(90), Span::hours(1)..=Span::days(3_650);
    }
}

knobs! {
    /// Concurrency slots and their queues.
    SlotConfig {
        /// Attempts at once in all processes; none: no limit. 1 to 1 000 000.
        global: Option<u32> = None, 1..=1_000_000;
        /// Attempts at once at one provider; none: no limit. 1 to 1 000 000.
        per_provider: Option<u32> = None, 1..=1_000_000;
        /// How long a slot lives without renewal. 5 s to 1 h.
        lease: Span = Span::seconds(120), Span::seconds(5)..=Span::hours(1);
        /// How often a running stream renews it. 1 s to 1 h.
        renew: Span = Span::seconds(40), Span::seconds(1)..=Span::hours(1);
        /// Longest wait for a slot. 0 to 10 min.
        queue_timeout: Span = Span::seconds(30), Span::ZERO..=Span::minutes(10);
        /// Waiters for one connection in this process. 0 to 100 000.
        queue_size: u32 = 20, 0..=100_000;
        /// Go on without a slot when none is free, instead of refusing.
        fail_open: bool = false, ();
        /// Credit a consumer of weight 1 gets in one round while it waits, in tokens. 1 to 1 000 000.
        quantum: u32 = 8_192, 1..=1_000_000;
    }
}

knobs! {
    /// Rates and quotas.
    QuotaConfig {
        /// Skip a connection once this share of a window is used, in millionths. 1 to 1 000 000.
        cutoff_ppm: u32 = 1_000_000, 1..=1_000_000;
        /// What headers said counts for this long. 1 s to 24 h.
        header_stale: Span = Span::minutes(5), Span::seconds(1)..=Span::hours(24);
        /// What a usage request said counts for this long. 1 s to 24 h.
        polled_stale: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
        /// A full window without a known end counts as full for this long at most. 1 s to 24 h.
        unknown_reset: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
        /// An unreported reservation is charged as estimated after this. 1 s to 24 h.
        reservation: Span = Span::minutes(10), Span::seconds(1)..=Span::hours(24);
        /// Used share of a pool from which consumers are held to their fair share, in millionths. 0 to 1 000 000.
        strict_from_ppm: u32 = 500_000, 0..=1_000_000;
        /// Refuse when the store is away and a hard cap in money applies.
        usd_caps_fail_closed: bool = true, ();
        /// How long a request waits for a tier of pools that is only busy before it spills to the next. 0 to 10 min.
        tier_patience: Span = Span::seconds(2), Span::ZERO..=Span::minutes(10);
        /// Whether limits are learned from what answers tell.
        learn: bool = true, ();
        /// How often a limit that is not scarce is written down. 1 s to 1 h.
        learn_every: Span = Span::seconds(60), Span::seconds(1)..=Span::hours(1);
        /// How long a learned limit counts. 1 min to 24 h.
        learned_age: Span = Span::hours(24), Span::minutes(1)..=Span::hours(24);
        /// Learned limits this process keeps an eye on; more are not learned. 1 to 10 000 000.
        learned_max: u32 = 10_000, 1..=10_000_000;
    }
}

knobs! {
    /// Waiting for something that will be free soon.
    WaitConfig {
        /// Whether to wait at all.
        enabled: bool = true, ();
        /// Longest single wait. 0 to 90 s.
        single: Span = Span::seconds(5), Span::ZERO..=Span::seconds(90);
        /// Waits per client request. 0 to 10.
        attempts: u32 = 2, 0..=10;
        /// Time spent waiting per client request. Not below `single`, at most 300 s.
        total: Span = Span::seconds(8), Span::ZERO..=Span::seconds(300);
        /// Added to every wait. 0 to 1 s.
        margin: Span = Span::ms(50), Span::ZERO..=Span::seconds(1);
        /// How often a waiter looks for what another process has given back. 10 ms to 1 min.
        look_again: Span = Span::ms(500), Span::ms(10)..=Span::minutes(1);
        /// Waiters for one connection; more are refused at once. 1 to 10 000.
        waiters: u32 = 64, 1..=10_000;
    }
}

knobs! {
    /// How many attempts one request may cost.
    RetryConfig {
        /// Attempts at one target. 1 to 100.
        per_target: u32 = 2, 1..=100;
        /// Attempts at one provider. 1 to 100.
        per_provider: u32 = 4, 1..=100;
        /// Attempts in all. 1 to 100.
        total: u32 = 8, 1..=100;
        /// Further attempts at a provider, as a share of first ones. 0 to 100.
        percent: u32 = 20, 0..=100;
        /// Further attempts per second that are always allowed. 0 to 1 000 000.
        reserve_per_second: u32 = 3, 0..=1_000_000;
        /// How far back first attempts count. 1 s to 1 h.
        window: Span = Span::seconds(10), Span::seconds(1)..=Span::hours(1);
    }
}

knobs! {
    /// When everything is blocked by our own guesses.
    LastResortConfig {
        /// Try the target that is due first, although it is blocked.
        enabled: bool = true, ();
        /// How often at most, for one model of one provider. 100 ms to 1 h.
        every: Span = Span::seconds(2), Span::ms(100)..=Span::hours(1);
        /// Only if it is due within this time, or the block is about the provider or the network. 0 to 1 h.
        within: Span = Span::seconds(30), Span::ZERO..=Span::hours(1);
        /// Only if the request offered at least this many connections. 1 to 1000.
        from: u32 = 2, 1..=1_000;
    }
}

knobs! {
    /// Refreshing credentials once.
    RefreshConfig {
        /// How long the lock of a refresh lives. 1 s to 10 min.
        lock: Span = Span::seconds(45), Span::seconds(1)..=Span::minutes(10);
        /// Failures in a row after which a connection is not refreshed for `pause`. 1 to 100.
        failures: u32 = 5, 1..=100;
        /// How long. 1 s to 24 h.
        pause: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
    }
}
