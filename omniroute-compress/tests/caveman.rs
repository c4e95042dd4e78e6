//! Prose of the user in a request: condensed when it is first seen, on every wire, and nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::engines::{Own, run};
use omniroute_compress::caveman::RulePacks;
use omniroute_compress::{CallOptions, Compress, ENGINES, Step, Value as Setting};
use omniroute_core::{CompressReceipt, Loss, Moment, SegmentKind, wire};
use serde_json::{Value, json};

/// A request of over 400 characters with something for every class of rules.
const ASKED: &str = "Hi there,\n\nCould you please check the importer? It is basically a worker that reads the queue, but due to the fact that the queue is shared it has extremely slow workers. Here is some context. I started it with `drain --all` and 3 workers, and it did not stop if the disk was full. Furthermore, there is a worker that leaks memory. There is a worker that leaks memory. Look at old tables and their columns with care and patience. Look at old tables and their columns with care and patience. Never delete src/main.rs:10, even if the test asks for it. Thank you!";

fn body(asked: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "system": ASKED, "tools": [{"name": "bash", "description": ASKED, "input_schema": {}}],
        "messages": [
        {"role": "user", "content": [{"type": "text", "text": asked}]},
        {"role": "assistant", "content": [{"type": "text", "text": ASKED}, {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": ASKED}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ASKED}, {"type": "text", "text": "Please go on, thanks."}]},
    ]})
}

fn send(compressor: &Compress, body: &Value) -> (Value, CompressReceipt) {
    let out = compressor
        .compress_body(Some(wire::ANTHROPIC), serde_json::to_vec(body).unwrap(), Moment::default())
        .unwrap();
    (serde_json::from_slice(&out.body).unwrap(), out.receipt)
}

fn plan(name: &str) -> Compress {
    Compress::builder().plan(name).build().unwrap()
}

#[test]
fn only_the_users_long_text_changes_and_the_receipt_names_the_rules() {
    for name in ["standard", "stacked", "caveman:full", "caveman:lite", "caveman:ultra"] {
        let before = body(ASKED);
        let (mut after, receipt) = send(&plan(name), &before);
        let text = after["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.len() < ASKED.len() && !text.contains("Could you please"), "{name}: {text}");
        for kept in [
            "did not stop if the disk was full",
            "`drain --all` and 3 workers",
            "Never delete src/main.rs:10",
        ] {
            assert!(text.contains(kept), "{name}: {kept} in {text}");
        }
        after["messages"][0]["content"][0]["text"] = ASKED.into();
        if name != "stacked" {
            assert_eq!(after, before, "{name}");
        }
        let step = receipt.steps.iter().find(|s| s.engine == "caveman").unwrap();
        assert_eq!(step.segments_changed, 1);
        assert_eq!(step.techniques.get("could-you"), Some(&1));
        assert_eq!(step.techniques.get("due-to-the-fact-that"), Some(&1));
        assert!(step.skips.contains_key("below_min_chars") || step.skips.contains_key("below_min_bytes"));
        let kind = receipt.by_kind[&SegmentKind::User];
        assert!(kind.tokens_after < kind.tokens_before);
    }
}

#[test]
fn nothing_of_it_runs_by_default_and_where_only_lossless_steps_may() {
    for compressor in [
        Compress::builder().build().unwrap(),
        plan("lite"),
        plan("rtk"),
        Compress::builder().plan("standard").lossless_only(true).build().unwrap(),
    ] {
        let (after, _) = send(&compressor, &body(ASKED));
        assert_eq!(after["messages"][0], body(ASKED)["messages"][0]);
    }
}

#[test]
fn every_wire_has_users() {
    for (wire, body) in [
        (
            wire::OPENAI_CHAT,
            json!({"messages": [{"role": "system", "content": ASKED}, {"role": "user", "content": ASKED}]}),
        ),
        (
            wire::OPENAI_RESPONSES,
            json!({"instructions": ASKED, "input": [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}]}),
        ),
        (wire::OPENAI_RESPONSES, json!({"instructions": ASKED, "input": ASKED})),
        (
            wire::GEMINI,
            json!({"systemInstruction": {"parts": [{"text": ASKED}]}, "contents": [{"role": "user", "parts": [{"text": ASKED}]}]}),
        ),
    ] {
        let out = run(&plan("standard"), wire, serde_json::to_vec(&body).unwrap());
        let text = String::from_utf8(out.body.to_vec()).unwrap();
        assert_eq!(
            text.matches("Could you please").count() + 1,
            body.to_string().matches("Could you please").count()
        );
    }
}

#[test]
fn what_was_sent_once_is_sent_the_same_way_again() {
    let compressor = plan("stacked");
    let mut whole = body(ASKED);
    let messages = whole["messages"].as_array().unwrap().clone();
    let mut first = None;
    for n in 1..=messages.len() {
        whole["messages"] = messages[..n].into();
        for sender in [&compressor, &plan("stacked")] {
            let (sent, _) = send(sender, &whole);
            let text = sent["messages"][0].clone();
            assert_eq!(first.get_or_insert(text.clone()), &text);
        }
    }
    // A text that is condensed already stays.
    let text = first.unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
    let (again, _) = send(&compressor, &body(&text));
    assert_eq!(again["messages"][0]["content"][0]["text"], text.as_str());
}

#[test]
fn a_signed_message_stays_even_where_texts_of_the_model_are_opened() {
    let step = || Step::new("caveman").with("assistant_text", "first_sight");
    let compressor = Compress::builder().steps([step()]).build().unwrap();
    let mut signed = body(ASKED);
    signed["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"type": "thinking", "thinking": "a", "signature": "b"}));
    for body in [body(ASKED), signed.clone(), body(ASKED)] {
        let (after, _) = send(&compressor, &body);
        let is_signed = body == signed;
        assert_eq!(after["messages"][1] == body["messages"][1], is_signed, "the memo tells them apart");
        assert_ne!(after["messages"][0], body["messages"][0]);
    }
}

#[test]
fn every_setting_changes_what_is_sent() {
    let entry = ENGINES.iter().find(|e| e.info.id == "caveman").unwrap();
    let build = |step: Step| Compress::builder().steps([step]).build().unwrap();
    let base = || Step::new("caveman").with("level", "ultra");
    let plain = send(&build(base()), &body(ASKED)).0;
    for field in entry.fields {
        let step = match &field.default {
            Setting::Bool(on) => base().with(field.key, !on),
            Setting::Int(_) => base().with(field.key, 10_000),
            _ => match field.key {
                "skip_rules" => base().with("skip_rules", vec!["could-you".to_owned()]),
                "preserve_patterns" => base().with("preserve_patterns", vec!["due to [a-z]+".to_owned()]),
                "level" => base().with("level", "lite"),
                "language" => base().with("language", "de"),
                "languages" => base().with("languages", vec!["de".to_owned()]),
                "user_text" => base().with("user_text", "never"),
                "assistant_text" => base().with("assistant_text", "first_sight"),
                other => panic!("{other} has no test"),
            },
        };
        assert_ne!(send(&build(step), &body(ASKED)).0, plain, "{}", field.key);
    }
    let error = Compress::builder().steps([Step::new("caveman").with("level", "max")]).build().unwrap_err();
    assert!(
        error.to_string().contains("engine \"caveman\": key \"level\": max is not one of lite, full, ultra")
    );
}

/// Two steps on the same tokens leave (1-a)(1-b) of them. Steps on different texts do not: a receipt measures.
#[test]
fn savings_compose_only_where_steps_act_on_the_same_tokens() {
    let half = |id| {
        Own::says(id, Loss::Layout, |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            lines[..lines.len() / 2].join("\n")
        })
    };
    let printed = "only words in this line of text\n".repeat(64);
    let body = json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": printed}]});
    let body = serde_json::to_vec(&body).unwrap();
    let compressor = Compress::builder().engine(half("one")).engine(half("two")).plan("one,two");
    let compressor = compressor.tokenizer(std::sync::Arc::new(common::engines::Words)).build().unwrap();
    let receipt = run(&compressor, wire::OPENAI_CHAT, body).receipt;
    let share = |before: u64, after: u64| 1.0 - after as f64 / before as f64;
    let own: Vec<f64> = receipt.steps.iter().map(|s| share(s.tokens_in, s.tokens_out)).collect();
    let results = receipt.by_kind[&SegmentKind::ToolResult];
    let total = share(results.tokens_before, results.tokens_after);
    assert!((total - (1.0 - (1.0 - own[0]) * (1.0 - own[1]))).abs() < 1e-9, "{total} {own:?}");

    // Different texts: the rule over the steps' own tokens would promise far more than was saved.
    let (_, receipt) = send(&plan("stacked"), &self::body(ASKED));
    let own = |s: &omniroute_core::StepReceipt| share(s.tokens_in.max(1), s.tokens_out.max(1));
    let promised = 1.0 - receipt.steps.iter().map(|s| 1.0 - own(s)).product::<f64>();
    let measured = share(receipt.tokens_before, receipt.tokens_after);
    assert!(measured > 0.0 && promised > measured * 1.5, "{promised} {measured}");
    // Over the whole request the steps' shares do compose, by definition.
    let whole = |s: &omniroute_core::StepReceipt| 1.0 - share(s.request_tokens_in, s.request_tokens_out);
    let composed = 1.0 - receipt.steps.iter().map(whole).product::<f64>();
    assert!((composed - measured).abs() < 1e-9);
}

#[test]
fn rules_patterns_and_own_packs_act_and_mistakes_are_named() {
    let build = |step: Step| Compress::builder().steps([step]).build();
    let sent = |step: Step| {
        send(&build(step).unwrap(), &body(ASKED)).0["messages"][0]["content"][0]["text"].to_string()
    };
    let step = || Step::new("caveman:full");
    assert!(!sent(step()).contains("due to the fact that") && !sent(step()).contains("Could you please"));
    let skipped = sent(step().with("skip_rules", vec!["could-you".to_owned()]));
    assert!(skipped.contains("Could you please") && !skipped.contains("due to the fact that"));
    let kept = sent(step().with("preserve_patterns", vec!["(?i)DUE to the fact".to_owned()]));
    assert!(kept.contains("due to the fact that") && !kept.contains("Could you please"));
    let error = build(
        step()
            .with("skip_rules", vec!["could-yo".to_owned(), "please".to_owned()])
            .with("preserve_patterns", vec!["ok".to_owned(), "(".to_owned(), "x*".to_owned()]),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "configuration: engine \"caveman\": key \"skip_rules\": there is no rule \"could-yo\"; did you mean \"could-you\"?; \
         engine \"caveman\": preserve_patterns[1]: \"(\" is no pattern: unclosed group; \
         engine \"caveman\": preserve_patterns[2]: \"x*\" also matches nothing at all"
    );
    let error = build(step().with("preserve_patterns", vec!["a".to_owned(); 51])).unwrap_err();
    assert!(error.to_string().contains("a list of at most 50 texts"), "{error}");
    let own = "language = \"en\"\n[[rules]]\nid = \"queue\"\nclass = \"redundancy\"\nlevel = \"lite\"\nfrom = \"with care and patience\"\nto = \"well\"\nin = \"Do it with care and patience.\"\nout = \"Do it well.\"\n";
    let packs = RulePacks::of([("own.toml", own)]).unwrap();
    let with_own = |step: Step| Compress::builder().rule_packs(packs.clone()).steps([step]).build().unwrap();
    let (after, receipt) = send(&with_own(step()), &body(ASKED));
    assert!(after["messages"][0].to_string().contains("their columns well"));
    assert_eq!(receipt.steps[0].techniques.get("own-rule"), Some(&2));
    // Rules of one's own can be skipped by their id, too.
    let skipped = send(&with_own(step().with("skip_rules", vec!["queue".to_owned()])), &body(ASKED)).0;
    assert!(skipped["messages"][0].to_string().contains("with care and patience"));
}

/// A long conversation that starts with a long text of the user and says it again before its end; with calls of tools
/// or without.
fn long_talk(count: usize, calls: bool) -> Value {
    let mut talk = body(ASKED);
    let list = talk["messages"].as_array_mut().unwrap();
    list.truncate(if calls { 3 } else { 1 });
    for n in 0..count {
        list.push(
            json!({"role": "assistant", "content": [{"type": "text", "text": format!("Step {n} is done.")}]}),
        );
        let text = if n == 10 { ASKED } else { "Go on." };
        list.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
    }
    talk
}

#[test]
fn at_rewrite_only_older_texts_change_and_they_stay_so() {
    let build = |when: &'static str| {
        Compress::builder().steps([Step::new("caveman:full").with("user_text", when)]).build().unwrap()
    };
    let at = |compressor: &Compress, talk: &Value, cold: bool| {
        let body = serde_json::to_vec(talk).unwrap();
        let mut request = omniroute_core::ChatRequest::parse(wire::ANTHROPIC, body).unwrap();
        let now = Moment { mono: omniroute_core::Mono(1), wall: omniroute_core::UnixMs(10_000) };
        let out = compressor.compress_with(&mut request, CallOptions::default().cold(cold), now);
        (serde_json::from_slice::<Value>(&out.body).unwrap(), out.receipt)
    };
    for calls in [false, true] {
        let talk = |count: usize| long_talk(count, calls);
        let compressor = build("at_rewrite");
        assert_eq!(at(&compressor, &talk(12), false).0, talk(12), "the cache is warm: nothing changes");
        let (sent, receipt) = at(&compressor, &talk(13), true);
        assert_ne!(sent["messages"][0], talk(13)["messages"][0]);
        assert!(!sent["messages"][0].to_string().contains("Could you please"));
        // The same words in the live tail stay as they are.
        assert_eq!(sent["messages"].as_array().unwrap()[1..], talk(13)["messages"].as_array().unwrap()[1..]);
        assert!(receipt.rewrite.is_some_and(|r| r.done && r.texts == 1));
        let step = receipt.steps.iter().find(|s| s.engine == "caveman").unwrap();
        assert!(step.segments_changed == 1 && !step.techniques.is_empty(), "{step:?}");
        // What was sent once stays, on a warm cache too, however long it goes on.
        for count in 14..40 {
            let later = at(&compressor, &talk(count), false).0;
            let sent = sent["messages"].as_array().unwrap();
            assert_eq!(later["messages"].as_array().unwrap()[..sent.len()], sent[..], "{calls} {count}");
        }
        // Another history is not taken for this one: its first text stands as it came.
        let mut other = talk(20);
        other["messages"][0]["content"][0]["text"] = format!("{ASKED} And the log.").into();
        assert_eq!(at(&compressor, &other, false).0, other);
        // The other ways of saying when act elsewhere: the same checks see it.
        assert_ne!(at(&build("first_sight"), &talk(12), false).0, talk(12));
        assert_eq!(at(&build("never"), &talk(13), true).0, talk(13));
    }
}

