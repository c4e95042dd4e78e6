//! Odd names, odd configurations and odd numbers: an answer or an error that says what is wrong, never a panic.

use omniroute_core::{ChatRequest, wire};
use omniroute_route::{ComboConfig, OptionValue, RouterBuilder, StepConfig};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::script::*;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::default()
    }
}

/// Names that look like something, and names that do not.
fn names() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("auto".to_owned()),
        Just("smart".to_owned()),
        Just("coding".to_owned()),
        Just("a".to_owned()),
        Just("m".to_owned()),
        Just("*".to_owned()),
        "[a-zA-Z0-9._-]{0,12}",
        "\\PC{0,6}",
    ];
    (prop::collection::vec(part, 0..5), prop::sample::select(vec!["/", ":", "//", " ", "@"]))
        .prop_map(|(parts, between)| parts.join(between))
}

fn values() -> impl Strategy<Value = OptionValue> {
    let one = prop_oneof![
        any::<f64>().prop_map(OptionValue::Number),
        prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300]).prop_map(OptionValue::Number),
        names().prop_map(OptionValue::Text),
        any::<bool>().prop_map(OptionValue::Flag),
    ];
    one.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(OptionValue::List))
}

fn loads(configs: Vec<ComboConfig>) -> Result<(), String> {
    let add = |builder: RouterBuilder| configs.into_iter().fold(builder, RouterBuilder::combo);
    let built = world().with("a/1", vec![]).with("b/1", vec![]).builder(add).try_build();
    match built {
        Ok(_) => Ok(()),
        Err(error) if error.0.is_empty() => Err("an error without a reason".to_owned()),
        Err(error) => match error.0.iter().find(|error| error.message.is_empty() || error.path.is_empty()) {
            Some(error) => Err(format!("an error that names nothing: {error:?}")),
            None => Ok(()),
        },
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_name_is_resolved_or_refused(name in names(), max in any::<Option<i64>>()) {
        let world = world().with("a/1", vec![]).with("b/1", vec![]).build();
        let mut body = serde_json::json!({"model": name, "messages": [{"role": "user", "content": "x"}]});
        if let Some(max) = max {
            body["max_tokens"] = max.into();
        }
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body.to_string()).unwrap();
        if let Err(error) = world.router.explain(&request) {
            prop_assert!((400..600).contains(&error.status) && !error.message.is_empty(), "{error:?}");
        }
    }

    #[test]
    fn any_combo_loads_or_says_why(
        name in names(),
        strategy in prop_oneof![Just("priority".to_owned()), Just("auto".to_owned()), Just("fusion".to_owned()), names()],
        steps in prop::collection::vec((names(), any::<Option<f64>>(), any::<bool>()), 0..4),
        options in prop::collection::btree_map(
            prop_oneof![
                prop::sample::select(vec!["max_attempts", "deadline", "nested", "judge", "image", "describer", "weights"]).prop_map(str::to_owned),
                names(),
            ],
            values(),
            0..4,
        ),
    ) {
        let steps = steps.into_iter().map(|(name, weight, combo)| {
            let mut step = if combo { StepConfig::combo(&name) } else { StepConfig::model(&name) };
            step.weight = weight;
            step
        });
        let mut combo = ComboConfig::new(&name, &strategy, steps.collect());
        combo.options = options;
        prop_assert_eq!(loads(vec![combo]), Ok(()));
    }
}

#[test]
fn none_and_ten_thousand_candidates() {
    let empty = world().with("a/1", vec![]).steps(Vec::clear).try_build();
    match empty {
        Ok(world) => assert!(world.chat(ask(false)).is_err()),
        Err(error) => assert!(!error.0.is_empty()),
    }
    let add = |builder: RouterBuilder| {
        (0..10_000).fold(builder, |builder, n| builder.model("a", &format!("x{n}"), model(100_000)))
    };
    let world = world().with("a/1", vec![]).builder(add).build();
    let told = world.router.explain(&ask_for("auto", false)).unwrap();
    assert!(told.picks.len() > 9_000, "{}", told.picks.len());
    assert!(world.said(ask_for("auto", false)).0.contains("a/1"));
}
