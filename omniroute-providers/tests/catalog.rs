//! Lookup in the catalogue that is compiled in.

use omniroute_core::{Capability, Cost, ModelFacts, Usage, Usd};
use omniroute_providers::{Catalog, ModelFile, ProviderFile, ResolveError, Status, WireId};

const PROVIDERS: &str = include_str!("../catalog/providers.json");
const MODELS: &str = include_str!("../catalog/models.json");

/// The packed form holds exactly what the files say, in their order.
#[test]
fn packed_rows_are_the_rows_of_the_files() {
    let catalog = Catalog::embedded();
    let providers = ProviderFile::read(PROVIDERS).expect("file");
    let models = ModelFile::read(MODELS).expect("file");
    assert!(providers.rows.len() >= 379 && models.rows.len() >= 3628);
    assert!(catalog.providers().eq(providers.rows.iter().cloned()));
    assert!(catalog.models().eq(models.rows.iter().cloned()));
    assert!(
        catalog.aliases().map(|(name, row)| (name.to_owned(), row.full_name())).eq(models.aliases.clone())
    );
    assert_eq!(catalog.as_of(), models.meta.as_of);

    // Broken twin: one changed fact is seen, and changes the version.
    let mut changed = models.rows.clone();
    changed[7].context_window = Some(1);
    assert!(!catalog.models().eq(changed.iter().cloned()));
    let (twin, _) = catalog.with_rows(Vec::new(), changed);
    assert_ne!(twin.version(), catalog.version());
    let (same, left_out) = catalog.with_rows(Vec::new(), Vec::new());
    assert_eq!((same.version(), left_out.len()), (catalog.version(), 0));
}

#[test]
fn providers_by_id_and_alias() {
    let catalog = Catalog::embedded();
    for row in catalog.providers() {
        assert_eq!(catalog.provider(&row.id).map(|found| found.id), Some(row.id.clone()));
        for alias in &row.aliases {
            assert_eq!(catalog.provider(alias).map(|found| found.id), Some(row.id.clone()), "{alias}");
        }
    }
    assert_eq!(catalog.provider("cohere").map(|row| row.wire), Some(WireId::Cohere));
    for none in ["", "nobody", "OpenAI", "openai "] {
        assert!(catalog.provider(none).is_none(), "{none:?}");
    }
}

#[test]
fn models_by_every_name() {
    let catalog = Catalog::embedded();
    for row in catalog.models() {
        let found = catalog.resolve(&row.full_name(), &[]).expect("row");
        assert_eq!(
            (found.provider.id.as_ref(), found.model.as_ref()),
            (row.provider.as_ref(), row.id.as_ref())
        );
        for alias in &row.aliases {
            assert_eq!(
                catalog.model(&row.provider, alias).map(|found| found.id),
                Some(row.id.clone()),
                "{alias}"
            );
        }
    }
    assert_eq!(
        catalog.models_of("anthropic").count(),
        catalog.models().filter(|m| m.provider == "anthropic").count()
    );
    assert_eq!(catalog.models_of("nobody").count(), 0);
    let by_alias = catalog.resolve("grok-4-6", &[]).expect("alias of the catalogue");
    assert_eq!((by_alias.provider.id.as_ref(), by_alias.model.as_ref()), ("xai", "grok-4.6"));
    for dropped in ["claude-haiku-3-5", "claude-opus-4", "claude-sonnet-4", "inkling"] {
        assert!(catalog.aliases().all(|(name, _)| name != dropped), "{dropped}");
    }
}

#[test]
fn bare_names_mean_the_first_configured_provider() {
    let catalog = Catalog::embedded();
    let serving: Vec<String> = catalog.serving("gpt-5.4").map(|row| row.provider.to_string()).collect();
    assert!(serving.len() > 2 && serving.iter().any(|id| id == "openai"), "{serving:?}");
    let whose = |configured: &[&str]| {
        catalog.resolve("gpt-5.4", configured).map(|found| found.provider.id.to_string())
    };
    assert_eq!(whose(&["groq", "openai", "azure-openai"]).as_deref(), Ok("openai"));
    assert_eq!(whose(&["azure-openai", "openai"]).as_deref(), Ok("azure-openai"));
    for configured in [&[][..], &["groq"], &["nobody"]] {
        let Err(error) = whose(configured) else { panic!("must be ambiguous") };
        assert_eq!(error.code(), "model_ambiguous");
        let ResolveError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
        let wanted: Vec<String> = serving.iter().map(|id| format!("{id}/gpt-5.4")).collect();
        assert_eq!(candidates, &wanted);
    }
    // Only one serves it: no need to say who.
    let sole =
        catalog.models().find(|row| row.status != Status::Removed && catalog.serving(&row.id).count() == 1);
    let sole = sole.expect("a model of one provider");
    assert_eq!(
        catalog.resolve(&sole.id, &[]).map(|found| found.provider.id.to_string()),
        Ok(sole.provider.to_string())
    );
}

