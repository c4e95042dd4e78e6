//! Combos inside combos: their steps take their place, or they decide for themselves.

use omniroute_core::wire;
use omniroute_route::{ComboConfig, Combos, Listed, Role, StepConfig};

use crate::script::*;

fn child(name: &str, strategy: &str, providers: &[&str]) -> ComboConfig {
    let steps = providers.iter().map(|provider| StepConfig::model(&format!("{provider}/m"))).collect();
    ComboConfig::new(name, strategy, steps)
}

/// Accounts `a/1`, `b/1` and so on; combo `daily` has these steps: a name in capitals is a combo.
fn inside(
    strategy: &'static str,
    names: &[(&str, Vec<Step>)],
    children: Vec<ComboConfig>,
    steps: &[&str],
) -> Plan {
    let mut plan = world().strategy(strategy);
    for (name, script) in names {
        plan = plan.with(name, script.clone());
    }
    for child in children {
        plan = plan.builder(|builder| builder.combo(child));
    }
    let step = |name: &&str| match name.chars().all(char::is_uppercase) {
        true => StepConfig::combo(name),
        false => StepConfig::model(&format!("{name}/m")),
    };
    let steps: Vec<StepConfig> = steps.iter().map(step).collect();
    plan.steps(|all| *all = steps)
}

fn four() -> Vec<(&'static str, Vec<Step>)> {
    ["a/1", "b/1", "c/1", "d/1"].map(|name| (name, Vec::new())).into()
}

fn answers(world: &World, count: usize) -> String {
    (0..count).map(|_| world.said(ask(false)).1.answered.unwrap().chars().next().unwrap()).collect()
}

#[test]
fn a_combo_inside_decides_for_itself_if_it_is_told_to() {
    let turns = || vec![child("X", "round-robin", &["a", "b"])];
    let flat = inside("priority", &four(), turns(), &["X", "c"]).build();
    assert_eq!(answers(&flat, 4), "aaaa", "its steps take its place");
    let executed = inside("priority", &four(), turns(), &["X", "c"]).text("nested", "execute").build();
    assert_eq!(answers(&executed, 4), "abab");
    // Both levels take turns, and nobody is left out: turns of the one inside count only when it is its turn.
    let two = vec![child("X", "round-robin", &["a", "b"]), child("Y", "round-robin", &["c", "d"])];
    let both = inside("round-robin", &four(), two, &["X", "Y"]).text("nested", "execute").build();
    assert_eq!(answers(&both, 8), "acbdacbd");
    // Weights of the two levels are drawn apart.
    let two = vec![child("X", "weighted", &["a", "b"]), child("Y", "weighted", &["c", "d"])];
    let drawn = inside("weighted", &four(), two, &["X", "Y"]).text("nested", "execute").build();
    let drawn = answers(&drawn, 200);
    for name in ["a", "b", "c", "d"] {
        let share = drawn.matches(name).count();
        assert!((30..=70).contains(&share), "{name} {share} of 200");
    }
}

#[test]
fn weights_of_the_two_levels_do_not_mix() {
    let mut inner = child("X", "weighted", &["a", "b"]);
    (inner.steps[0].weight, inner.steps[1].weight) = (Some(90.0), Some(10.0));
    let world = inside("weighted", &four(), vec![inner], &["X", "c"]).text("nested", "execute");
    let world = world.steps(|steps| (steps[0].weight, steps[1].weight) = (Some(25.0), Some(75.0))).build();
    let drawn = answers(&world, 400);
    let share = |name| drawn.matches(name).count();
    assert!((270..=330).contains(&share("c")), "{}", share("c"));
    assert!(share("a") > 4 * share("b") && share("b") > 0, "{} {}", share("a"), share("b"));
}

#[test]
fn explaining_takes_no_turn_on_any_level() {
    let world =
        inside("round-robin", &four(), vec![child("X", "strict-random", &["a", "b", "c"])], &["X", "d"]);
    let world = world.text("nested", "execute").build();
    for _ in 0..12 {
        let told = world.router.explain(&ask(false)).unwrap();
        assert_eq!(told.picks, world.router.explain(&ask(false)).unwrap().picks);
        let keys: Vec<String> = told.picks.iter().map(|pick| pick.key.to_string()).collect();
        let receipt = world.said(ask(false)).1;
        let plan: Vec<String> =
            receipt.plan.as_ref().unwrap().picks.iter().map(|pick| pick.key.to_string()).collect();
        assert_eq!((keys.len(), &keys), (4, &plan));
        assert_eq!(receipt.answered.as_deref(), Some(&*keys[0]));
    }
}

#[test]
fn both_levels_share_one_budget() {
    let down = || vec![unavailable(); 9];
    let names = [("a/1", down()), ("b/1", down()), ("c/1", down()), ("d/1", Vec::new())];
    let world = |attempts| {
        inside("priority", &names, vec![child("X", "priority", &["a", "b", "c"])], &["X", "d"])
            .text("nested", "execute")
            .number("max_attempts", attempts)
            .build()
    };
    let (text, receipt) = world(2.0).said(ask(false));
    assert_eq!((tried(&receipt).as_str(), text.as_str()), ("a/1 b/1", "503 upstream_failed"));
    let enough = world(4.0);
    assert_eq!(tried(&enough.said(ask(false)).1), "a/1 b/1 c/1 d/1");
    enough.at_rest();
}