#[test]
fn styles_stand_in_the_first_request_and_stay() {
    use omniroute_compress::{OutputStyle, expand};
    let build = || {
        let style = OutputStyle::parse("terse-prose").unwrap();
        Compress::builder().plan("lite").output_style(style).build().unwrap()
    };
    let chat = vec![
        json!({"role": "system", "content": "You help."}),
        json!({"role": "user", "content": "Hi. [OmniRoute Output Styles] is a name."}),
    ];
    let talk = |n: usize| -> Vec<(wire::Wire, Value)> {
        let said: Vec<Value> = (0..n)
            .flat_map(|_| {
                [json!({"role": "assistant", "content": "Yes."}), json!({"role": "user", "content": "On."})]
            })
            .collect();
        let mut messages = chat.clone();
        messages.extend(said.clone());
        let gemini: Vec<Value> = messages[1..].iter().map(|m| json!({"role": if m["role"] == "user" { "user" } else { "model" }, "parts": [{"text": m["content"]}]})).collect();
        vec![
            (wire::OPENAI_CHAT, json!({"messages": messages.clone()})),
            (wire::ANTHROPIC, json!({"system": "You help.", "messages": messages[1..].to_vec()})),
            (wire::OPENAI_RESPONSES, json!({"instructions": "You help.", "input": messages[1..].to_vec()})),
            (
                wire::GEMINI,
                json!({"systemInstruction": {"parts": [{"text": "You help."}]}, "contents": gemini}),
            ),
        ]
    };
    let marked =
        |body: &[u8]| String::from_utf8_lossy(body).matches("[OmniRoute Output Styles] Answer").count();
    for at in 0..4 {
        let compressor = build();
        let mut heads: Vec<Vec<u8>> = Vec::new();
        for n in 0..3 {
            let (wire, body) = talk(n).swap_remove(at);
            let bytes = serde_json::to_vec(&body).unwrap();
            let out = run(&compressor, wire, bytes.clone());
            assert_eq!(marked(&out.body), 1, "{} {n}", wire.id());
            let added = out.receipt.added.iter().find(|a| a.kind == "output_style").unwrap();
            assert!(added.tokens > 20 && out.receipt.tokens_after >= added.tokens);
            let sent = omniroute_core::ChatRequest::parse(wire, out.body.clone()).unwrap();
            assert_eq!(expand(&sent, &out.receipt.edits).unwrap().body, bytes, "{} {n}", wire.id());
            // A body that has it already gets no second one.
            assert_eq!(marked(&run(&build(), wire, out.body.clone()).body), 1, "{} {n}", wire.id());
            heads.push(out.body.to_vec());
            let off = Compress::builder().plan("lite").build().unwrap();
            assert_eq!(marked(&run(&off, wire, bytes).body), 0, "off by default");
        }
        let head = |body: &[u8]| -> Value {
            let body: Value = serde_json::from_slice(body).unwrap();
            let first =
                body["messages"].as_array().map(|list| list.iter().take(2).cloned().collect::<Vec<_>>());
            json!([body["system"], body["instructions"], body["systemInstruction"], first])
        };
        // The system text, wherever it stands.
        let of = |body: &[u8]| if at == 0 { head(body)[3].clone() } else { head(body)[at - 1].clone() };
        assert!(
            heads[1..].iter().all(|later| of(later) == of(&heads[0])),
            "the head is the same on every turn"
        );
        assert!(!of(&heads[0]).is_null());
    }
}

