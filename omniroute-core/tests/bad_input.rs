//! Bodies that must be refused, each by one rule and at a place that can be found again, and their nearest
//! neighbours that must be accepted. The cases stand in `fixtures/bad/cases.json`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Doc, DocError, NodeId, Patch, Rule, Transcript};
use serde_json::Value;

struct Case {
    name: String,
    wire: Wire,
    body: Vec<u8>,
    rule: String,
}

/// The texts a body says, or why it is none.
type Reader = dyn Fn(Wire, &[u8]) -> Result<Vec<String>, DocError>;

fn cases() -> Vec<Case> {
    let list: Vec<Value> = serde_json::from_str(include_str!("fixtures/bad/cases.json")).unwrap();
    let case = |case: &Value| {
        let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_owned);
        let body = match (text("body"), text("body_base64")) {
            (Some(body), None) => body.into_bytes(),
            (None, Some(coded)) => base64(&coded),
            _ => panic!("one body in {case}"),
        };
        let wire = wire::by_id(&text("wire").unwrap()).unwrap();
        Case { name: text("name").unwrap(), wire, body, rule: text("rule").unwrap() }
    };
    list.iter().map(case).collect()
}

fn base64(coded: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for byte in coded.bytes().filter(|b| *b != b'=') {
        bits = bits << 6 | digits.iter().position(|d| *d == byte).expect("a base64 digit") as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    out
}

fn read(wire: Wire, body: &[u8]) -> Result<Vec<String>, DocError> {
    let request = ChatRequest::parse(wire, body.to_vec())?;
    let transcript = Transcript::of(&request)?;
    Ok(transcript.segments().iter().map(|s| s.original().to_owned()).collect())
}

/// The rule is the expected one; what is accepted is read with the last of equal keys.
fn judge(case: &Case, reader: &Reader) -> Result<(), String> {
    let found = reader(case.wire, &case.body);
    let rule = found.as_ref().err().map_or("ok", |e| e.rule().code());
    if rule != case.rule {
        return Err(format!("{}: {rule}, expected {}: {found:?}", case.name, case.rule));
    }
    match found {
        Err(error) => sound(&error, &case.body).map_err(|e| format!("{}: {e}: {error:?}", case.name)),
        Ok(texts) => {
            // 128 levels and numbers beyond floats are more than serde_json reads.
            let Ok(value) = serde_json::from_slice::<Value>(&case.body) else { return Ok(()) };
            let last = read(case.wire, value.to_string().as_bytes()).map_err(|e| e.to_string())?;
            if normal(&texts) == normal(&last) {
                Ok(())
            } else {
                Err(format!("{}: reads {texts:?}", case.name))
            }
        }
    }
}

/// Arguments are JSON whose key order and spelling a serialiser changes.
fn normal(texts: &[String]) -> Vec<String> {
    texts.iter().map(|t| serde_json::from_str::<Value>(t).map_or(t.clone(), |v| v.to_string())).collect()
}

/// The place can be found again, and the message is one line without content of the body.
fn sound(error: &DocError, body: &[u8]) -> Result<(), String> {
    let before = body.get(..error.offset()).ok_or("the place lies behind the end")?;
    let before = std::str::from_utf8(before).map_err(|_| "the place lies inside a character")?;
    let line = before.split('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    if (error.line() as usize, error.column() as usize) != (line, column) {
        return Err(format!("stands at line {line} column {column}"));
    }
    let shown = error.to_string();
    if shown.chars().any(char::is_control) || shown.ends_with('.') || error.detail().is_empty() {
        return Err("is not one plain line".into());
    }
    let place = format!("{} at line {line} column {column} (byte {}): ", error.rule().code(), error.offset());
    if shown != format!("{place}{}", error.detail()) {
        return Err("does not start with rule and place".into());
    }
    let detail: Vec<char> = error.detail().chars().collect();
    let body = String::from_utf8_lossy(body);
    if detail.windows(41).any(|w| body.contains(&w.iter().collect::<String>())) {
        return Err("tells content of the body".into());
    }
    Ok(())
}

#[test]
fn every_case_breaks_its_rule() {
    let cases = cases();
    assert!(cases.len() >= 208);
    let wrong: Vec<String> = cases.iter().filter_map(|c| judge(c, &read).err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_cases() {
    let seen: HashSet<String> = cases().into_iter().map(|c| c.rule).collect();
    let rules = [
        Rule::Utf8,
        Rule::Json,
        Rule::Surrogate,
        Rule::Trailing,
        Rule::Depth,
        Rule::DuplicateKey,
        Rule::Shape,
    ];
    for rule in rules {
        assert!(seen.contains(rule.code()), "{}", rule.code());
    }
    let big = Doc::parse_with_limit("[1, 2, 3]", 8).unwrap_err();
    assert_eq!((big.rule(), big.offset()), (Rule::Size, 0));
    assert_eq!(sound(&big, b"[1, 2, 3]"), Ok(()));
}

#[test]
fn a_long_value_is_not_told() {
    let secret = "s3cr3t-".repeat(50);
    for (body, rule) in [
        (format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[\"{secret}\"}}]}}"), Rule::Json),
        (format!("{{\"messages\":\"{secret}\"}}"), Rule::Shape),
        (format!("{{\"messages\":[{{\"role\":[\"{secret}\"],\"content\":\"hi\"}}]}}"), Rule::Shape),
        (format!("{{\"messages\":[\"{secret}\n\"]}}"), Rule::Json),
        (format!("{{\"messages\":[]}}{secret}"), Rule::Trailing),
        (format!("{{\"messages\":[\"{secret}\\ud800\"]}}"), Rule::Surrogate),
    ] {
        for wire in [wire::OPENAI_CHAT, wire::ANTHROPIC] {
            let error = read(wire, body.as_bytes()).unwrap_err();
            assert_eq!((error.rule(), sound(&error, body.as_bytes())), (rule, Ok(())), "{error}");
        }
    }
}

#[test]
fn a_message_of_an_unknown_role_is_left_alone() {
    for (wire, body) in [
        (wire::OPENAI_CHAT, r#"{"messages":[{"role":"critic","content":"hi"}]}"#),
        (wire::ANTHROPIC, r#"{"messages":[{"role":"critic","content":"hi"}]}"#),
        (wire::OPENAI_RESPONSES, r#"{"input":[{"role":"critic","content":"hi"}]}"#),
        (wire::GEMINI, r#"{"contents":[{"role":"critic","parts":[{"text":"hi"}]}]}"#),
    ] {
        assert_eq!(read(wire, body.as_bytes()), Ok(Vec::new()), "{wire:?}");
        let broken = body.replace("\"hi\"", "5").replace("[{\"text\":5}]", "5");
        assert_eq!(read(wire, broken.as_bytes()).unwrap_err().rule(), Rule::Shape, "{wire:?}");
    }
}

#[test]
fn every_cut_of_a_body_is_refused_at_a_sound_place() {
    let body = "{ \"model\": \"m\",\n \"messages\": [ {\"role\":\"user\",\n\"content\":\"é🌊\\ud83c\\udf0a\\n\"}, \
                {\"role\":\"assistant\",\"content\":null,\"n\":[1.5e-3,true]} ] }";
    assert!(read(wire::OPENAI_CHAT, body.as_bytes()).is_ok());
    for end in 0..body.len() {
        let cut = &body.as_bytes()[..end];
        let error = read(wire::OPENAI_CHAT, cut).unwrap_err();
        assert_eq!(sound(&error, cut), Ok(()), "cut at {end}: {error}");
        assert!(matches!(error.rule(), Rule::Json | Rule::Utf8 | Rule::Surrogate), "cut at {end}: {error}");
    }
}

/// A body in which only the first of equal keys is left.
fn first_counts(body: &[u8]) -> Vec<u8> {
    fn visit(doc: &Doc, node: NodeId, patch: &mut Patch) {
        let mut names = HashSet::new();
        for (key, value) in doc.members(node) {
            if names.insert(doc.str(key).unwrap()) {
                visit(doc, value, patch);
            } else {
                patch.remove(key);
            }
        }
        doc.elements(node).for_each(|n| visit(doc, n, patch));
    }
    let Ok(doc) = Doc::parse(body.to_vec()) else { return body.to_vec() };
    let mut patch = Patch::new();
    visit(&doc, doc.root(), &mut patch);
    doc.splice(&patch).unwrap().to_vec()
}

/// Twins: readers that let the first or the last of two equal keys count, whatever the key.
#[test]
fn twin_readers_that_ignore_duplicates_are_caught() {
    let first = |wire: Wire, body: &[u8]| read(wire, &first_counts(body));
    let last = |wire: Wire, body: &[u8]| match serde_json::from_slice::<Value>(body) {
        Ok(value) => read(wire, value.to_string().as_bytes()),
        Err(_) => read(wire, body),
    };
    for case in cases() {
        let ignores_order = case.rule == "duplicate-key";
        assert_eq!(judge(&case, &last).is_err(), ignores_order, "{}", case.name);
        if ignores_order || case.name == "ok-dup-text-in-part" {
            assert!(judge(&case, &first).is_err(), "{}", case.name);
        }
    }
}

/// Twin: messages that quote the body, and places that count bytes for characters.
#[test]
fn twin_unsound_errors_are_caught() {
    let body = "{\"k\": \"é\", \"text of a body that is longer than forty characters\" 1}".as_bytes();
    let at = body.len() - 2;
    assert_eq!(sound(&DocError::at(Rule::Json, body, at, "expected `:` after a key"), body), Ok(()));
    let quoting = format!("no colon after {}", String::from_utf8_lossy(&body[11..at]));
    assert!(sound(&DocError::at(Rule::Json, body, at, quoting), body).is_err());
    assert!(
        sound(&DocError::at(Rule::Json, &body[..at].to_ascii_lowercase(), at, "two\nlines"), body).is_err()
    );
    let bytes_for_characters: Vec<u8> = body.iter().map(|b| if b.is_ascii() { *b } else { b'x' }).collect();
    assert!(sound(&DocError::at(Rule::Json, &bytes_for_characters, at, "expected `:`"), body).is_err());
}
