//! What holds for every failure, whatever its kind, scope and evidence.

use omniroute_core::UnixMs;
use proptest::prelude::*;

use super::tests::{NOW, facts};
use super::*;

fn any_failure() -> impl Strategy<Value = (Failure, Facts)> {
    let wider = prop_oneof![
        Just(Wider::None),
        Just(Wider::Group),
        Just(Wider::ProviderEgress),
        Just(Wider::QuotaScope("q".into())),
        Just(Wider::AllConnections)
    ];
    let phases = [Phase::Transport, Phase::Headers, Phase::MidStream, Phase::BeforeFirstContent];
    let evidence = [Evidence::Structured, Evidence::Text, Evidence::Status];
    let trusts = [Trust::Direct, Trust::Proxy, Trust::None];
    let times = proptest::option::of((-10_000_i64..9_000_000_000, any::<bool>()));
    (
        (0..17_usize, 0..5_usize, 0..4_usize, 0..3_usize),
        wider,
        (0..5_usize, 0..3_usize, any::<bool>()),
        times,
        any::<bool>(),
    )
        .prop_map(move |((kind, scope, phase, proof), wider, (class, trust, per_model), time, local)| {
            let mut failure = Failure::new(FailureKind::ALL[kind], Scope::ALL[scope], "x");
            failure.phase = phases[phase];
            failure.evidence = evidence[proof];
            failure.wider = wider;
            failure.origin_local = local;
            if let Some((ms, declared)) = time {
                failure.retry_at = Some(UnixMs(NOW + ms));
                failure.declared = declared;
            }
            (failure, Facts { class: Class::ALL[class], trust: trusts[trust], per_model, now: NOW })
        })
}

/// The laws of the table. Says which one is broken.
fn laws(failure: &Failure, facts: &Facts, effect: &Effect) -> Result<(), &'static str> {
    use FailureKind as K;
    if failure.origin_local && *effect != Effect::nothing(Verdict::Neutral) {
        return Err("p21 t_0_05: our own errors change nothing");
    }
    if failure.kind == K::Cancelled
        && (effect.connection.is_some() || effect.lock.is_some() || effect.verdict != Verdict::Neutral)
    {
        return Err("p14 t_4_06: who gives up blames nobody");
    }
    let quota_like = matches!(
        failure.kind,
        K::RateLimited
            | K::QuotaExhausted
            | K::Overloaded
            | K::Unauthorized
            | K::Forbidden
            | K::Banned
            | K::CreditsExhausted
    );
    if quota_like && effect.verdict == Verdict::ProviderFailure {
        return Err("p01 t_4_05: only a failing service trips the breaker");
    }
    if effect.connection == Some(Hit::End(Terminal::Banned)) && failure.evidence != Evidence::Structured {
        return Err("p44 t_4_04: no ban without structured proof");
    }
    if let Some(lock) = &effect.lock {
        let wide = matches!(lock.target, LockTarget::Quota(_));
        let quota = matches!(lock.reason, lockout::Reason::QuotaExhausted | lockout::Reason::RateLimited);
        if wide && !quota {
            return Err("p12 r_3_1: only quotas are shared by models");
        }
    }
    if facts.trust == Trust::None && matches!(effect.connection, Some(Hit::Rest(Wait::Declared(_), _))) {
        return Err("times of the untrusted are ignored");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_laws_hold_for_every_failure((failure, facts) in any_failure()) {
        let effect = effect(&failure, &facts, &Config::default());
        prop_assert_eq!(laws(&failure, &facts, &effect), Ok(()));
    }
}

#[test]
fn a_table_that_trips_on_429_or_bans_by_text_is_caught() {
    let failure = Failure::new(FailureKind::RateLimited, Scope::Connection, "x");
    let mut broken = effect(&failure, &facts(), &Config::default());
    broken.verdict = Verdict::ProviderFailure;
    assert!(laws(&failure, &facts(), &broken).is_err());
    let mut failure = Failure::new(FailureKind::Banned, Scope::Connection, "x");
    failure.evidence = Evidence::Text;
    let mut broken = effect(&failure, &facts(), &Config::default());
    broken.connection = Some(Hit::End(Terminal::Banned));
    assert!(laws(&failure, &facts(), &broken).is_err());
}

#[test]
fn who_gives_up_blames_nobody() {
    for scope in Scope::ALL {
        for phase in [Phase::Transport, Phase::Headers, Phase::BeforeFirstContent, Phase::MidStream] {
            let mut hung_up = Failure::new(FailureKind::Cancelled, scope, "client closed the connection");
            hung_up.phase = phase;
            let mut said_499 = hung_up.clone();
            said_499.status = Some(499);
            let out_of_time =
                Failure::local(FailureKind::Timeout, "deadline_exceeded", "the caller's time is up");
            for failure in [hung_up, said_499, out_of_time] {
                let effect = effect(&failure, &facts(), &Config::default());
                assert_eq!(effect, Effect::nothing(Verdict::Neutral), "{failure:?}");
            }
        }
    }
}

#[test]
fn a_text_that_quotes_the_prompt_ends_no_account() {
    for kind in FailureKind::ALL {
        for scope in Scope::ALL {
            for evidence in [Evidence::Text, Evidence::Status] {
                let mut failure =
                    Failure::new(kind, scope, "\"your account has been suspended\", said the prompt");
                (failure.status, failure.evidence) = (Some(403), evidence);
                let effect = effect(&failure, &facts(), &Config::default());
                let ended = matches!(effect.connection, Some(Hit::End(Terminal::Banned | Terminal::Expired)));
                assert!(!ended, "{failure:?}");
            }
        }
    }
}