#[test]
fn combos_are_plans_by_name_for_calls_and_routes() {
    use omniroute_compress::{Combo, Combos};
    use omniroute_core::Compressor;
    let mut combos = Combos::default();
    combos.add(Combo::new("c-1", "Short prose", [Step::new("caveman:full")])).unwrap();
    combos.assign("cheap-route", "short prose").unwrap();
    let compressor = Compress::builder().plan("lite").combos(combos.clone()).build().unwrap();
    let body = serde_json::to_vec(&body(ASKED)).unwrap();
    let named = |compressor: &Compress, profile: Option<&str>| {
        let mut request = omniroute_core::ChatRequest::parse(wire::ANTHROPIC, body.clone()).unwrap();
        let receipt = Compressor::compress(compressor, &mut request, profile, Moment::default());
        (receipt.plan.clone(), receipt.applied, receipt.notes.iter().any(|n| n.code == "ignored_unknown"))
    };
    let of_route = compressor.combos().for_route("cheap-route").map(|c| c.name().to_owned());
    assert_eq!(named(&compressor, None), ("lite".into(), false, false));
    assert_eq!(named(&compressor, of_route.as_deref()), ("Short prose".into(), true, false));
    assert_eq!(named(&compressor, Some("c-1")), ("Short prose".into(), true, false));
    assert_eq!(named(&compressor, Some("classic")), ("classic".into(), true, false));
    assert_eq!(named(&compressor, Some("no such combo")), ("lite".into(), false, true));
    combos.activate(Some("c-1")).unwrap();
    let active = Compress::builder().combos(combos).build().unwrap();
    assert_eq!(
        named(&active, None),
        ("Short prose".into(), true, false),
        "the active one is used where none is named"
    );
}

