//! Which rule may change an order, and which may not.

mod common;

use common::World;
use omniroute_core::route::{DropReason, Health, Layer, Need, Needs, Note, Relay, RouteErrorKind};
use omniroute_core::{ConnectionId, Mono, ProviderId};

fn pinned(world: &mut World, provider: &str, connection: &str) {
    world.session().pin = Some((ProviderId::new(provider), ConnectionId::new(connection)));
}

#[test]
fn a_session_does_not_move_its_target_across_steps() {
    let mut world = World::new("priority", &["a/acc1/m", "a/acc2/m", "b/acc1/m"]);
    pinned(&mut world, "b", "acc1");
    assert_eq!(world.order(), ["a/acc1/m", "a/acc2/m", "b/acc1/m"]);
    world.entry("a/acc2/m").step = 0;
    pinned(&mut world, "a", "acc2");
    assert_eq!(world.order(), ["a/acc2/m", "a/acc1/m", "b/acc1/m"], "inside its step it does");
    let decision = world.explain().unwrap();
    assert_eq!(decision.layer, Layer::Session);
    world.options.session_affinity = false;
    assert_eq!(world.first(), "a/acc1/m");
}

#[test]
fn a_session_comes_first_where_the_order_belongs_to_nobody() {
    for strategy in ["random", "least-used", "p2c", "headroom", "cost-optimized"] {
        let mut world = World::new(strategy, &["a/1/m", "b/1/m", "c/1/m"]);
        pinned(&mut world, "b", "1");
        for seed in 0..10 {
            world.seed = seed;
            assert_eq!(world.first(), "b/1/m", "{strategy}");
        }
    }
}

#[test]
fn a_prefix_chooses_inside_the_first_step_and_never_a_spent_account() {
    let mut world = World::new("priority", &["a/acct-1/m", "a/acct-2/m", "a/acct-3/m", "b/1/m"]);
    for name in ["a/acct-1/m", "a/acct-2/m", "a/acct-3/m"] {
        world.entry(name).step = 0;
    }
    assert_eq!(world.first(), "a/acct-1/m");
    world.request.prefix_key = Some("omni-demo-key".into());
    assert_eq!(world.first(), "a/acct-2/m");
    assert_eq!(world.explain().unwrap().layer, Layer::PrefixCache);
    world.facts("a/acct-2/m").quota_left = Some(0.1);
    assert_eq!(world.first(), "a/acct-3/m");
    pinned(&mut world, "a", "acct-1");
    assert_eq!(world.first(), "a/acct-1/m", "a session is stronger");
    world.options.session_affinity = false;
    world.options.cache_affinity = false;
    assert_eq!(world.order()[..2], ["a/acct-1/m", "a/acct-2/m"], "without both it is the pure order");
}

#[test]
fn what_worked_last_breaks_exact_ties_only() {
    let mut world = World::new("headroom", &["a/1/m", "b/1/m", "c/1/m"]);
    world.succeeded("c/1/m");
    assert_eq!(world.order(), ["c/1/m", "a/1/m", "b/1/m"]);
    assert_eq!(world.explain().unwrap().layer, Layer::LastGood);
    world.facts("b/1/m").quota_left = Some(0.6);
    assert_eq!(world.order(), ["b/1/m", "a/1/m", "c/1/m"]);
    world.facts("b/1/m").quota_left = None;
    world.options.last_good = false;
    assert_eq!(world.first(), "a/1/m");
}

#[test]
fn every_strategy_is_pure_when_the_other_rules_are_off() {
    for entry in omniroute_route::STRATEGIES {
        if matches!(entry.id, "fusion" | "pipeline") {
            continue;
        }
        let pure = |affinities: bool| {
            let mut world = World::new(entry.id, &["a/1/m", "a/2/m", "b/1/m", "c/1/m"]);
            world.options.session_affinity = false;
            world.options.cache_affinity = false;
            world.options.last_good = false;
            if affinities {
                pinned(&mut world, "c", "1");
                world.planner.observe(
                    None,
                    &omniroute_core::Outcome::replayed(common::target("b/1/m"), world.now.wall),
                );
            }
            world.order()
        };
        if entry.id != "lkgp" && entry.id != "auto" {
            assert_eq!(pure(true), pure(false), "{}", entry.id);
        }
    }
}

#[test]
fn the_full_and_the_uncertain_stand_behind() {
    let mut world = World::new("priority", &["a/1/m", "b/1/m", "c/1/m"]);
    (world.facts("a/1/m").in_flight, world.facts("a/1/m").cap) = (3, Some(3));
    assert_eq!(world.order(), ["b/1/m", "c/1/m", "a/1/m"]);
    world.options.depth = 1;
    assert_eq!(world.first(), "b/1/m");
    let mut world = World::new("headroom", &["a/1/m", "b/1/m"]);
    world.request.needs = Needs::NONE.with(Need::Tools);
    world.entry("b/1/m").model.capabilities.set(omniroute_core::Capability::Tools, Some(true));
    assert_eq!(world.order(), ["b/1/m", "a/1/m"]);
    let mut world = World::new("priority", &["a/1/m", "b/1/m"]);
    world.entry("a/1/m").model.context_window = None;
    assert_eq!(world.first(), "a/1/m", "an operator's order of steps stands");
}

