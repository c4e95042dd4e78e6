//! What went wrong in other routers, once more through the public interface: the tests that are nowhere else. The list of all of
//! them, with the places of the others, is at the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use omniroute_core::FailureKind as K;
use omniroute_core::{ChatRequest, Scope, SessionId, UnixMs, wire};
use omniroute_resilience::{Class, ConnectionSpec};
use omniroute_route::{ComboConfig, Connection, OptionValue, Router, StepConfig};

use crate::script::*;

fn three(strategy: &'static str) -> Plan {
    world().strategy(strategy).with("a/1", vec![]).with("b/1", vec![]).with("c/1", vec![])
}

fn answered(world: &World, request: ChatRequest) -> String {
    world.said(request).1.answered.unwrap_or_default()
}

fn ask_with(model: &str, text: &str, more: &str) -> ChatRequest {
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]{more}}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

/// Exploration runs through the name that everybody uses, within its budget, and teaches.
#[test]
fn p02_exploration_runs_through_the_public_interface() {
    let run = |judged: bool| {
        let world = three("priority").build();
        let mut explored = 0;
        for number in 0..3_000 {
            let (_, receipt) = world.said(ask_for("auto/smart", false));
            explored += u32::from(receipt.explored);
            if judged {
                world.router.feedback(&receipt.request, if number % 3 == 0 { 0.9 } else { 0.2 }, 1.0);
            }
            world.clock.advance(Duration::from_secs(20));
        }
        (explored, world)
    };
    let ((explored, world), (_, unjudged)) = (run(true), run(false));
    assert!((30..=300).contains(&explored), "{explored} of 3000: more than none, a tenth at most");
    assert_ne!(world.router.save(), unjudged.router.save(), "judgements are learned from");
    assert_eq!(run(true).1.router.save(), world.router.save(), "and nothing else makes the difference");
    let plain = (0..300).filter(|_| world.said(ask_for("auto", false)).1.explored).count();
    assert_eq!(plain, 0, "only smart tries things out");
}

#[test]
fn p05_weight_is_a_share_and_not_an_order() {
    let weigh = |steps: &mut Vec<StepConfig>| {
        for (step, weight) in steps.iter_mut().zip([0.0, 1.0, 3.0]) {
            step.weight = Some(weight);
        }
    };
    let drawn = |strategy| {
        let world = three(strategy).steps(weigh).build();
        let mut counts = BTreeMap::new();
        for _ in 0..400 {
            *counts.entry(answered(&world, ask(false))).or_insert(0) += 1;
        }
        counts
    };
    let weighted = drawn("weighted");
    assert_eq!(weighted.get("a/1/m"), None, "a weight of 0 is never drawn");
    assert!((70..130).contains(&weighted["b/1/m"]), "{weighted:?}");
    assert_eq!(drawn("priority").into_iter().collect::<Vec<_>>(), [("a/1/m".to_owned(), 400)]);
}