#[test]
fn a_combo_has_languages_and_gates_of_its_own() {
    use omniroute_compress::{Combo, Combos, Gates};
    let with = |combo: Combo| {
        let mut combos = Combos::default();
        combos.add(combo).map(|()| combos)
    };
    let prose = || Combo::new("c", "prose", [Step::new("caveman:full")]);
    let sent = |combo: Combo| {
        let compressor = Compress::builder().combos(with(combo).unwrap()).plan("prose").build().unwrap();
        let (body, receipt) = send(&compressor, &body(ASKED));
        let skips = receipt.steps[0].skips.clone();
        (body["messages"][0]["content"][0]["text"].as_str().unwrap().len() < ASKED.len(), skips, receipt)
    };
    let plain = sent(prose());
    assert!(plain.0);
    assert!(sent(prose().languages(["de", "en"])).0);
    let (changed, skips, other) = sent(prose().languages(["de", "fr"]));
    assert!(!changed && skips.contains_key("language_unknown"), "{skips:?}");
    assert_ne!(other.fingerprint, plain.2.fingerprint, "another output has another fingerprint");
    // A step that says it itself keeps it.
    let own = Combo::new("c", "prose", [Step::new("caveman:full").with("languages", vec!["en".to_owned()])]);
    assert!(sent(own.languages(["de"])).0);

    let (changed, skips, other) = sent(prose().gates(Gates::default().min_gain(90)));
    assert!(
        !changed && skips.contains_key("no_gain"),
        "fewer than 40 tokens, and not nine of ten: {skips:?}"
    );
    assert!(sent(prose().gates(Gates::default().min_gain(3))).0);
    assert_ne!(other.fingerprint, plain.2.fingerprint);
    let (changed, skips, _) = sent(prose().gates(Gates::default().min_bytes(4_000)));
    assert!(!changed && skips.contains_key("below_min_bytes"), "{skips:?}");

    for (combo, message) in [
        (
            prose().languages(["xx"]),
            "engine \"caveman\": key \"languages\": \"xx\" has no rules; known are de, en",
        ),
        (
            Combo::new("c", "rows", [Step::new("rows")]).languages(["de"]),
            "languages: no step of it has rules by language",
        ),
        (
            prose().gates(Gates::default().min_gain(91)),
            "gates: key \"min_gain\": 91 is not a whole number from 0 to 90",
        ),
        (
            Combo::new("c", "c", [Step::new("caveman").with("language", "fr")]).languages(["de"]),
            "key \"language\": \"fr\" is not among languages (de): no rule would act",
        ),
    ] {
        let error = with(combo).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn settings_of_an_engine_hold_wherever_it_is_named() {
    use omniroute_compress::{Combo, Combos};
    use omniroute_core::Compressor;
    let mut combos = Combos::default();
    combos.add(Combo::new("c", "mine", [Step::new("caveman").with("min_chars", 50)])).unwrap();
    let build = |level: Option<&'static str>| {
        let builder = Compress::builder().plan("lite").combos(combos.clone());
        match level {
            Some(level) => builder.defaults("caveman", [("level", Setting::from(level))]).build().unwrap(),
            None => builder.build().unwrap(),
        }
    };
    let rules = |compressor: &Compress, profile: &str| {
        let bytes = serde_json::to_vec(&body(ASKED)).unwrap();
        let mut request = omniroute_core::ChatRequest::parse(wire::ANTHROPIC, bytes).unwrap();
        let receipt = Compressor::compress(compressor, &mut request, Some(profile), Moment::default());
        receipt.steps.iter().find(|s| s.engine == "caveman").unwrap().techniques.len()
    };
    let (plain, ultra) = (build(None), build(Some("ultra")));
    for profile in ["caveman", "mine"] {
        assert!(rules(&ultra, profile) > rules(&plain, profile), "{profile}");
    }
    // What a step says itself goes before it, a level too.
    for profile in ["caveman:lite", "caveman:full", "standard"] {
        assert_eq!(rules(&ultra, profile), rules(&plain, profile), "{profile}");
    }
    let error = Compress::builder()
        .defaults("cavemen", [("level", Setting::from("lite"))])
        .defaults("rows", [("min_row", Setting::from(3))])
        .build();
    assert_eq!(
        error.unwrap_err().to_string(),
        "configuration: defaults: engine \"cavemen\" is not known; did you mean \"caveman\"?; \
         engine \"rows\": key \"min_row\" is not known; did you mean \"min_rows\"?"
    );
}

/// What a plan for prose does with one text of the user.
fn said(plan: &str, text: &str) -> String {
    let body = json!({"messages": [{"role": "user", "content": text}]});
    let out = run(&self::plan(plan), wire::OPENAI_CHAT, serde_json::to_vec(&body).unwrap());
    let body: Value = serde_json::from_slice(&out.body).unwrap();
    body["messages"][0]["content"].as_str().unwrap().to_owned()
}

/// Lines of code in a text that are not there any more, byte for byte.
fn lost_lines<'t>(code: &'t str, after: &str) -> Vec<&'t str> {
    code.split_inclusive('\n').filter(|line| !after.contains(line)).collect()
}

