//! `auto` from outside: every factor moves a decision, and so does everything else it promises.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{World, built};
use omniroute_core::UnixMs;
use omniroute_core::route::{
    AccountTier, Billing, Health, Layer, Mode, Note, OfferTier, Plan, RouteErrorKind, TaskClass,
};
use omniroute_route::{FACTORS, OptionMap, OptionValue, strategy};

const NAMES: [&str; 2] = ["a/1/m", "b/1/n"];

/// Two equal candidates; only one factor has a weight.
fn only(factor: &str) -> World {
    let weights: OptionMap = FACTORS
        .iter()
        .map(|known| (known.name.to_owned(), OptionValue::Number(f64::from(u8::from(known.name == factor)))))
        .collect();
    World::with(built("auto", &[("weights", OptionValue::Map(weights))]), &NAMES)
}

/// Makes the second candidate better in one respect.
fn favour(world: &mut World, factor: &str) {
    let (better, worse) = ("b/1/n", "a/1/m");
    match factor {
        "quota" => world.facts(worse).quota_left = Some(0.2),
        "health" => world.facts(worse).health = Health::Degraded,
        "costInv" => {
            for (name, price) in [(worse, 9.0), (better, 1.0)] {
                (world.facts(name).price_in, world.facts(name).price_out) = (Some(price), Some(price));
            }
        }
        "latencyInv" => world.facts(worse).p95_ms = Some(9_000.0),
        "taskFit" => world.entry(worse).fitness = Some([0.7; 7]),
        "stability" => world.facts(worse).sd_ms = Some(2_000.0),
        "tierPriority" => world.entry(better).account = AccountTier::Pro,
        "tierAffinity" => {
            world.request.tier_hint = Some(OfferTier::Premium);
            world.entry(better).tier = Some(OfferTier::Premium);
            world.entry(worse).tier = Some(OfferTier::Free);
        }
        "specificityMatch" => {
            world.request.specificity = Some(80.0);
            world.entry(better).tier = Some(OfferTier::Premium);
            world.entry(worse).tier = Some(OfferTier::Free);
        }
        "contextAffinity" => world.session().last = Some(common::target(better)),
        "sessionAvailability" => {
            world.entry(worse).sign_in = true;
            world.facts(worse).sessions = 3;
        }
        "connectionDensity" => world.facts(worse).in_flight = 2,
        "cacheAffinity" => {
            world.request.prefix_key = Some("k".into());
            world.facts(better).warm = true;
        }
        "resetWindowAffinity" => world.facts(better).resets_at[1] = Some(UnixMs(60_000)),
        "quality" => world.facts(better).quality = Some(0.9),
        other => panic!("nothing is known to favour {other}"),
    }
}

#[test]
fn every_factor_moves_a_decision() {
    for factor in FACTORS {
        let mut world = only(factor.name);
        assert_eq!(world.first(), "a/1/m", "{}: equal candidates go by rank", factor.name);
        favour(&mut world, factor.name);
        assert_eq!(world.first(), "b/1/n", "{}", factor.name);
        let decision = world.explain().unwrap();
        let pick = decision.plan.first().unwrap();
        let (number, added) = pick.why.top[0];
        assert_eq!(FACTORS[usize::from(number)].name, factor.name, "the explanation names it");
        assert!((added - pick.score).abs() < 1e-6);
    }
}

#[test]
fn a_factor_without_weight_moves_nothing() {
    // The twin of the test above: the same change, but another factor has the weight.
    for (factor, other) in FACTORS.iter().zip(FACTORS.iter().skip(1)) {
        let mut world = only(if other.name == "tierAffinity" { "quality" } else { other.name });
        favour(&mut world, factor.name);
        let moved = world.first() == "b/1/n";
        assert!(!moved, "{} moved with only {} weighted", factor.name, other.name);
    }
}

/// A fast dear one and a slow cheap good one.
fn different(name: &str) -> World {
    let mut world = World::auto(name, &["fast/1/m", "cheap/1/n", "good/1/o"]);
    for (name, price, p95, fit, sd) in [
        ("fast/1/m", 8.0, 700.0, 0.75, 70.0),
        ("cheap/1/n", 0.2, 9_000.0, 0.75, 900.0),
        ("good/1/o", 9.0, 8_000.0, 0.98, 100.0),
    ] {
        world.entry(name).fitness = Some([fit; 7]);
        let facts = world.facts(name);
        (facts.price_in, facts.price_out, facts.p95_ms, facts.sd_ms) =
            (Some(price), Some(price), Some(p95), Some(sd));
    }
    world
}

