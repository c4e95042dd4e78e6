//! From names to candidates: references, weights, wildcards, accounts, and who takes part in `auto`.

use omniroute_core::route::{Billing, OfferTier, Pool};
use omniroute_core::{Capability, ModelFact};
use omniroute_route::{
    ComboConfig, Combos, Connection, Directory, Listed, Route, StepConfig, auto_name, auto_pool, combo_pool,
    model_pool, resolve,
};

fn model(window: u64, price: u64, can: &[Capability]) -> ModelFact {
    let mut fact = ModelFact::default();
    fact.context_window = Some(window);
    fact.input_price = Some(price);
    for capability in [Capability::ImageInput, Capability::Reasoning, Capability::Tools] {
        fact.capabilities.set(capability, Some(can.contains(&capability)));
    }
    fact
}

fn directory() -> Listed {
    let mut paid = Connection::new("acme", "team");
    paid.billing = Billing::Subscription;
    let mut keyless = Connection::new("freebie", "anonymous");
    keyless.only_named = true;
    Listed::new()
        .connection(Connection::new("acme", "key"))
        .connection(paid)
        .connection(Connection::new("other", "key"))
        .connection(keyless)
        .model("acme", "large", model(200_000, 3_000_000, &[Capability::Reasoning, Capability::Tools]))
        .model("acme", "small", model(8_000, 200_000, &[Capability::Tools]))
        .model("other", "eye", model(64_000, 2_000_000, &[Capability::ImageInput, Capability::Tools]))
        .model("other", "gratis-llama", model(64_000, 0, &[]))
        .model("freebie", "anything", model(64_000, 0, &[]))
}

fn combo(name: &str, steps: Vec<StepConfig>) -> ComboConfig {
    ComboConfig { name: name.to_owned(), strategy: "weighted".to_owned(), steps, ..ComboConfig::default() }
}

fn keys(pool: &Pool) -> Vec<&str> {
    (0..pool.len()).map(|index| &**pool.key(index)).collect()
}

#[test]
fn weights_of_references_multiply() {
    let weighted = |model: &str, weight| StepConfig { weight: Some(weight), ..StepConfig::model(model) };
    let inner = combo("inner", vec![weighted("acme/large", 2.0), weighted("acme/small", 1.0)]);
    let outer = combo(
        "outer",
        vec![weighted("other/eye", 70.0), StepConfig { weight: Some(30.0), ..StepConfig::combo("inner") }],
    );
    let directory = directory();
    let combos = Combos::load(vec![inner, outer], &directory).expect("both are fine");
    let pool = combo_pool(1, combos.get("outer").expect("it is there"), &combos, &directory);
    assert_eq!(
        keys(&pool),
        ["other/key/eye", "acme/key/large", "acme/team/large", "acme/key/small", "acme/team/small"]
    );
    let weights: Vec<f32> = pool.entries().iter().map(|entry| entry.weight).collect();
    assert_eq!(weights, [70.0, 20.0, 20.0, 10.0, 10.0]);
    let steps: Vec<u32> = pool.entries().iter().map(|entry| entry.step).collect();
    assert_eq!(steps, [0, 1, 1, 2, 2], "accounts of one model are one step");
}

#[test]
fn wildcards_and_accounts() {
    let mut step = StepConfig::model("acme/*");
    step.accounts = Some(vec!["team".to_owned()]);
    let directory = directory();
    let combos = Combos::load(vec![combo("all", vec![step])], &directory).expect("it is fine");
    let pool = combo_pool(1, combos.get("all").expect("it is there"), &combos, &directory);
    assert_eq!(keys(&pool), ["acme/team/large", "acme/team/small"]);
    assert_eq!(
        keys(&model_pool(1, "acme", "unlisted", &directory)),
        ["acme/key/unlisted", "acme/team/unlisted"]
    );
}

#[test]
fn a_judge_is_a_step_of_its_own() {
    let mut panel = combo("panel", vec![StepConfig::model("acme/small"), StepConfig::model("other/eye")]);
    panel.strategy = "fusion".to_owned();
    panel.options.insert("judge".to_owned(), omniroute_route::OptionValue::Text("acme/large".to_owned()));
    let directory = directory();
    let combos = Combos::load(vec![panel], &directory).expect("it is fine");
    let pool = combo_pool(1, combos.get("panel").expect("it is there"), &combos, &directory);
    let judges: Vec<bool> = pool.steps().iter().map(|step| step.judge).collect();
    assert_eq!(judges, [false, false, true]);
}

#[test]
fn who_takes_part_in_auto() {
    let directory = directory();
    let pool = |name: &str| {
        let name = auto_name(name).expect("an auto name").expect("a known one");
        let (pool, left_out) = auto_pool(1, &name, &directory);
        (keys(&pool).join(" "), left_out)
    };
    let all =
        "acme/key/large acme/team/large acme/key/small acme/team/small other/key/eye other/key/gratis-llama";
    assert_eq!(pool("auto"), (all.to_owned(), 0), "never what takes part only when named");
    assert_eq!(pool("auto/vision"), ("other/key/eye".to_owned(), 5));
    assert_eq!(pool("auto/reasoning"), ("acme/key/large acme/team/large".to_owned(), 4));
    assert_eq!(pool("auto/coding:free"), ("other/key/gratis-llama".to_owned(), 5));
    assert_eq!(pool("auto/coding:pro"), ("acme/key/large acme/team/large other/key/eye".to_owned(), 3));
    assert_eq!(pool("auto/llama"), ("other/key/gratis-llama".to_owned(), 5));
    assert_eq!(pool("auto/zai"), (String::new(), 6), "a filter that nobody passes is not ignored");
}

#[test]
fn names_lead_to_candidates() {
    let directory = directory();
    let combos =
        Combos::load(vec![combo("daily", vec![StepConfig::model("large")])], &directory).expect("it is fine");
    let Route::Combo(name) = resolve("daily", &combos, &[], &directory).expect("a combo").route else {
        panic!("a combo")
    };
    let pool = combo_pool(1, combos.get(&name).expect("it is there"), &combos, &directory);
    assert_eq!(keys(&pool), ["acme/key/large", "acme/team/large"]);
    assert_eq!(pool.entries()[0].tier, Some(OfferTier::Premium));
    assert!(pool.entries()[0].fitness.is_some());
    assert_eq!(directory.providers().len(), 3);
}