#[test]
fn a_combo_is_one_voice_of_a_panel() {
    let says = |text: &str| vec![Step::Whole(text_reply(wire::OPENAI_CHAT, text))];
    let names = [
        ("a/1", vec![unavailable()]),
        ("b/1", says("from b")),
        ("c/1", says("from c")),
        ("d/1", says("judged")),
    ];
    let world = inside("fusion", &names, vec![child("X", "priority", &["a", "b"])], &["X", "c"])
        .text("judge", "d/m")
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("judged"), "{text}");
    let role = |name: &str| {
        let attempt = receipt.attempts.iter().find(|attempt| attempt.key.starts_with(name)).unwrap();
        (attempt.role, attempt.kind.is_some())
    };
    assert_eq!(role("a/1"), (Role::Member, true));
    assert_eq!(role("b/1"), (Role::Member, false), "who comes next in it speaks for it");
    assert_eq!((role("c/1"), role("d/1")), ((Role::Member, false), (Role::Judge, false)));
    let asked = world.of("d/1").seen.lock().unwrap()[0].body.clone();
    assert!(asked.contains("from b") && asked.contains("from c"), "{asked}");
    world.at_rest();
    let flat = inside("fusion", &four(), vec![child("X", "priority", &["a", "b"])], &["X", "c"]);
    let flat = flat.text("nested", "flatten").build();
    let members = |receipt: omniroute_route::RouteReceipt| {
        receipt.attempts.iter().filter(|attempt| attempt.role == Role::Member).count()
    };
    assert_eq!(members(flat.said(ask(false)).1), 3, "unless its steps are to take its place");
}

#[test]
fn a_combo_is_one_step_of_a_chain() {
    let names = [
        ("a/1", vec![unavailable()]),
        ("b/1", vec![Step::Whole(text_reply(wire::OPENAI_CHAT, "a plan"))]),
        ("c/1", Vec::new()),
    ];
    let world = inside("pipeline", &names, vec![child("X", "priority", &["a", "b"])], &["X", "c"])
        .steps(|steps| steps[0].prompt = Some("Plan it.".to_owned()))
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("c/1"), "{text}");
    assert_eq!(tried(&receipt), "a/1 b/1 c/1");
    assert!(world.of("b/1").seen.lock().unwrap()[0].body.contains("Plan it."));
    assert!(world.of("c/1").seen.lock().unwrap()[0].body.contains("a plan"));
}

#[test]
fn what_makes_no_order_cannot_stand_inside() {
    let load = |nested: Option<&str>, outer: &str, inner: &str| {
        let mut all = ComboConfig::new("all", outer, vec![StepConfig::combo("X")]);
        let text = |text: &str| omniroute_route::OptionValue::Text(text.to_owned());
        nested.map(|nested| all.options.insert("nested".to_owned(), text(nested)));
        let loaded = Combos::load(vec![all, ComboConfig::new("X", inner, Vec::new())], &Listed::new());
        loaded.map(|_| ()).map_err(|errors| errors[0].to_string())
    };
    assert_eq!(load(None, "priority", "fusion"), Ok(()));
    for (nested, outer) in [(Some("execute"), "priority"), (None, "fusion"), (None, "pipeline")] {
        assert_eq!(
            load(nested, outer, "fusion").unwrap_err(),
            "combo.all.step[1].combo is \"X\", a fusion; only a combo that makes an order can stand inside one"
        );
    }
    assert_eq!(
        load(Some("run"), "priority", "random").unwrap_err(),
        "combo.all.nested is \"run\", allowed is one of flatten, execute"
    );
}

#[test]
fn three_levels_and_what_they_learned() {
    let middle = |nested: &str| {
        let mut middle =
            ComboConfig::new("Y", "priority", vec![StepConfig::combo("X"), StepConfig::model("c/m")]);
        middle.options.insert("nested".to_owned(), omniroute_route::OptionValue::Text(nested.to_owned()));
        middle
    };
    let mut learns = child("X", "auto", &["a", "b"]);
    learns.options.insert("router".to_owned(), omniroute_route::OptionValue::Text("adaptive".to_owned()));
    for (inner, expected) in [(child("X", "round-robin", &["a", "b"]), "abab"), (learns, "aaaa")] {
        let adaptive = inner.strategy == "auto";
        let world = inside("priority", &four(), vec![inner, middle("execute")], &["Y", "d"]);
        let world = world.text("nested", "execute").build();
        assert_eq!(answers(&world, 4), expected);
        let (_, receipt) = world.said(ask(false));
        assert!(world.router.feedback(&receipt.request, 0.0, 1.0));
        let saved = world.router.save();
        assert_eq!(saved.len(), usize::from(adaptive));
        assert!(world.router.load(&saved).is_empty());
    }
}
