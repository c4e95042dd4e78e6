//! Every row of the table, kind by scope, and the laws that hold for all of them.

use omniroute_core::{QuotaWindow, UnixMs};

use super::*;

pub(super) const NOW: i64 = 1_000_000_000;

pub(super) fn facts() -> Facts {
    Facts { class: Class::ApiKey, trust: Trust::Direct, per_model: false, now: NOW }
}

/// What a row does, in short: verdict, connection, lock.
fn short(failure: &Failure, facts: &Facts) -> String {
    let effect = effect(failure, facts, &Config::default());
    let verdict = match effect.verdict {
        Verdict::Success => "success",
        Verdict::ProviderFailure => "trip",
        Verdict::Alive => "alive",
        Verdict::Neutral => "neutral",
    };
    let mut out = verdict.to_owned();
    if let Some(hit) = effect.connection {
        out.push_str(&match hit {
            Hit::Rest(wait, reason) => format!(" rest {wait:?} {reason:?}"),
            Hit::End(state) => format!(" end {state:?}"),
            Hit::Suspect(state, wait, _) => format!(" suspect {state:?} {wait:?}"),
        });
    }
    if let Some(lock) = effect.lock {
        let wait = match lock.wait {
            lockout::Wait::Computed { base, .. } => format!("from {base}"),
            lockout::Wait::InRow { of, .. } => format!("after {of}"),
            other => format!("{other:?}"),
        };
        out.push_str(&format!(" lock {wait} {:?} {:?}", lock.reason, lock.target));
    }
    out
}