#[test]
fn p11_two_accounts_of_one_model_are_counted_apart() {
    let world = world().strategy("least-used").with("a/1", vec![]).with("a/2", vec![]).build();
    let mut counts = BTreeMap::new();
    for _ in 0..20 {
        *counts.entry(answered(&world, ask(false))).or_insert(0) += 1;
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn p12_round_robin_moves_on_with_every_request() {
    let world = three("round-robin").build();
    let order: Vec<String> = (0..6).map(|_| answered(&world, ask(false))).collect();
    assert_eq!(order.concat().replace("/1/m", ""), "abcabc");
    let world = three("round-robin").number("sticky", 2.0).build();
    let order: Vec<String> = (0..6).map(|_| answered(&world, ask(false))).collect();
    assert_eq!(order.concat().replace("/1/m", ""), "aabbcc");
}

#[test]
fn p13_the_account_that_worked_is_remembered_and_not_its_provider() {
    let failing = || vec![Step::Fail(http(K::RateLimited, Scope::Connection, 429))];
    let world = world().strategy("lkgp").with("a/1", failing()).with("a/2", vec![]).build();
    assert_eq!(answered(&world, ask(false)), "a/2/m");
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(answered(&world, ask(false)), "a/2/m", "a/1 is well again and was not the one");
}

#[test]
fn p15_a_weight_that_is_left_out_keeps_its_default() {
    let told = |weights: &[(&str, f64)]| {
        let value = |(name, weight): &(&str, f64)| ((*name).to_owned(), OptionValue::Number(*weight));
        let world =
            three("auto").option("weights", OptionValue::Map(weights.iter().map(value).collect())).build();
        let factors = world.router.explain(&ask(false)).unwrap().picks[0].factors.clone();
        factors.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert!(told(&[("latencyInv", 0.2)]).contains(&"health"), "the others still count");
    assert!(
        !told(&[("latencyInv", 0.2), ("health", 0.0)]).contains(&"health"),
        "unless they are said to be nothing"
    );
}

#[test]
fn p16_every_class_can_be_reached() {
    let world = three("priority").build();
    let mut counts = BTreeMap::new();
    for line in include_str!("../../data/prompts.txt").lines().filter(|line| !line.starts_with('#')) {
        let (class, text) = line.split_once(": ").unwrap();
        let text = text.replace("\\n", "\n");
        let mut request = serde_json::json!({"model": "daily", "messages": [{"role": "user"}]});
        request["messages"][0]["content"] = text.into();
        let request = ChatRequest::parse(wire::OPENAI_CHAT, request.to_string()).unwrap();
        *counts.entry(class).or_insert(0) += u32::from(world.said(request).1.class.name() == class);
    }
    assert!(counts.len() == 6 && counts.values().all(|right| *right >= 8), "{counts:?}");
}

#[test]
fn p17_a_factor_that_never_tells_anybody_apart_is_reported() {
    let plan = three("auto");
    let world = plan.build();
    assert!(world.router.health().notes.is_empty());
    for _ in 0..1_000 {
        world.said(ask(false));
    }
    let notes = world.router.health().notes;
    let told = |factor: &str| notes.iter().any(|note| note.contains(&format!("factor {factor} ")));
    assert!(told("tierPriority") && notes[0].contains("daily"), "all accounts are alike: {notes:?}");
    // The twin: one that is not alike.
    let mut other = Connection::new("d", "1");
    other.account = omniroute_core::route::AccountTier::Pro;
    let provider = Arc::new(crate::memory::Limited::new("d", 0));
    let world = three("auto")
        .builder(|builder| builder.model("d", "m", model(100_000)).connection(other, provider))
        .steps(|steps| steps.push(StepConfig::model("d/m")))
        .build();
    for _ in 0..1_000 {
        world.said(ask(false));
    }
    let notes = world.router.health().notes;
    assert!(!notes.iter().any(|note| note.contains("factor tierPriority ")), "{notes:?}");
}

#[test]
fn p18_many_accounts_of_one_provider_do_not_take_all_of_auto() {
    let mut plan = world();
    for name in ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "b/1"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.build();
    // Of both enough is known: one that nothing is known of is neither better nor worse than usual.
    for model in ["a/m", "b/m"] {
        (0..60).for_each(|_| drop(world.said(ask_for(model, false))));
    }
    let b = (0..40).filter(|_| answered(&world, ask_for("auto", false)) == "b/1/m").count();
    assert!((15..=25).contains(&b), "{b} of 40");
}

#[test]
fn p20_the_price_of_the_answer_counts() {
    let world = world()
        .strategy("cost-optimized")
        .costing(100_000, 90_000_000)
        .with("x/1", vec![])
        .costing(2_000_000, 1_000_000)
        .with("y/1", vec![])
        .build();
    let long = ask_with("daily", "write a long text", r#","max_tokens":8000"#);
    assert_eq!(answered(&world, long), "y/1/m", "cheap input, dear output");
}

#[test]
fn p21_the_budget_is_that_of_this_request() {
    let world = three("priority").build();
    let mut options = omniroute_route::ChatOptions::default();
    let mut route = omniroute_core::route::RouteOptions::default();
    route.budget = Some(0.005);
    route.budget_strict = true;
    options.route = Some(route);
    let cost = |text: String, most: u64| {
        let request = ask_with("daily", &text, &format!(r#","max_tokens":{most}"#));
        world.drive(world.router.chat_with(request, &options)).map(|_| ()).map_err(|error| error.code)
    };
    assert_eq!(cost("short".to_owned(), 100), Ok(()));
    assert_eq!(cost("word ".repeat(20_000), 4_000), Err("budget_exceeded".to_owned()));
}

#[test]
fn p22_what_auto_spends_is_booked_under_the_model_that_answered() {
    let world = three("priority").build();
    let (_, receipt) = world.said(ask_for("auto", false));
    let attempt = &receipt.attempts[0];
    assert_eq!(Some(&*attempt.key), receipt.answered.as_deref());
    // 10 tokens at 1 USD and 5 at 2 USD a million.
    assert_eq!((attempt.micro_usd, receipt.micro_usd), (Some(20), 20));
}

#[test]
fn p27_settings_of_attempts_hold_on_every_wire_and_for_streams() {
    let nothing = |stream| match stream {
        false => Step::Whole(text_reply(wire::OPENAI_CHAT, "")),
        true => Step::Stream(vec![role(), stop(), done()]),
    };
    for (anthropic, stream) in [(false, false), (false, true), (true, false), (true, true)] {
        let run = |retries: f64| {
            let world = world().with("a/1", vec![nothing(stream)]).with("b/1", vec![]);
            let world = world.number("same_target_retries", retries).number("max_attempts", 3.0).build();
            let request = if anthropic { ask_anthropic(stream) } else { ask(stream) };
            tried(&world.said(request).1)
        };
        assert_eq!(run(0.0), "a/1 b/1", "{anthropic} {stream}");
        assert_eq!(run(1.0), "a/1 a/1", "{anthropic} {stream}");
    }
}

#[test]
fn p28_a_conversation_does_not_bounce_between_classes() {
    let world = three("priority").build();
    let class = |text: &str| {
        let request = ask_with("daily", text, "").with_session(SessionId::new("s"));
        world.said(request).1.class
    };
    let first = class("Implement a function in Rust that parses the header and add it to src/lib.rs");
    assert_eq!(class("ok, thanks"), first, "a word in between changes nothing");
    let other = class("Write documentation for the API and a README");
    assert_eq!(class("Implement another function in src/lib.rs that writes the header"), first, "{other:?}");
}

#[test]
fn p29_nothing_of_ours_reaches_a_provider_and_nothing_of_the_clients_is_lost() {
    let world = world().with("a/1", vec![unavailable()]).with("b/1", vec![]).build();
    let more = r#","metadata":{"tags":["x"]},"prompt_cache_key":"k1","user":"u""#;
    world.said(ask_with("daily", "hi", more));
    for name in ["a/1", "b/1"] {
        let seen = world.of(name).seen.lock().unwrap();
        assert_eq!(seen[0].model, "m");
        assert!(!seen[0].body.contains("daily"), "{}", seen[0].body);
        assert!(seen[0].body.contains(r#""prompt_cache_key":"k1""#), "{}", seen[0].body);
        assert!(seen[0].body.contains(r#""user":"u""#) && seen[0].body.contains("tags"), "{}", seen[0].body);
    }
}

#[test]
fn p30_a_wrong_configuration_is_no_router() {
    let clock = omniroute_core::testing::VirtualClock::default();
    let mut combo = ComboConfig::new("x", "priority", vec![StepConfig::model("nobody/m")]);
    combo.options.insert("max_atempts".to_owned(), OptionValue::Number(3.0));
    let error = Router::builder(omniroute_core::testing::host(&clock)).combo(combo).build().unwrap_err();
    let told = error.to_string();
    assert!(told.contains("combo.x.step[1].model") && told.contains("max_attempts"), "{told}");
}

#[test]
fn p31_auto_never_means_a_combo_and_a_combo_wins_over_a_model_of_its_name() {
    let named = ComboConfig::new("m", "priority", vec![StepConfig::model("b/m")]);
    let world = three("priority").builder(|builder| builder.combo(named)).build();
    assert_eq!(answered(&world, ask_for("m", false)), "b/1/m");
    let route = world.said(ask_for("auto", false)).1.route;
    assert!(route.contains("auto") && !route.contains("combo"), "{route}");
}

#[test]
fn p32_a_limit_of_n_lets_exactly_n_run() {
    for most in [1, 3] {
        let mut spec = ConnectionSpec::new("a", "1", Class::ApiKey);
        spec.limits.max_concurrent = Some(most);
        let slow = Step::After(500, Box::new(Step::Answer));
        let world = world().with("a/1", vec![slow; 8]).with("b/1", vec![]).builder(|b| b.spec(spec)).build();
        let all = futures::future::join_all((0..5).map(|_| world.router.chat(ask(false))));
        let keys: Vec<String> =
            world.drive(all).into_iter().map(|reply| reply.unwrap().receipt().answered.unwrap()).collect();
        assert_eq!(keys.iter().filter(|key| *key == "a/1/m").count(), most as usize, "{keys:?}");
    }
}

#[test]
fn p33_nobody_is_asked_before_the_time_that_he_named() {
    let mut limited = http(K::RateLimited, Scope::Connection, 429);
    limited.retry_at = Some(UnixMs(1_700_000_000_000 + 600_000));
    let world = world().with("a/1", vec![Step::Fail(limited)]).with("b/1", vec![]).build();
    world.said(ask(false));
    for _ in 0..9 {
        world.clock.advance(Duration::from_secs(60));
        world.said(ask(false));
    }
    assert_eq!(world.of("a/1").calls(), 1);
    world.clock.advance(Duration::from_secs(120));
    world.said(ask(false));
    assert_eq!(world.of("a/1").calls(), 2);
}

#[test]
fn p34_who_has_never_succeeded_is_tried_again() {
    let bad = || Step::Fail(http(K::Unavailable, Scope::Connection, 503));
    let world =
        world().with("a/1", vec![bad(), bad(), bad()]).with("b/1", vec![]).with("c/1", vec![]).build();
    for _ in 0..3000 {
        world.said(ask_for("auto/smart", false));
        world.clock.advance(Duration::from_secs(60));
    }
    assert!(world.of("a/1").calls() > 3, "{} calls", world.of("a/1").calls());
}

#[test]
fn p37_an_error_names_why_each_was_dropped() {
    let spent = |status, kind| Step::Fail(http(kind, Scope::Connection, status));
    let world = world()
        .with("a/1", vec![spent(401, K::Unauthorized)])
        .with("b/1", vec![spent(402, K::CreditsExhausted)])
        .build();
    world.chat(ask(false)).unwrap_err();
    let error = world.chat(ask(false)).unwrap_err();
    assert!(error.message.contains("credential_terminal"), "{}", error.message);
    let skipped = error.receipt().unwrap().skipped;
    let explained = world.router.explain(&ask(false)).unwrap_err().receipt().unwrap().skipped;
    assert!(skipped.len() == 2 || explained.len() == 2, "{skipped:?} {explained:?}");
}

#[test]
fn p38_the_same_beginning_goes_to_the_same_account_and_keeps_the_clients_key() {
    let mut plan = world();
    for name in ["a/1", "a/2", "a/3", "a/4"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.strategy("cache-optimized").build();
    let keyed = |key: &str| ask_with("daily", "hi", &format!(r#","prompt_cache_key":"{key}""#));
    let mut seen = std::collections::BTreeSet::new();
    for key in ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"] {
        let first = answered(&world, keyed(key));
        for _ in 0..3 {
            assert_eq!(answered(&world, keyed(key)), first, "{key}");
        }
        seen.insert(first);
    }
    assert!(seen.len() > 1, "and not all to one");
}

#[test]
fn p41_who_comes_back_is_not_flooded() {
    let broken: Vec<Step> = (0..40).map(|_| unavailable()).collect();
    let world = world().strategy("round-robin").with("a/1", broken).with("b/1", vec![]).build();
    let open = || {
        world
            .router
            .health()
            .resilience
            .breakers
            .iter()
            .any(|breaker| serde_json::to_value(breaker.state).unwrap() == "open")
    };
    while !open() {
        world.said(ask(false));
        world.clock.advance(Duration::from_secs(5));
        assert!(world.of("a/1").calls() < 40, "its breaker opens");
    }
    let before = world.of("a/1").calls();
    world.clock.advance(Duration::from_secs(300));
    let all = futures::future::join_all((0..20).map(|_| world.router.chat(ask(false))));
    let replies = world.drive(all);
    assert!(replies.iter().all(Result::is_ok), "nobody notices");
    let probes = world.of("a/1").calls() - before;
    assert!((1..=2).contains(&probes), "{probes} of 20 try it");
}

/// Where each fault is tested: its number, the file, the test.
const PLACES: [(u8, &str, &str); 46] = [
    (1, "precedence", "a_session_does_not_move_its_target_across_steps"),
    (2, "pitfalls", "p02_exploration_runs_through_the_public_interface"),
    (3, "auto", "an_incident_stops_trials"),
    (3, "auto", "three_failures_a_pause_and_three_good_trials"),
    (4, "precedence", "a_prefix_chooses_inside_the_first_step_and_never_a_spent_account"),
    (5, "pitfalls", "p05_weight_is_a_share_and_not_an_order"),
    (6, "whole", "one_impossible_step_of_54_hides_none_of_the_others"),
    (7, "whole", "one_models_400_and_one_accounts_402_hide_nobody"),
    (8, "whole", "a_dead_provider_in_a_rotation_hides_nobody"),
    (9, "streams", "error_objects_cuts_and_silence_before_content_move_on"),
    (9, "streams", "an_error_after_text_is_told_and_nobody_else_is_asked"),
    (9, "streams", "one_stream_has_one_author"),
    (10, "whole", "a_picture_never_reaches_a_model_that_is_not_known_to_see"),
    (11, "pitfalls", "p11_two_accounts_of_one_model_are_counted_apart"),
    (12, "pitfalls", "p12_round_robin_moves_on_with_every_request"),
    (13, "pitfalls", "p13_the_account_that_worked_is_remembered_and_not_its_provider"),
    (14, "auto", "names_choose_what_they_promise"),
    (15, "pitfalls", "p15_a_weight_that_is_left_out_keeps_its_default"),
    (16, "pitfalls", "p16_every_class_can_be_reached"),
    (17, "pitfalls", "p17_a_factor_that_never_tells_anybody_apart_is_reported"),
    (18, "pitfalls", "p18_many_accounts_of_one_provider_do_not_take_all_of_auto"),
    (19, "whole", "explain_names_every_candidate"),
    (20, "pitfalls", "p20_the_price_of_the_answer_counts"),
    (21, "pitfalls", "p21_the_budget_is_that_of_this_request"),
    (22, "pitfalls", "p22_what_auto_spends_is_booked_under_the_model_that_answered"),
    (23, "growth", "a_plan_allocates_no_more_for_many_than_for_few"),
    (24, "whole", "an_overflow_never_falls_to_a_smaller_window"),
    (25, "times", "whoever_failed_rests_at_the_very_next_request"),
    (26, "many", "tools_go_to_one_and_nobody_left_is_an_error_with_counts"),
    (27, "pitfalls", "p27_settings_of_attempts_hold_on_every_wire_and_for_streams"),
    (28, "pitfalls", "p28_a_conversation_does_not_bounce_between_classes"),
    (29, "pitfalls", "p29_nothing_of_ours_reaches_a_provider_and_nothing_of_the_clients_is_lost"),
    (30, "pitfalls", "p30_a_wrong_configuration_is_no_router"),
    (31, "pitfalls", "p31_auto_never_means_a_combo_and_a_combo_wins_over_a_model_of_its_name"),
    (32, "pitfalls", "p32_a_limit_of_n_lets_exactly_n_run"),
    (33, "pitfalls", "p33_nobody_is_asked_before_the_time_that_he_named"),
    (34, "pitfalls", "p34_who_has_never_succeeded_is_tried_again"),
    // Trials are given as a share of the traffic and kept to it; there are no thresholds.
    (35, "auto", "smart_tries_things_out_within_its_budget"),
    // Names are matched as words and never by likeness: no match is an error.
    (36, "whole", "names_that_mean_nothing_are_errors_with_help"),
    (37, "pitfalls", "p37_an_error_names_why_each_was_dropped"),
    (38, "pitfalls", "p38_the_same_beginning_goes_to_the_same_account_and_keeps_the_clients_key"),
    (39, "whole", "the_target_is_what_the_receipt_says"),
    (40, "whole", "a_page_instead_of_an_answer_moves_on"),
    (41, "pitfalls", "p41_who_comes_back_is_not_flooded"),
    (10, "bridge", "a_blind_target_gets_the_words_of_one_that_sees"),
    (3, "auto", "every_factor_moves_a_decision"),
];

#[test]
fn every_known_fault_has_its_test() {
    let files = [
        ("auto", include_str!("../auto.rs")),
        ("growth", include_str!("../growth.rs")),
        ("precedence", include_str!("../precedence.rs")),
        ("bridge", include_str!("bridge.rs")),
        ("many", include_str!("many.rs")),
        ("pitfalls", include_str!("pitfalls.rs")),
        ("streams", include_str!("streams.rs")),
        ("times", include_str!("times.rs")),
        ("whole", include_str!("whole.rs")),
    ];
    let files: BTreeMap<&str, &str> = files.into_iter().collect();
    let is_there = |file: &str, test: &str| {
        files[file].contains(&format!("\nfn {test}(")) || files[file].contains(&format!("    fn {test}("))
    };
    for (number, file, test) in PLACES {
        assert!(is_there(file, test), "{number}: {file} has no test {test}");
    }
    assert!(!is_there("whole", "a_test_that_is_nowhere"));
    let numbers: std::collections::BTreeSet<u8> = PLACES.iter().map(|(number, ..)| *number).collect();
    assert!(numbers.into_iter().eq(1..=41));
}