#[test]
fn white_space_and_line_ends_of_code_in_prose_stay() {
    let prose = "Could you please check the importer in order to see that the worker is basically a reader of the queue? ";
    for code in [
        "```python\r\ndef run(self):\r\n\tif not self.ok:\r\n\t\treturn  None\r\n```\r\n",
        "```\nall: the_target\n\t@echo  \"in order to\"\n\n\n\nend:\n\ttrue\n```\n",
        "    steps:\n      - name: please run\n        run: |\n          make   the test\n",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-please  run\n+the  test\n \tkept\n",
    ] {
        let text = format!("{0}{0}\r\n\r\n{code}\r\n\r\n{0}{0}{0}", prose);
        let after = said("standard", &text);
        assert!(after.len() < text.len() && lost_lines(code, &after).is_empty(), "{after}");
        // The same check sees line ends and blanks that change.
        assert!(
            !lost_lines(code, &after.replace("\r\n", "\n").replace("  ", " ").replace('\t', " ")).is_empty()
        );
    }
}

#[test]
fn mixed_texts_get_no_blanks_and_lose_no_parts_of_words() {
    let text = "请检查 the importer 的日志，因为 worker 在 queue 满的时候不会停止，也不要删除 a/b.txt。"
        .repeat(12)
        + "谢谢！";
    let after = said("caveman:ultra", &text);
    let letters =
        |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).count();
    assert_eq!(letters(&after), letters(&text), "no rule for English acts in Chinese: {after}");
    assert_eq!(after.matches(' ').count(), text.matches(' ').count());
    assert_eq!(after.matches("不要删除 a/b.txt").count(), 12);
    assert_ne!(letters(&after.replace("the ", "")), letters(&text), "the check sees a lost article");
}