#[test]
fn one_bad_entry_does_not_stop_the_others() {
    let names: Vec<String> = (0..54).map(|n| format!("p{n}/1/m")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World::new("priority", &names);
    world.request.input_tokens = 50_000;
    world.entry("p1/1/m").model.context_window = Some(8_000);
    let decision = world.explain().unwrap();
    assert_eq!(decision.drops, [(1, DropReason::Context)]);
    assert_eq!(world.spell(&decision).len(), 53);
}

#[test]
fn explaining_changes_nothing_and_tells_what_would_happen() {
    for entry in omniroute_route::STRATEGIES {
        let mut world = World::new(entry.id, &["a/1/m", "b/1/m", "c/1/m", "d/1/m", "d/2/m"]);
        world.facts("c/1/m").health = Health::Open;
        for seed in 0..30 {
            world.seed = seed;
            let explained = world.explain().unwrap();
            assert_eq!(explained, world.explain().unwrap(), "{}", entry.id);
            assert_eq!(explained, world.decide().unwrap(), "{}", entry.id);
        }
    }
}

#[test]
fn a_deck_starts_anew_when_the_candidates_change() {
    let mut world = World::new("strict-random", &["a/1/m", "b/1/m", "c/1/m"]);
    assert_eq!((world.decide().unwrap().ticket, world.decide().unwrap().ticket), (0, 1));
    world.facts("c/1/m").blocked = Some(DropReason::Cooling);
    world.facts("c/1/m").blocked_until = Some(Mono(10));
    assert_eq!((world.explain().unwrap().ticket, world.decide().unwrap().ticket), (0, 0));
    assert_eq!(world.decide().unwrap().ticket, 1);
}

#[test]
fn tickets_are_dealt_evenly_to_many_threads() {
    let world = World::new("round-robin", &["a/1/m", "b/1/m", "c/1/m"]);
    let (pool, columns) = world.pool();
    let counts = std::sync::Mutex::new([0_u32; 3]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut work = omniroute_route::Work::default();
                let mut own = [0; 3];
                for _ in 0..3_000 {
                    let decision = world.planner.plan(world.ask(), &pool, &columns, &mut work).unwrap();
                    own[decision.plan.first().unwrap().candidate as usize] += 1;
                }
                let mut counts = counts.lock().unwrap();
                counts.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            });
        }
    });
    assert_eq!(*counts.lock().unwrap(), [8_000; 3]);
}

#[test]
fn a_budget_that_fits_nobody_is_relaxed_or_refused() {
    let mut world = World::new("priority", &["dear/1/m", "cheap/1/m"]);
    world.request.input_tokens = 6_000;
    for (name, price) in [("dear/1/m", 3.0), ("cheap/1/m", 0.3)] {
        (world.facts(name).price_in, world.facts(name).price_out) = (Some(price), Some(price));
    }
    world.options.budget = Some(0.000_1);
    assert_eq!(world.order(), ["cheap/1/m", "dear/1/m"]);
    assert_eq!(world.explain().unwrap().plan.sequence().unwrap().notes, [Note::BudgetRelaxed]);
    assert_eq!(world.explain().unwrap().layer, Layer::Request, "not the strategy's choice");
    world.options.budget_strict = true;
    assert_eq!(world.explain().unwrap_err().kind, RouteErrorKind::BudgetExceeded);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        world.options.budget = Some(bad);
        assert_eq!(world.explain().unwrap_err().kind, RouteErrorKind::BadBudget, "{bad}");
    }
}

#[test]
fn only_breakers_in_the_way_may_be_ignored() {
    let mut world = World::new("priority", &["a/1/m", "b/1/m"]);
    world.facts("a/1/m").health = Health::Open;
    world.facts("b/1/m").used[0] = Some(1.0);
    assert_eq!(world.explain().unwrap_err().kind, RouteErrorKind::ProviderCircuitOpen);
    world.options.try_anyway = true;
    assert_eq!(world.order(), ["a/1/m"]);
}

#[test]
fn a_step_may_have_a_strategy_for_its_accounts() {
    let mut world = World::new("priority", &["a/1/m", "a/2/m", "a/3/m", "b/1/m"]);
    for name in ["a/1/m", "a/2/m", "a/3/m"] {
        world.entry(name).step = 0;
    }
    world.facts("a/1/m").usage = Some(9.0);
    world.facts("a/2/m").usage = Some(3.0);
    world.facts("a/3/m").usage = Some(5.0);
    assert_eq!(world.first(), "a/1/m");
    let planner = omniroute_route::Planner::new("x", common::built("priority", &[]));
    world.planner = planner.with_accounts(Some(common::built("least-used", &[])));
    assert_eq!(world.order(), ["a/2/m", "a/3/m", "a/1/m", "b/1/m"]);
    world.options.depth = 1;
    assert_eq!(world.order(), ["a/2/m"]);
}

#[test]
fn a_tool_result_keeps_the_model_but_not_across_steps() {
    let mut world = World::new("least-used", &["a/1/m", "a/1/n", "b/1/m"]);
    pinned(&mut world, "a", "1");
    world.session().last = Some(common::target("a/1/n"));
    assert_eq!(world.first(), "a/1/m", "the connection is kept");
    world.session().tool_result_tail = true;
    assert_eq!(world.first(), "a/1/n", "after a tool's result the model, too");
    let mut ordered = World::new("priority", &["b/1/m", "a/1/m", "a/1/n"]);
    ordered.session = world.session.clone();
    assert_eq!(ordered.order(), ["b/1/m", "a/1/m", "a/1/n"]);
}

#[test]
fn a_session_that_stays_needs_no_summary() {
    let mut world = World::new("context-relay", &["a/1/m", "a/2/m"]);
    world.entry("a/2/m").step = 0;
    pinned(&mut world, "a", "2");
    world.session().last = Some(common::target("a/2/m"));
    world.session().relay_ready = true;
    let relay = |world: &World| world.explain().unwrap().plan.sequence().unwrap().relay;
    assert_eq!((world.first().as_str(), relay(&world)), ("a/2/m", None));
    world.options.session_affinity = false;
    assert_eq!((world.first().as_str(), relay(&world)), ("a/1/m", Some(Relay::Inject)));
}