#[test]
fn names_choose_what_they_promise() {
    assert_eq!(different("auto/fast").first(), "fast/1/m");
    assert_eq!(different("auto/cheap").first(), "cheap/1/n");
    let mut coding = different("auto/coding");
    assert_ne!(coding.first(), "cheap/1/n");
    coding.facts("fast/1/m").p95_ms = Some(7_500.0);
    coding.facts("fast/1/m").sd_ms = Some(750.0);
    assert_eq!(coding.first(), "good/1/o");
    let mut offline = different("auto/offline");
    for name in ["fast/1/m", "good/1/o"] {
        offline.facts(name).quota_left = Some(0.1);
    }
    assert_eq!(offline.first(), "cheap/1/n");
    assert_eq!(different("auto/lkgp").order(), different("auto").order());
    let mut asked = different("auto");
    asked.options.mode = Some(Mode::ShipFast);
    assert_eq!(asked.first(), "fast/1/m", "a request may ask for another set");
}

#[test]
fn coding_is_judged_as_coding() {
    let fit = |coding: f32, rest: f32| {
        let mut fit = [rest; 7];
        fit[TaskClass::Coding as usize] = coding;
        Some(fit)
    };
    let world = |name: &str| {
        let mut world = World::auto(name, &["a/1/m", "b/1/n"]);
        world.entry("a/1/m").fitness = fit(0.70, 0.95);
        world.entry("b/1/n").fitness = fit(0.95, 0.70);
        world
    };
    assert_eq!(world("auto").first(), "a/1/m");
    assert_eq!(world("auto/coding").first(), "b/1/n");
}

#[test]
fn the_floor_of_a_class_is_kept_unless_nobody_reaches_it() {
    let mut world = World::auto("auto", &["a/1/m", "b/1/n"]);
    world.request.class = TaskClass::Debugging;
    world.entry("a/1/m").fitness = Some([0.6; 7]);
    assert_eq!(world.order(), ["b/1/n"]);
    world.entry("b/1/n").fitness = Some([0.65; 7]);
    assert_eq!(world.order().len(), 2);
    assert_eq!(world.explain().unwrap().plan.sequence().unwrap().notes, [Note::FloorIgnored]);
}

#[test]
fn what_fails_half_the_time_is_left_out_once_that_is_known() {
    let mut world = World::auto("auto", &["a/1/m", "b/1/n"]);
    (world.facts("a/1/m").error_rate, world.facts("a/1/m").samples) = (Some(0.5), 9.0);
    assert_eq!(world.order().len(), 2, "too few attempts to tell");
    world.facts("a/1/m").samples = 10.0;
    assert_eq!(world.order(), ["b/1/n"]);
}

#[test]
fn three_failures_a_pause_and_three_good_trials() {
    let mut world = World::auto("auto", &["a/1/m", "b/1/n", "c/1/o"]);
    assert_eq!(world.first(), "a/1/m");
    for _ in 0..3 {
        world.failed("a/1/m");
    }
    assert_eq!(world.order(), ["b/1/n", "c/1/o"]);
    world.later(5 * 60);
    assert_eq!(world.order(), ["b/1/n", "c/1/o", "a/1/m"], "on trial, behind the others");
    let firsts: Vec<String> = (0..8)
        .map(|_| {
            let decision = world.decide().unwrap();
            world.spell(&decision).swap_remove(0)
        })
        .collect();
    assert_eq!(firsts.iter().filter(|first| *first == "a/1/m").count(), 1, "one request in eight");
    for _ in 0..3 {
        world.succeeded("a/1/m");
    }
    let firsts: Vec<String> = (0..3)
        .map(|_| {
            let decision = world.decide().unwrap();
            world.spell(&decision).swap_remove(0)
        })
        .collect();
    assert!(firsts.contains(&"a/1/m".to_owned()), "it takes its turn again: {firsts:?}");
}

/// How many of some requests leave the offering that answered their conversation.
fn leaving(world: &World, home: &str) -> usize {
    let first = |_| {
        let decision = world.decide().unwrap();
        world.spell(&decision).swap_remove(0)
    };
    (0..40).map(first).filter(|first| first != home).count()
}

#[test]
fn a_conversation_is_never_used_for_a_trial() {
    for (names, failed) in [
        // On trial after failures, and equals that take turns.
        (["a/1/m", "b/1/n", "c/1/o"], Some("a/1/m")),
        (["b/1/n", "a/1/m", "c/1/o"], None),
    ] {
        for name in ["auto", "auto/cheap", "auto/coding", "auto/fast", "auto/smart"] {
            let mut world = World::auto(name, &names);
            for _ in 0..3 {
                failed.iter().for_each(|failed| world.failed(failed));
            }
            world.later(5 * 60);
            let session = world.session();
            (session.turns, session.last) = (1, Some(common::target("b/1/n")));
            assert_eq!(leaving(&world, "b/1/n"), 0, "{name}");
            if name == "auto/smart" {
                continue;
            }
            // The twin: the same requests without a conversation do leave.
            world.session = None;
            assert!(leaving(&world, "b/1/n") >= 5, "{name}");
        }
    }
}

