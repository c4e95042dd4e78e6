//! The configuration reader: what it takes, and that it reports every mistake with its place.

use omniroute::{Compressor, Config, Options};

const FULL: &str = r#"
[compression]
enabled = true
plan = "tables"
strict = false
max_body_bytes = 1_000_000
count = "estimate"

[compression.memo]
entries = 100
bytes = 0x10000
ttl_s = 60

[compression.engines.session-dedup]
min_lines = 4

[[compression.combos]]
name = "tables"
steps = ["rows", { engine = "session-dedup", config = { min_lines = 3 } }, "rtk:minimal"]

[[compression.combos]]
name = "Prose"
steps = ["caveman:full"]
languages = ["de", "en"]
gates = { min_gain = 5, min_bytes = 200 }
rewrite = "never"
output_style = "less-code"
"#;

#[test]
fn a_full_configuration_is_read_and_used() {
    let config = Config::from_toml(FULL).unwrap();
    assert_eq!(config.plan(), "tables");
    let compressor = Compressor::new(config).unwrap();
    let out = compressor.compress_body(r#"{"messages":[]}"#, &Options::default()).unwrap();
    assert_eq!(out.receipt.plan, "tables");
    let steps: Vec<&str> = out.receipt.steps.iter().map(|step| step.engine.as_str()).collect();
    assert_eq!(steps, ["rows", "session-dedup", "rtk"]);
    let prose = Options { plan: Some("prose"), ..Options::default() };
    let out = compressor.compress_body(r#"{"messages":[{"role":"user","content":"hi"}]}"#, &prose).unwrap();
    assert_eq!(out.receipt.plan, "prose");
    assert!(String::from_utf8_lossy(&out.body).contains("[OmniRoute Output Styles]"));
}

#[test]
fn json_says_the_same_as_toml() {
    let toml = Config::from_toml("[compression]\nplan = \"lite\"\nstrict = true\n").unwrap();
    for json in
        [r#"{"compression": {"plan": "lite", "strict": true}}"#, r#"{"mode": "lite", "strict": true}"#]
    {
        assert_eq!(Config::from_json(json).unwrap(), toml, "{json}");
    }
    assert_eq!(Config::from_json("{}").unwrap(), Config::default());
    assert_eq!(Config::from_toml("").unwrap(), Config::default());
}

/// One text with every kind of mistake: each is reported, with its place, in one go.
#[test]
fn every_mistake_is_reported_with_its_place() {
    let text = "[compresion]\n\
        [compression]\n\
        enabled = \"yes\"\n\
        plan = \"saef\"\n\
        mode = \"safe\"\n\
        strikt = true\n\
        max_body_bytes = 0\n\
        count = \"guess\"\n\
        memo = { entries = 1.5, ttl = 3 }\n\
        [compression.engines.rowz]\n\
        [compression.engines.session-dedup]\n\
        min_lines = 0\n\
        max_lines = 3\n\
        [[compression.combos]]\n\
        steps = [\"rows\", \"rows\", \"ionizr\", \"lite:x\", 3]\n\
        [[compression.combos]]\n\
        name = \"safe\"\n\
        steps = \"rows\"\n";
    let errors = Config::from_toml(text).unwrap_err();
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = [
        "line 1, column 2: compresion: this key is not known; did you mean \"compression\"?",
        "line 3, column 11: compression.enabled: \"yes\" is not true or false",
        "line 4, column 8: compression.plan: \"saef\" is not a plan, an engine or a combo; did you mean \"safe\"?",
        "line 5, column 1: compression.mode: \"plan\" says the same; keep one",
        "line 6, column 1: compression.strikt: this key is not known; did you mean \"strict\"?",
        "line 7, column 18: compression.max_body_bytes: 0 is not a whole number from 1 to 4294967295",
        "line 8, column 9: compression.count: \"guess\" is not one of \"estimate\", \"exact\"",
        "line 9, column 20: compression.memo.entries: 1.5 is not a whole number from 0 to 16777216",
        "line 9, column 25: compression.memo.ttl: this key is not known; did you mean \"ttl_s\"?",
        "line 10, column 22: compression.engines.rowz: there is no such engine; did you mean \"rows\"?",
        "line 12, column 13: compression.engines.session-dedup.min_lines: 0 is not a whole number from 3 to 100000",
        "line 13, column 1: compression.engines.session-dedup.max_lines: this key is not known; did you mean \"min_lines\"?",
        "line 14, column 1: compression.combos[0]: a combo needs a \"name\"",
        "line 15, column 18: compression.combos[0].steps[1]: engine \"rows\" is named twice",
        "line 15, column 26: compression.combos[0].steps[2]: engine \"ionizr\" is not known; did you mean \"ionizer\"?",
        "line 15, column 36: compression.combos[0].steps[3]: engine \"lite\" has no levels",
        "line 15, column 46: compression.combos[0].steps[4]: 3 is not an engine or a table with \"engine\"",
        "line 17, column 8: compression.combos[1].name: \"safe\" is not a new name: a plan or an engine has it",
        "line 18, column 9: compression.combos[1].steps: \"rows\" is not a list of engines",
    ];
    assert_eq!(found, expected);
}

#[test]
fn mistakes_in_combos_and_patterns_have_places_too() {
    let text = "[compression]\n\
        plan = \"second\"\n\
        preserve_patterns = [\"ok\", \"(\", 3, \"x*\"]\n\
        [[compression.combos]]\n\
        name = \"first\"\n\
        steps = [\"caveman\"]\n\
        languages = [\"en\", \"ed\", 1]\n\
        gates = { min_gain = 91, min_byte = 3 }\n\
        rewrite = \"sometimes\"\n\
        output_style = \"tersest\"\n\
        [[compression.combos]]\n\
        name = \"second\"\n\
        steps = [\"rows\"]\n\
        languages = [\"en\"]\n\
        [[compression.combos]]\n\
        name = \"FIRST\"\n\
        [[compression.combos]]\n\
        name = \"a,b\"\n\
        [[compression.combos]]\n\
        name = \"classic\"\n";
    let errors = Config::from_toml(text).unwrap_err();
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = [
        "line 3, column 28: compression.preserve_patterns[1]: \"(\" is no pattern: unclosed group",
        "line 3, column 33: compression.preserve_patterns[2]: 3 is not a string",
        "line 3, column 36: compression.preserve_patterns[3]: \"x*\" also matches nothing at all",
        "line 7, column 20: compression.combos[0].languages[1]: \"ed\" is not one of de, en, es, fr, id, ja, pt-BR, zh; did you mean \"de\"?",
        "line 7, column 26: compression.combos[0].languages[2]: 1 is not a string",
        "line 8, column 22: compression.combos[0].gates.min_gain: 91 is not a whole number from 0 to 90",
        "line 8, column 26: compression.combos[0].gates.min_byte: this key is not known; did you mean \"min_bytes\"?",
        "line 9, column 11: compression.combos[0].rewrite: \"sometimes\" is not one of \"never\", \"cold_only\", \"threshold\", \"always\"",
        "line 10, column 16: compression.combos[0].output_style: \"tersest\" is not one of terse-prose, less-code, terse-cjk",
        "line 11, column 1: compression.combos[1]: languages: no step of it has rules by language; caveman has",
        "line 16, column 8: compression.combos[2].name: \"FIRST\" is not a new name: it is taken",
        "line 18, column 8: compression.combos[3].name: \"a,b\" is not a name of 1 to 64 characters without commas and line ends",
        "line 20, column 8: compression.combos[4].name: \"classic\" is not a new name: it is taken",
    ];
    assert_eq!(found, expected);
}

/// A setting of an engine holds under every plan that a call names, presets and own combos included.
#[test]
fn settings_of_engines_hold_under_every_plan() {
    let rows: Vec<_> =
        (0..40).map(|n| serde_json::json!({"id": n, "state": "ok", "place": "here"})).collect();
    let body = serde_json::json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": serde_json::to_string(&rows).unwrap()}]})
    .to_string();
    let combo = "[[compression.combos]]\nname = \"mine\"\nsteps = [\"rows\"]\n";
    let changes = |least: u32, plan: &str| {
        let text = format!("[compression.engines.rows]\nmin_rows = {least}\n{combo}");
        let compressor = Compressor::new(Config::from_toml(&text).unwrap()).unwrap();
        let options = Options { plan: Some(plan), ..Options::default() };
        compressor.compress_body(body.clone(), &options).unwrap().receipt.applied
    };
    for plan in ["safe", "rows", "rows,lite", "mine", "api-data"] {
        assert!(changes(30, plan), "{plan}");
        assert!(!changes(60, plan), "{plan}");
    }
}

#[test]
fn patterns_and_presets_act() {
    let log = "   Compiling one v1.0.0\n   Compiling two v1.0.0\n   Compiling three v1.0.0\n".repeat(30)
        + "warning: unused\n";
    let body = serde_json::json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{\"command\":\"cargo build\"}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": log}]}).to_string();
    let sent = |config: &str, plan: Option<&str>| {
        let compressor = Compressor::new(Config::from_toml(config).unwrap()).unwrap();
        let out = compressor.compress_body(body.clone(), &Options { plan, ..Options::default() }).unwrap();
        (String::from_utf8(out.body.to_vec()).unwrap(), out.receipt)
    };
    let (short, receipt) = sent("", Some("classic"));
    assert!(receipt.plan == "classic" && !short.contains("Compiling two"), "{short}");
    let (kept, receipt) = sent("[compression]\npreserve_patterns = [\"Compiling tw.\"]\n", Some("classic"));
    assert!(kept.contains("Compiling two") && receipt.steps[0].skips.contains_key("preserved"), "{kept}");
}

#[test]
fn broken_syntax_is_reported_with_the_rest() {
    let errors = Config::from_toml("[compression]\nplan = \nstrikt = 1\n").unwrap_err().to_string();
    assert!(errors.contains("line 2") && errors.contains("strikt"), "{errors}");
    let errors = Config::from_json("{\"plan\": ").unwrap_err().to_string();
    assert!(!errors.is_empty());
    assert_eq!(Config::from_json("[]").unwrap_err().to_string(), "a list is not a table");
}

#[test]
fn numbers_in_every_spelling() {
    for (text, bytes) in [("0x100", true), ("1_000", true), ("0b11", true), ("-3", false), ("1e3", false)] {
        let text = format!("[compression]\nmax_body_bytes = {text}\n");
        assert_eq!(Config::from_toml(&text).is_ok(), bytes, "{text}");
    }
}