#[test]
fn unlisted_names() {
    let catalog = Catalog::embedded();
    // Providers that take any name get it, with slashes.
    let passed = catalog.resolve("openrouter/acme/new-model", &[]).expect("passed on");
    assert_eq!(
        (passed.provider.id.as_ref(), passed.model.as_ref(), passed.row),
        ("openrouter", "acme/new-model", None)
    );
    let error = catalog.resolve("anthropic/claude-sonet-4-5", &[]).expect_err("mistyped");
    assert_eq!(error.code(), "model_not_found");
    assert!(error.to_string().contains("did you mean anthropic/claude-sonnet-4-5"), "{error}");
    let error = catalog.resolve("antropic/claude-sonnet-4-5", &[]).expect_err("mistyped");
    assert!(error.to_string().contains("did you mean anthropic/claude-sonnet-4-5"), "{error}");
    let error = catalog.resolve("claude-sonet-4-5", &[]).expect_err("mistyped");
    assert!(error.to_string().contains("claude-sonnet-4-5"), "{error}");
    for name in ["", "/", "openai/", "\u{0}", "é".repeat(10_000).as_str()] {
        assert_eq!(catalog.resolve(name, &["openai"]).map_err(|error| error.code()), Err("model_not_found"));
    }
}

#[test]
fn facts_follow_spelling_within_one_provider() {
    let catalog = Catalog::embedded();
    let id = |provider: &str, model: &str| catalog.facts_of(provider, model).map(|row| row.id.to_string());
    let cases = [
        ("anthropic", "claude-sonnet-4-5", Some("claude-sonnet-4-5")),
        ("anthropic", "claude-sonnet-4.5", Some("claude-sonnet-4-5")),
        ("anthropic", "anthropic/claude-sonnet-4-5", Some("claude-sonnet-4-5")),
        ("anthropic", "claude-opus-4-8-20990101", Some("claude-opus-4-8")),
        ("openai", "gpt-5.5-2099-01-01", Some("gpt-5.5")),
        ("openai", "gpt-5.5-xhigh", Some("gpt-5.5")),
        ("openai", "gpt-5.5-2099-01-01-high", Some("gpt-5.5")),
        ("openai", "claude-sonnet-4-5", None),
        ("openai", "gpt", None),
        ("nobody", "gpt-5.5", None),
    ];
    for (provider, model, row) in cases {
        assert_eq!(id(provider, model).as_deref(), row, "{provider} {model}");
    }
}

#[test]
fn facts_for_the_router() {
    let catalog = Catalog::embedded();
    let facts: &dyn ModelFacts = &catalog;
    let fact = facts.lookup("anthropic", "claude-sonnet-4-5").expect("row");
    assert_eq!(
        (fact.input_price, fact.output_price, fact.cache_read_price),
        (Some(3_000_000), Some(15_000_000), Some(300_000))
    );
    assert_eq!(fact.capabilities.get(Capability::Tools), Some(true));
    assert_eq!(fact.capabilities.get(Capability::VideoInput), Some(false));
    assert_eq!(fact.capabilities.get(Capability::AudioOutput), None);
    assert!(facts.lookup("anthropic", "no-such-model").is_none());
    assert!(facts.version().starts_with(catalog.as_of()));

    let usage = Usage { input: 1_000, output: 1_000, ..Usage::default() };
    let known = facts.cost("anthropic", "claude-sonnet-4-5", &usage);
    assert_eq!(known, Cost::Known(Usd::from_pico(18_000_000_000)));
    assert_eq!(facts.cost("anthropic", "no-such-model", &usage), Cost::Unknown);
    let reported = Usage { reported: Some(Usd::from_pico(7)), ..usage };
    assert_eq!(facts.cost("anthropic", "claude-sonnet-4-5", &reported), Cost::Known(Usd::from_pico(7)));
    assert!(matches!(facts.cost("github", "gpt-5.5", &usage), Cost::Flat { estimate: Some(_) }));
    // Nobody is free because nobody knows the price.
    for row in catalog.models().filter(|row| row.price.is_none() && !row.is_free()) {
        let cost = facts.cost(&row.provider, &row.id, &usage);
        assert!(
            matches!(cost, Cost::Unknown | Cost::Flat { estimate: None }),
            "{} {cost:?}",
            row.full_name()
        );
    }
}

#[test]
fn own_rows_and_newer_files() {
    let catalog = Catalog::embedded();
    let providers = r#"{"meta":{},"providers":[
        {"id":"local","base_url":"http://127.0.0.1:8080/v1","wire":"openai-chat","auth":{"kind":"none"},"implement":"yes","class":"local"},
        {"id":"odd","wire":"telepathy"}]}"#;
    let models = r#"{"meta":{"as_of":"2027-01-01"},"aliases":{"fast":"local/qwen3-8b","lost":"local/none"},"models":[
        {"id":"qwen3-8b","provider":"local","context_window":32768},
        {"id":"claude-sonnet-4-5","provider":"anthropic","price":{"in":1,"out":2}},
        {"id":"stray","provider":"nobody"}]}"#;
    let (newer, skipped) = catalog.with_files(Some(providers), Some(models)).expect("files");
    assert_eq!(newer.as_of(), "2027-01-01");
    assert_eq!(newer.resolve("fast", &[]).map(|found| found.model.to_string()), Ok("qwen3-8b".to_owned()));
    assert_eq!(newer.prices("anthropic", "claude-sonnet-4-5").and_then(|prices| prices.input), Some(1));
    assert_eq!(newer.prices("openai", "gpt-5.5"), catalog.prices("openai", "gpt-5.5"));
    let told: Vec<String> = skipped.into_iter().map(|row| format!("{}: {}", row.row, row.reason)).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("odd: \"telepathy\" is not known as WireId"), "{told:?}");
    assert!(catalog.with_files(Some("[]"), None).is_err());
}