#[test]
fn every_kind_with_every_scope() {
    use FailureKind as K;
    let table: [(K, [&str; 5]); 17] = [
        (
            K::Unavailable,
            [
                "trip rest Fixed(3000) ServerError",
                "alive rest Computed ServerError",
                "alive lock from 120000 ServerError Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::Overloaded,
            [
                "alive rest Fixed(10000) Overloaded",
                "alive rest Fixed(10000) Overloaded",
                "alive lock Fixed(10000) Capacity Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::Timeout,
            [
                "trip rest Fixed(3000) ServerError",
                "alive rest Computed ServerError",
                "alive lock from 120000 ServerError Model",
                "neutral",
                "neutral",
            ],
        ),
        (
            K::RateLimited,
            [
                "alive rest Computed RateLimited",
                "alive rest Computed RateLimited",
                "alive lock from 3000 RateLimited Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::QuotaExhausted,
            [
                "alive rest Fixed(3600000) QuotaExhausted",
                "alive rest Fixed(3600000) QuotaExhausted",
                "alive lock Fixed(3600000) QuotaExhausted Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::Unauthorized,
            [
                "alive rest Computed AuthRetry",
                "alive rest Computed AuthRetry",
                "alive lock from 120000 Forbidden Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::Forbidden,
            [
                "alive rest Grow(60000) Forbidden",
                "alive rest Grow(60000) Forbidden",
                "alive lock from 120000 Forbidden Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::Banned,
            [
                "alive rest Grow(60000) Forbidden",
                "alive rest Grow(60000) Forbidden",
                "alive rest Grow(60000) Forbidden",
                "alive",
                "alive",
            ],
        ),
        (
            K::CreditsExhausted,
            [
                "alive suspect CreditsExhausted Fixed(3600000)",
                "alive suspect CreditsExhausted Fixed(3600000)",
                "alive lock from 120000 QuotaExhausted Model",
                "alive",
                "alive",
            ],
        ),
        (
            K::ModelUnavailable,
            [
                "alive rest Computed Forbidden",
                "alive rest Computed Forbidden",
                "alive lock from 120000 NotFound Model",
                "alive",
                "alive",
            ],
        ),
        (K::ContextTooLong, ["alive"; 5]),
        (K::TooLarge, ["alive"; 5]),
        (K::Filtered, ["alive"; 5]),
        (K::InvalidRequest, ["alive"; 5]),
        (K::Unsupported, ["alive"; 5]),
        (
            K::BadReply,
            [
                "trip rest Fixed(3000) ServerError",
                "alive rest Computed HtmlPage",
                "alive lock after 3 EmptyContent Model",
                "neutral",
                "alive",
            ],
        ),
        (K::Cancelled, ["neutral"; 5]),
    ];
    assert_eq!(table.map(|row| row.0), FailureKind::ALL, "no kind is missing");
    for (kind, rows) in table {
        for (scope, expected) in Scope::ALL.into_iter().zip(rows) {
            let failure = Failure::new(kind, scope, "x");
            assert_eq!(short(&failure, &facts()), expected, "{kind:?} {scope:?}");
        }
    }
}

fn with(kind: FailureKind, scope: Scope, change: impl FnOnce(&mut Failure, &mut Facts)) -> String {
    let mut failure = Failure::new(kind, scope, "x");
    let mut facts = facts();
    change(&mut failure, &mut facts);
    short(&failure, &facts)
}

#[test]
fn what_else_decides() {
    use FailureKind as K;
    use Scope as S;
    let rows = [
        (
            "transport",
            with(K::Unavailable, S::Provider, |f, _| f.phase = Phase::Transport),
            "trip rest Fixed(3000) Transport",
        ),
        (
            "a proxy on the way",
            with(K::Unavailable, S::Connection, |f, _| f.phase = Phase::Transport),
            "neutral rest Computed Transport",
        ),
        (
            "503 with a short time",
            with(K::Unavailable, S::Provider, |f, _| declare(f, 20_000)),
            "trip rest Declared(20000) ServerError",
        ),
        (
            "503 with a long time",
            with(K::Unavailable, S::Provider, |f, _| declare(f, 90_000)),
            "trip rest Fixed(3000) ServerError",
        ),
        (
            "a bad certificate",
            with(K::Unavailable, S::Provider, |f, _| f.wider = Wider::ProviderEgress),
            "alive rest Fixed(60000) Transport",
        ),
        (
            "429 with a time",
            with(K::RateLimited, S::Connection, |f, _| declare(f, 600_000)),
            "alive rest Declared(600000) RateLimited",
        ),
        (
            "429 of a proxy with a long time",
            with(K::RateLimited, S::Connection, |f, facts| {
                declare(f, 7_200_000);
                facts.trust = Trust::Proxy;
            }),
            "alive rest Declared(600000) RateLimited",
        ),
        (
            "429 of a local server with a time",
            with(K::RateLimited, S::Connection, |f, facts| {
                declare(f, 7_200_000);
                facts.trust = Trust::None;
            }),
            "alive rest Computed RateLimited",
        ),
        (
            "a time in the past",
            with(K::RateLimited, S::Connection, |f, _| declare(f, -1)),
            "alive rest Computed RateLimited",
        ),
        (
            "a time of our reader",
            with(K::RateLimited, S::Connection, |f, _| f.retry_at = Some(UnixMs(NOW + 1_000))),
            "alive rest Fixed(1000) RateLimited",
        ),
        (
            "429 where models are counted apart",
            with(K::RateLimited, S::Connection, |_, facts| facts.per_model = true),
            "alive lock from 3000 RateLimited Model",
        ),
        (
            "a day's quota",
            with(K::QuotaExhausted, S::Connection, |f, _| f.window = Some(QuotaWindow::Day)),
            "alive rest Fixed(86400000) QuotaExhausted",
        ),
        (
            "a pool's quota",
            with(K::QuotaExhausted, S::Connection, |f, _| f.wider = Wider::QuotaScope("spark".into())),
            "alive lock Fixed(3600000) QuotaExhausted Quota(\"spark\")",
        ),
        (
            "a dead key, first time",
            with(K::Unauthorized, S::Connection, |f, _| f.evidence = Evidence::Structured),
            "alive suspect Expired Computed",
        ),
        (
            "a cookie never ends",
            with(K::Unauthorized, S::Connection, |f, facts| {
                f.evidence = Evidence::Structured;
                facts.class = Class::WebSession;
            }),
            "alive rest Computed AuthRetry",
        ),
        (
            "another region",
            with(K::Forbidden, S::Connection, |f, _| f.wider = Wider::ProviderEgress),
            "alive rest Fixed(86400000) GeoBlocked",
        ),
        (
            "banned with proof",
            with(K::Banned, S::Connection, |f, _| f.evidence = Evidence::Structured),
            "alive end Banned",
        ),
        (
            "banned by a sentence",
            with(K::Banned, S::Connection, |f, _| f.evidence = Evidence::Text),
            "alive rest Grow(60000) Forbidden",
        ),
        (
            "402",
            with(K::CreditsExhausted, S::Connection, |f, _| f.status = Some(402)),
            "alive end CreditsExhausted",
        ),
        (
            "402 of a proxy",
            with(K::CreditsExhausted, S::Connection, |f, facts| {
                f.status = Some(402);
                facts.trust = Trust::Proxy;
            }),
            "alive suspect CreditsExhausted Fixed(3600000)",
        ),
        (
            "a model a local server does not have",
            with(K::ModelUnavailable, S::Model, |_, facts| facts.class = Class::Local),
            "alive lock from 5000 NotFound Model",
        ),
        (
            "no capacity anywhere",
            with(K::Overloaded, S::Model, |f, _| f.wider = Wider::AllConnections),
            "alive lock Fixed(10000) Capacity Everywhere",
        ),
        (
            "529 with a time",
            with(K::Overloaded, S::Model, |f, _| declare(f, 4_000)),
            "alive lock Declared(4000) Capacity Model",
        ),
        ("cut off in the middle", with(K::BadReply, S::Request, |f, _| f.phase = Phase::MidStream), "trip"),
    ];
    for (name, got, expected) in rows {
        assert_eq!(got, expected, "{name}");
    }
}

fn declare(failure: &mut Failure, ms: i64) {
    failure.retry_at = Some(UnixMs(NOW + ms));
    failure.declared = true;
}

#[test]
fn which_failures_move_a_session() {
    use FailureKind as K;
    let moved = |kind, scope| effect(&Failure::new(kind, scope, "x"), &facts(), &Config::default()).evict_pin;
    assert!(moved(K::RateLimited, Scope::Connection));
    assert!(moved(K::BadReply, Scope::Request));
    assert!(moved(K::Timeout, Scope::Provider));
    for (kind, scope) in [
        (K::Cancelled, Scope::None),
        (K::Filtered, Scope::Request),
        (K::InvalidRequest, Scope::Request),
        (K::Unavailable, Scope::Provider),
    ] {
        assert!(!moved(kind, scope), "{kind:?}");
    }
}
