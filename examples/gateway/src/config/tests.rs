//! Any bytes are read without a panic; the page of the documentation has every key and every code.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::mistake::codes;
use super::schema::{Key, Kind, ROOT, STEP};
use super::*;
use crate::terminal::Paint;

fn read(bytes: Vec<u8>) -> Sources {
    let path = PathBuf::from("nowhere/omniroute.toml");
    from_bytes(Some((path, bytes)), &mut std::iter::empty())
}

/// Everything that is done with what was read.
fn all(sources: &Sources) -> String {
    let _ = Config::of(sources);
    let text = sources.text(Paint::stderr());
    let _ = show::text(&show::values(sources), true);
    text + &sources.json().to_string()
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration.md")
}

fn example() -> String {
    let page = std::fs::read_to_string(page()).unwrap();
    page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        all(&read(bytes));
    }

    #[test]
    fn any_text_of_such_letters_is_read(text in "([a-z\\[\\]{}=\"'#.,\n 0-9é-]|gateway|keys|connections|key = |steps)*") {
        all(&read(text.into_bytes()));
    }

    /// A part of the example is cut out, or replaced; a secret in it is never shown.
    #[test]
    fn a_damaged_example_is_told_without_its_secret(at in 0usize..3_000, length in 0usize..40, put in "[\\[\\]{}=\"'#.,\n x0-]{0,6}") {
        let text = example().replace("{ env = \"OPENAI_API_KEY\" }", "\"sk-0verysecret0\"");
        let mut bytes = text.into_bytes();
        let from = at.min(bytes.len());
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, put.bytes());
        let told = all(&read(bytes));
        prop_assert!(!told.contains("0verysecret0"), "{told}");
    }
}

/// A way in words is what the tables show.
fn rows(path: &str, keys: &[Key], out: &mut String) {
    for key in keys {
        let inner = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let takes = match key.kind {
            Kind::Table(keys) => {
                rows(&inner, keys, out);
                continue;
            }
            Kind::Tables(keys) => {
                rows(&format!("{inner}[]"), keys, out);
                continue;
            }
            Kind::Whole(from, to) => format!("whole number, {from} to {to}"),
            Kind::Number(from, to) => format!("number, {from} to {to}"),
            Kind::Words(words) => words.join(", "),
            Kind::Wire => schema::wires().join(", "),
            Kind::Span(from, to) => format!("time, {} to {}", units::told_span(from), units::told_span(to)),
            Kind::Size(from, to) => format!("size, {} to {}", units::told_size(from), units::told_size(to)),
            Kind::Hash => "text".to_owned(),
            Kind::Resilience | Kind::Compression => continue,
            kind => walk::words(kind).trim_start_matches("a ").to_owned(),
        };
        let default = match key.default {
            "!" => "needed".to_owned(),
            "" => String::new(),
            default => format!("`{default}`"),
        };
        out.push_str(&format!("| `{inner}` | {takes} | {default} | {} |\n", key.about));
        if matches!(key.kind, Kind::Steps) {
            rows(&format!("{inner}[]"), STEP, out);
        }
    }
}

fn numbers(path: &str, value: &Plain, out: &mut String) {
    match value {
        Plain::Object(members) => {
            members.iter().for_each(|(key, value)| numbers(&format!("{path}.{key}"), value, out))
        }
        Plain::Null => out.push_str(&format!("| `{path}` | |\n")),
        value => out.push_str(&format!("| `{path}` | `{value}` |\n")),
    }
}

/// The page with its made parts; BLESS=1 writes it.
#[test]
fn the_page_has_every_key_and_every_code() {
    let mut keys = String::from("| key | takes | default | what |\n| --- | --- | --- | --- |\n");
    rows("", ROOT, &mut keys);
    for (key, takes, default, about) in [
        ("enabled", "true or false", "`true`", "off leaves requests as they are"),
        (
            "mode",
            "text",
            "`\"safe\"`",
            "a plan, an engine, engines separated by commas, or a combo; `plan` says the same",
        ),
        ("strict", "true or false", "`false`", "a body that cannot be read is an error"),
        ("max_body_bytes", "whole number", "16 MiB", "longer bodies are left as they are"),
        ("count", "estimate, exact", "`\"estimate\"`", "what counts tokens; exact needs a build of its own"),
        ("memo", "table: entries, bytes, ttl_s", "", "bounds of what is remembered between calls"),
        ("engines", "table of tables", "", "settings by engine"),
        ("combos[].name", "text", "needed", "a name for steps of your own"),
        (
            "preserve_patterns",
            "list of at most 50 texts",
            "`[]`",
            "regular expressions; what they find stays under every step",
        ),
        ("combos[].steps", "list of engines or tables: engine, level, config", "", "engines in order"),
        ("combos[].languages", "list of texts", "`[]`", "languages whose rules for prose act; none: all"),
        (
            "combos[].gates.min_gain",
            "whole number, 0 to 90",
            "`0`",
            "percent that a step saves of a text, or 40 tokens",
        ),
        ("combos[].gates.min_bytes", "whole number", "`0`", "shorter texts stay as they are"),
        (
            "combos[].rewrite",
            "never, cold_only, threshold, always",
            "",
            "when its steps may change older turns",
        ),
        (
            "combos[].output_style",
            "text",
            "",
            "style that answers are asked to have, for instance `less-code`",
        ),
    ] {
        keys.push_str(&format!("| `compression.{key}` | {takes} | {default} | {about} |\n"));
    }
    keys.push_str("\nNumbers of resilience. Times are texts such as `\"30s\"`; [resilience.md](resilience.md) says what each does.\n\n");
    keys.push_str("| key | default |\n| --- | --- |\n");
    numbers("resilience", &serde_json::to_value(check::sections::built_in()).unwrap(), &mut keys);
    let mut listed = String::from("| code | about |\n| --- | --- |\n");
    for (code, what) in codes::ALL {
        listed.push_str(&format!("| {code} | {what} |\n"));
    }
    let mut text = std::fs::read_to_string(page()).unwrap();
    let before = text.clone();
    for (mark, made) in [("keys", keys), ("codes", listed)] {
        let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
        let (head, rest) = text.split_once(&begin).unwrap();
        let (_, tail) = rest.split_once(&end).unwrap();
        text = format!("{head}{begin}{made}{end}{tail}");
    }
    if std::env::var_os("BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(page(), &text).unwrap();
    } else {
        assert!(text == before, "docs/src/configuration.md differs; BLESS=1 writes it anew");
    }
}

/// The list of scopes here is the one that the endpoint knows.
#[cfg(feature = "serve")]
#[test]
fn scopes_are_those_of_the_endpoint() {
    let known: Vec<&str> = crate::serve::scope_names().collect();
    let mine: Vec<&str> = schema::SCOPES.into_iter().filter(|name| !name.ends_with('*')).collect();
    assert_eq!(mine, known);
}