#[test]
fn the_result_of_a_tool_goes_back_to_who_asked_for_it() {
    let mut world = different("auto");
    let order = world.order();
    let session = world.session();
    (session.turns, session.last) = (1, Some(common::target(&order[2])));
    assert_eq!(world.first(), order[0], "a question may go to somebody better");
    world.session().tool_result_tail = true;
    assert_eq!(world.order(), [&*order[2], &*order[0], &*order[1]]);
    assert_eq!(world.explain().unwrap().layer, Layer::Session);
    world.facts(&order[2]).health = Health::Open;
    assert_eq!(world.first(), order[0], "unless it cannot be used");
}

#[test]
fn when_everything_was_left_out_everything_is_used() {
    let world = World::auto("auto", &["a/1/m", "b/1/n", "c/1/o"]);
    for name in ["a/1/m", "b/1/n", "c/1/o"] {
        for _ in 0..3 {
            world.failed(name);
        }
    }
    assert_eq!(world.order().len(), 3);
    assert_eq!(world.explain().unwrap().plan.sequence().unwrap().notes, [Note::ExclusionIgnored]);
}

#[test]
fn equal_offerings_take_turns_however_many_accounts_they_have() {
    let names: Vec<String> = (0..9).map(|n| format!("many/{n}/m")).chain(["one/1/n".to_owned()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = World::auto("auto", &names);
    let mut counts = [0; 2];
    for _ in 0..100 {
        let decision = world.decide().unwrap();
        counts[usize::from(world.spell(&decision)[0] == "one/1/n")] += 1;
    }
    assert_eq!(counts, [50, 50]);
}

fn smart(names: &[&str]) -> World {
    let mut world = World::auto("auto/smart", names);
    for name in names {
        (world.facts(name).ttft_ms, world.facts(name).tokens_per_s) = (Some(1_000.0), Some(80.0));
        world.entry(name).billing = Billing::Free;
    }
    world
}

fn explored(world: &World) -> bool {
    let decision = world.decide().unwrap();
    decision.plan.sequence().unwrap().notes.contains(&Note::Explored)
}

fn share(world: &mut World, requests: u32) -> f64 {
    let mut count = 0;
    for seed in 0..requests {
        world.seed = u64::from(seed) * 7_919 + 13;
        count += u32::from(explored(world));
    }
    f64::from(count) / f64::from(requests)
}

#[test]
fn smart_tries_things_out_within_its_budget() {
    let mut world = smart(&["a/1/m", "b/1/n", "c/1/o"]);
    let share = share(&mut world, 4_000);
    // A tenth, and the hundred requests' worth it starts with.
    assert!(share > 0.02 && share <= 0.10 + 10.0 / 4_000.0 + 1e-9, "{share}");
    for name in ["auto", "auto/fast", "auto/cheap", "auto/coding", "auto/offline", "auto/lkgp"] {
        let mut world = World::auto(name, &["a/1/m", "b/1/n", "c/1/o"]);
        assert_eq!(self::share(&mut world, 200), 0.0, "{name}");
    }
}

#[test]
fn what_nobody_knows_is_tried_within_the_same_budget_unless_it_is_dear() {
    let mut world = smart(&["a/1/m", "b/1/n", "new/1/o"]);
    world.entry("new/1/o").fitness = None;
    let tried = |world: &mut World| {
        let (mut all, mut new) = (0, 0);
        for seed in 0..4_000 {
            world.seed = seed * 7_919 + 13;
            let decision = world.decide().unwrap();
            if decision.plan.sequence().unwrap().notes.contains(&Note::Explored) {
                all += 1;
                new += u32::from(world.spell(&decision)[0] == "new/1/o");
            }
        }
        (all, new)
    };
    let (all, new) = tried(&mut world);
    assert!(all <= 400 + 10 && new > 100, "{new} of {all}");
    world.entry("new/1/o").billing = Billing::Metered;
    (world.facts("new/1/o").price_in, world.facts("new/1/o").price_out) = (Some(10.0), Some(30.0));
    assert_eq!(tried(&mut world).1, 0, "more than twice the cost and a cent");
}

#[test]
fn nothing_is_tried_out_where_it_could_hurt() {
    let fresh = || smart(&["a/1/m", "b/1/n", "c/1/o"]);
    let mut world = fresh();
    world.options.explore = false;
    assert_eq!(share(&mut world, 300), 0.0, "switched off");
    let mut world = fresh();
    (world.options.budget, world.options.budget_strict) = (Some(1.0), true);
    assert_eq!(share(&mut world, 300), 0.0, "strict budget");
    let mut world = fresh();
    world.session().turns = 1;
    assert_eq!(share(&mut world, 300), 0.0, "inside a session");
    let mut world = fresh();
    world.session().tool_result_tail = true;
    assert_eq!(share(&mut world, 300), 0.0, "the result of a tool");
    let mut world = fresh();
    for name in ["b/1/n", "c/1/o"] {
        world.facts(name).error_rate = Some(0.3);
    }
    world.entry("a/1/m").fitness = Some([0.84; 7]);
    assert_eq!(share(&mut world, 300), 0.0, "likely to fail");
}

#[test]
fn an_incident_stops_trials() {
    let names: Vec<String> = (0..10).map(|n| format!("p{n}/1/m{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = smart(&names);
    for name in &names[..6] {
        world.facts(name).health = Health::Open;
    }
    let _first_notice = world.decide().unwrap();
    assert_eq!(share(&mut world, 1_000), 0.0);
    assert!(world.explain().unwrap().plan.sequence().unwrap().notes.contains(&Note::Incident));
    for name in &names[..2] {
        world.facts(name).health = Health::Closed;
    }
    let _end = world.decide().unwrap();
    assert!(share(&mut world, 500) > 0.0, "it ends at two fifths");
}

#[test]
fn judged_answers_change_the_order_and_survive_a_restart() {
    let mut world = smart(&["a/1/m", "b/1/n"]);
    world.options.explore = false;
    world.entry("a/1/m").fitness = Some([0.95; 7]);
    world.entry("b/1/n").fitness = Some([0.80; 7]);
    world.decide().unwrap();
    assert_eq!(world.first(), "a/1/m");
    let mut book = omniroute_route::learn::FeedbackBook::default();
    for request in 0..40 {
        let id: std::sync::Arc<str> = format!("r{request}").into();
        book.answered(
            id.clone(),
            common::target("a/1/m"),
            TaskClass::Default,
            world.request.consumer.clone(),
            world.now.wall,
        );
        let score = if request % 10 == 0 { 1.0 } else { 0.0 };
        world.planner.feedback(&book.judge(&id, score, 1.0, world.now.wall).unwrap());
    }
    assert_eq!(world.first(), "b/1/n");
    let saved = world.planner.save().unwrap();
    let mut fresh = smart(&["a/1/m", "b/1/n"]);
    fresh.options.explore = false;
    fresh.entry("a/1/m").fitness = Some([0.95; 7]);
    fresh.entry("b/1/n").fitness = Some([0.80; 7]);
    assert_eq!(fresh.first(), "a/1/m");
    fresh.planner.load(&saved).unwrap();
    assert_eq!(fresh.first(), "b/1/n");
    assert!(fresh.planner.load(b"{}").is_err());
    assert_eq!(fresh.first(), "b/1/n", "what cannot be read changes nothing");
}

#[test]
fn a_price_acts_at_once() {
    let mut world = smart(&["a/1/m", "b/1/n"]);
    world.options.explore = false;
    assert_eq!(world.first(), "a/1/m");
    world.request.input_tokens = 20_000;
    world.entry("a/1/m").billing = Billing::Metered;
    (world.facts("a/1/m").price_in, world.facts("a/1/m").price_out) = (Some(3.0), Some(15.0));
    assert_eq!(world.first(), "b/1/n");
}

#[test]
fn settings_are_checked_when_they_are_read() {
    let said = |pairs: &[(&str, OptionValue)]| {
        let map: OptionMap = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let errors = strategy("auto", "x").unwrap().with("combo.mine", &map).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        said(&[("pack", OptionValue::Text("ship-slow".to_owned()))]),
        "combo.mine.pack is \"ship-slow\", allowed is one of default, ship-fast, cost-saver, quality-first, offline-friendly, reliability-first"
    );
    assert_eq!(
        said(&[("exploration", OptionValue::Number(0.1))]),
        "combo.mine.exploration is 0.1, which needs router = \"adaptive\""
    );
    let weights: OptionMap = [("qota".to_owned(), OptionValue::Number(0.1))].into();
    assert_eq!(
        said(&[("weights", OptionValue::Map(weights))]),
        "combo.mine.weights.qota is no known factor; did you mean \"quota\""
    );
}

#[test]
fn a_plan_names_three_factors_and_their_parts() {
    let world = different("auto");
    let Plan::Sequence(sequence) = world.explain().unwrap().plan else { panic!("an order") };
    for pick in &sequence.picks {
        assert!(pick.why.top.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{:?}", pick.why.top);
        assert!(pick.why.top.iter().all(|(number, _)| usize::from(*number) < FACTORS.len()));
        assert!(pick.score > 0.0 && pick.score < 1.0);
    }
    let empty = World::auto("auto", &[]);
    assert_eq!(empty.explain().unwrap_err().kind, RouteErrorKind::NoExecutableTargets);
}
