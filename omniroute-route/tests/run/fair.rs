//! Whoever could have answered is asked, however many others that do not answer stand before.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Pick, Plan as Planned, Reason, RouteContext, RouteError, RoutingStrategy, Sequence, Why,
};
use omniroute_core::{FailureKind as K, Scope};
use omniroute_route::StepConfig;

use crate::script::*;

/// So many vendors that are down, each with so many accounts and models, and one with one model that is well.
fn crowd(down: usize, accounts: usize, models: usize, failure: &Step) -> Plan {
    let mut plan = world();
    for vendor in 0..down {
        for account in 0..accounts {
            plan = plan.with(&format!("down{vendor}/{account}"), vec![failure.clone(); 40]);
        }
        for number in 0..models {
            plan =
                plan.builder(|b| b.model(&format!("down{vendor}"), &format!("m{number:03}"), model(100_000)));
        }
        plan = plan.steps(|steps| steps.last_mut().unwrap().model = Some(format!("down{vendor}/*")));
    }
    plan.with("well/1", vec![])
}

/// The law: nothing is lost while somebody is well.
fn kept(world: &World, model: &str) -> Result<(), String> {
    for number in 0..3 {
        let (text, receipt) = world.said(ask_for(model, number == 1));
        if receipt.answered.as_deref() != Some("well/1/m") {
            return Err(format!("request {number}: {text}, tried {}", tried(&receipt)));
        }
    }
    world.at_rest();
    Ok(())
}

/// Says that its first sixty-four are all there are.
#[derive(Debug)]
struct Short;

impl RoutingStrategy for Short {
    fn id(&self) -> &str {
        "short"
    }

    fn plan(&self, _: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Planned, RouteError> {
        let pick = |index: &u32| Pick::new(*index, Why::strategy(Reason::Named));
        let picks = candidates.indices().iter().take(64).map(pick).collect();
        Ok(Planned::Sequence(Sequence::new(picks, 0)))
    }
}

#[test]
fn nothing_is_lost_while_somebody_is_well() {
    let unavailable = unavailable();
    let refused = Step::Fail(http(K::Unauthorized, Scope::Connection, 401));
    let limited = Step::Fail(http(K::RateLimited, Scope::Connection, 429));
    let gone = Step::Fail(http(K::ModelUnavailable, Scope::Model, 404));
    for (down, accounts, models, failure) in [
        (1, 1, 100, &unavailable),
        (2, 1, 70, &unavailable),
        (2, 4, 40, &refused),
        (3, 2, 30, &limited),
        (4, 1, 20, &gone),
        (4, 3, 8, &unavailable),
    ] {
        for name in ["daily", "auto", "auto/cheap"] {
            let world = crowd(down, accounts, models, failure).build();
            kept(&world, name)
                .unwrap_or_else(|lost| panic!("{name}, {down} x {accounts} x {models}: {lost}"));
        }
        for strategy in ["random", "cost-optimized", "round-robin", "weighted", "strict-random", "fill-first"]
        {
            let world = crowd(down, accounts, models, failure).strategy(strategy).build();
            kept(&world, "daily").unwrap_or_else(|lost| panic!("{strategy}: {lost}"));
        }
    }
    // The twin: a list that hides where it was cut loses the request, and the same check says so.
    let steps = vec![StepConfig::model("down0/*"), StepConfig::model("well/m")];
    let world = crowd(1, 1, 100, &unavailable).builder(|b| b.route("short", Arc::new(Short), steps)).build();
    let lost = kept(&world, "short").unwrap_err();
    assert!(lost.starts_with("request 0: "), "{lost}");
}

#[test]
fn the_last_attempts_are_for_those_who_were_not_tried() {
    let mut plan = world();
    for account in 0..9 {
        plan = plan.with(&format!("a/{account}"), vec![unavailable(); 9]);
    }
    let world = plan.with("b/1", vec![unavailable()]).with("c/1", vec![]).build();
    let (_, receipt) = world.said(ask(false));
    assert_eq!(tried(&receipt), "a/0 a/1 a/2 a/3 b/1 c/1");
    let alone = crate::script::world().with("a/0", vec![unavailable(); 9]).with("a/1", vec![]).build();
    assert_eq!(tried(&alone.said(ask(false)).1), "a/0 a/1", "others of the same vendor come as ever");
}