#[test]
fn developer_texts_are_system_texts_and_odd_shapes_come_back() {
    for role in ["system", "developer"] {
        let body =
            json!({"messages": [{"role": role, "content": ASKED}, {"role": "user", "content": "Go."}]});
        let bytes = serde_json::to_vec(&body).unwrap();
        assert_eq!(run(&plan("standard"), wire::OPENAI_CHAT, bytes.clone()).body, bytes, "{role}");
    }
    for messages in [
        json!([]),
        json!([null, 3, "x", [], {}]),
        json!([{"role": "user"}, {"role": "user", "content": null}, {"role": 3, "content": {"a": 1}}]),
        json!([{"role": "user", "content": [{"type": "image_url"}, {"type": "text"}, {"type": "text", "text": 5}, "x"]}]),
        json!([{"role": "tool", "content": ASKED}, {"role": "narrator", "content": ASKED}]),
    ] {
        let bytes = serde_json::to_vec(&json!({"messages": messages})).unwrap();
        for name in ["standard", "aggressive", "ultra", "relevance", "stacked", "safe"] {
            let out =
                plan(name).compress_body(Some(wire::OPENAI_CHAT), bytes.clone(), Moment::default()).unwrap();
            assert_eq!(out.body, bytes, "{name} {messages}");
        }
    }
}

#[test]
fn steps_that_did_nothing_have_figures_and_reasons() {
    let (_, receipt) = send(&plan("aggressive"), &json!({"messages": [{"role": "user", "content": "Hi."}]}));
    let json = serde_json::to_value(&receipt).unwrap();
    for step in json["steps"].as_array().unwrap() {
        for key in ["tokens_in", "tokens_out", "segments_seen", "segments_changed", "request_tokens_in"] {
            assert!(step[key].is_u64(), "{key} of {step}");
        }
        assert_eq!(step["tokens_in"], step["tokens_out"]);
    }
    assert_eq!(json["tokens_before"], json["tokens_after"]);
    assert!(json["steps"][0]["skips"].as_object().is_some_and(|skips| !skips.is_empty()), "{json}");
}
