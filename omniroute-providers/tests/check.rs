//! The rules of the catalogue hold, and each is broken by its twin.

use omniroute_providers::{Catalog, Credential, KeyOrigin, Rule, Secret, Settings, check_files, prepare};

const PROVIDERS: &str = include_str!("../catalog/providers.json");
const MODELS: &str = include_str!("../catalog/models.json");

/// Rules that are broken once `right` is replaced by `wrong` in one of the files.
fn broken(right: &str, wrong: &str) -> Vec<Rule> {
    let providers = PROVIDERS.replacen(right, wrong, 1);
    let models = if providers == PROVIDERS { MODELS.replacen(right, wrong, 1) } else { MODELS.to_owned() };
    assert!(providers != PROVIDERS || models != MODELS, "{right} is in no file");
    let mut rules: Vec<Rule> =
        check_files(&providers, &models).expect("files").into_iter().map(|finding| finding.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn every_rule_holds() {
    let found = check_files(PROVIDERS, MODELS).expect("files");
    assert!(found.is_empty(), "{}", found.iter().map(|finding| format!("{finding}\n")).collect::<String>());
}

#[test]
fn every_rule_is_broken_by_its_twin() {
    let twins = [
        (
            Rule::Readable,
            r#""id":"groq","aliases":[],"name":"Groq","category":"api-key""#,
            r#""id":"groq","aliases":[],"name":"Groq","category":"psychic""#,
        ),
        (
            Rule::Sorted,
            r#"{"id":"claude-opus-5","provider":"anthropic""#,
            r#"{"id":"claude-opus-4-8","provider":"anthropic""#,
        ),
        (Rule::Id, r#"{"id":"zylo-api","#, r#"{"id":"zylo_api","#),
        (Rule::Alias, r#"{"id":"9router","aliases":["nr"]"#, r#"{"id":"9router","aliases":["openai"]"#),
        (Rule::Alias, r#""aliases":["claude-haiku-4.5"]"#, r#""aliases":["claude-opus-4.5"]"#),
        (Rule::AliasGoal, r#""grok-4-6":"xai/grok-4.6""#, r#""grok-4-6":"xai/grok-4-6""#),
        (Rule::Address, r#""base_url":"https://api.x.ai/v1""#, r#""base_url":"http://api.x.ai/v1""#),
        (
            Rule::Address,
            r#""base_url":"http://localhost:11434/v1""#,
            r#""base_url":"http://10.0.0.7:11434/v1""#,
        ),
        (
            Rule::Address,
            r#""base_url":"https://api.deepseek.com/anthropic/v1""#,
            r#""base_url":"https://me@api.deepseek.com/anthropic/v1""#,
        ),
        (
            Rule::Key,
            r#""auth":{"kind":"header","header":"x-api-key","extra""#,
            r#""auth":{"kind":"header","extra""#,
        ),
        (Rule::Variable, r#""env":["GROQ_API_KEY"]"#, r#""env":["groq_api_key"]"#),
        (
            Rule::Policy,
            r#""status":"active","implement":"catalog-only""#,
            r#""status":"active","implement":"later""#,
        ),
        (
            Rule::Wire,
            r#""alt":[{"wire":"openai-chat","auth":{"kind":"bearer"}}]"#,
            r#""alt":[{"wire":"native"}]"#,
        ),
        (
            Rule::Provider,
            r#""provider":"zenmux-free","name":"Agnes 1.5 Lite""#,
            r#""provider":"zenmux-fre","name":"Agnes 1.5 Lite""#,
        ),
        (
            Rule::ModelWire,
            r#"{"id":"claude-opus-4-8","provider":"agentrouter","#,
            r#"{"id":"claude-opus-4-8","provider":"agentrouter","wire":"gemini","#,
        ),
        (
            Rule::Window,
            r#""provider":"agentrouter","name":"Claude Opus 4.8","context_window":1000000"#,
            r#""provider":"agentrouter","name":"Claude Opus 4.8","context_window":100"#,
        ),
        (
            Rule::Price,
            r#""price":{"in":3000000,"out":15000000,"cr":300000"#,
            r#""price":{"in":3000000,"out":15000000,"cr":3000001"#,
        ),
        (
            Rule::Price,
            r#""price":{"in":3000000,"out":15000000,"cr":300000"#,
            r#""price":{"in":3000000,"out":0,"cr":300000"#,
        ),
        (
            Rule::Price,
            r#""price":{"in":3000000,"out":15000000,"cr":300000"#,
            r#""price":{"in":3000000,"out":1500000000000,"cr":300000"#,
        ),
        (Rule::Price, r#""over":[{"tokens":272000"#, r#""over":[{"tokens":0"#),
        (Rule::Date, r#""deprecated_on":"2027-03-30""#, r#""deprecated_on":"2027-02-30""#),
        (Rule::Renamed, r#""renamed_to":"magnific""#, r#""renamed_to":"magnificent""#),
    ];
    for (rule, right, wrong) in twins {
        assert!(
            broken(right, wrong).contains(&rule),
            "{rule:?} does not see {wrong}: {:?}",
            broken(right, wrong)
        );
    }
    let tested: Vec<Rule> = twins.iter().map(|(rule, _, _)| *rule).collect();
    for rule in Rule::ALL {
        assert!(tested.contains(rule), "{rule:?} has no twin");
    }
}

/// A plain provider is one line, put where it belongs: nothing else has to be told.
#[test]
fn a_plain_provider_is_one_line() {
    let line = r#"{"id":"example-host","name":"Example Host","wire":"openai-chat","base_url":"https://api.example.com/v1","auth":{"kind":"bearer"},"env":["EXAMPLE_HOST_API_KEY"],"kinds":["chat"]},"#;
    let next = r#"{"id":"factory","#;
    let longer = PROVIDERS.replacen(next, &format!("{line}\n{next}"), 1);
    assert_eq!(longer.lines().count(), PROVIDERS.lines().count() + 1);
    let found = check_files(&longer, MODELS).expect("files");
    assert!(found.is_empty(), "{found:?}");

    let (catalog, skipped) = Catalog::embedded().with_files(Some(&longer), None).expect("files");
    assert!(skipped.is_empty());
    let row = catalog.provider("example-host").expect("row");
    let key = Secret::new("KEY");
    let credential = Credential::Key { secret: &key, origin: KeyOrigin::RowVariable };
    let request = prepare(&row, &Settings { model: "m-1", credential, ..Settings::default() }, "{}");
    assert_eq!(request.expect("request").uri(), "https://api.example.com/v1/chat/completions");
}
