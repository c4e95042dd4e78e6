//! Settings of combos: what each changes, and what is wrong or odd about them.

use omniroute_core::{FailureKind as K, Scope};
use omniroute_route::{ComboConfig, Combos, Listed, OptionValue};

use crate::script::*;

#[test]
fn which_failure_the_caller_hears_is_the_combos_business() {
    for (mode, expected) in [("last", 503), ("first", 401), ("aggregated", 429)] {
        let world = world()
            .with("a/1", vec![Step::Fail(http(K::Unauthorized, Scope::Connection, 401))])
            .with("b/1", vec![Step::Fail(http(K::RateLimited, Scope::Connection, 429))])
            .with("c/1", vec![unavailable()])
            .text("error_mode", mode)
            .build();
        assert_eq!(world.chat(ask(false)).unwrap_err().status, expected, "{mode}");
    }
}

/// Each setting of attempts, by what it changes.
#[test]
fn every_setting_of_attempts_acts() {
    let empty = r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#;
    let filtered = || Step::Fail(http(K::Filtered, Scope::Request, 400));
    let run = |first: Step, set: &dyn Fn(Plan) -> Plan| {
        let world = set(world().with("a/1", vec![first]).with("b/1", vec![])).build();
        let (text, receipt) = world.said(ask(false));
        (text, tried(&receipt), receipt)
    };
    let order = |first: Step, set: &dyn Fn(Plan) -> Plan| run(first, set).1;
    let same = |plan: Plan| plan;
    assert_eq!(order(unavailable(), &same), "a/1 b/1");
    assert_eq!(order(unavailable(), &|plan| plan.number("max_attempts", 1.0)), "a/1");
    assert_eq!(order(Step::Whole(empty.to_owned()), &same), "a/1 a/1");
    let never = |plan: Plan| plan.number("same_target_retries", 0.0);
    assert_eq!(order(Step::Whole(empty.to_owned()), &never), "a/1 b/1");
    assert_eq!(order(filtered(), &same), "a/1");
    assert_eq!(order(filtered(), &|plan| plan.text("on_filter", "next")), "a/1 b/1");
    let (_, _, receipt) = run(unavailable(), &|plan| plan.number("fallback_delay", 2.0));
    assert!((2_000..2_050).contains(&receipt.attempts[1].started_ms), "{receipt:?}");
    let limited = || Step::Fail(http(K::RateLimited, Scope::Connection, 429));
    for (passes, answered) in [(0.0, false), (1.0, true)] {
        let plan = world().with("a/1", vec![limited()]).number("set_retries", passes);
        let (text, receipt) = plan.build().said(ask(false));
        assert_eq!(receipt.answered.is_some(), answered, "{text}");
    }
}

#[test]
fn a_time_in_which_nobody_can_be_tried_is_no_setting() {
    for (deadline, expected) in
        [(0.0, None), (2.0, None), (0.5, Some("combo.x.deadline is 0.5, allowed is 0, or 2 to 86400"))]
    {
        let mut combo = ComboConfig::new("x", "priority", Vec::new());
        combo.options.insert("deadline".to_owned(), OptionValue::Number(deadline));
        let error = Combos::load(vec![combo], &Listed::new()).err();
        assert_eq!(error.map(|errors| errors[0].to_string()).as_deref(), expected);
    }
}

#[test]
fn what_is_odd_about_combos_is_told() {
    let world =
        world().with("a/1", vec![]).steps(|steps| steps[0].accounts = Some(vec!["1".into(), "7".into()]));
    let world = world.build();
    assert_eq!(
        world.router.warnings(),
        ["combo.daily.step[1].accounts has \"7\", which a has not; it is ignored"]
    );
}
