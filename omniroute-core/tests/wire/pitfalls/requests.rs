//! Parameters, tools, schemas, media and cache marks of requests.

use omniroute_core::Doc;
use omniroute_core::hub::{Event, ReasoningStyle, WriteContext};
use omniroute_core::wire::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRES, Wire, by_id};
use serde_json::{Value, json};

use super::{call, chunk, done, sent};

fn refused(source: Wire, target: Wire, body: &Value) -> String {
    let doc = Doc::parse_with_limit(body.to_string(), usize::MAX).unwrap();
    let request = source.read_request(&doc).unwrap().value;
    let found = target.write(&request, &WriteContext::default());
    found.map(|w| String::from_utf8_lossy(&w.body).into_owned()).unwrap_err().code().to_owned()
}

fn function(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}})
}

/// Names that a target does not take are sent in another form, and calls come back under the client's own.
#[test]
fn p09_names_of_tools_come_back_exactly() {
    let name = "mcp.files/read \u{e9}";
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"}]);
    let body = json!({"model": "m", "messages": history, "tools": [function("plain"), function(name)],
        "tool_choice": {"type": "function", "function": {"name": name}}});
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for target in [ANTHROPIC, GEMINI, OPENAI_RESPONSES] {
        let written = target.write(&request, &WriteContext::default()).unwrap();
        let text = String::from_utf8(written.body.to_vec()).unwrap();
        let alias = written.names.sent(name).unwrap();
        assert!(!text.contains(name) && text.contains("\"plain\""), "{}: {text}", target.id());
        assert!(text.matches(alias).count() >= 3, "declared, chosen and called: {text}");
        assert!(written.notes.iter().any(|n| n.code == "tool_name_changed"));
        // The same turns give the same bytes on every turn.
        assert_eq!(target.write(&request, &WriteContext::default()).unwrap().body, written.body);

        // The model calls it by the name it was told.
        let chunks = [
            chunk(json!({"tool_calls": [call(Some(0), Some("c"), Some(alias), "{}")]}), None),
            chunk(json!({"tool_calls": [call(Some(1), Some("d"), Some("PLAIN"), "{}")]}), Some("tool_calls")),
            done(),
        ];
        let mut reader = written.stream_reader(OPENAI_CHAT).unwrap();
        let mut items = Vec::new();
        reader.feed(chunks.concat().into(), &mut items);
        reader.end(&mut items);
        let mut found = Vec::new();
        for event in items.iter().flat_map(|i| &i.events) {
            if let Event::PartStart { kind: omniroute_core::hub::PartKind::Call { name, .. }, .. } = event {
                found.push(name.as_str());
            }
        }
        assert_eq!(found, [name, "plain"], "{}", target.id());
        let whole = json!({"id": "r", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": alias, "arguments": "{}"}}]}}]});
        let whole = Doc::parse(whole.to_string()).unwrap();
        let mut reply = OPENAI_CHAT.read_reply(&whole).unwrap().value;
        written.names.restore(&mut reply);
        let told = ANTHROPIC.write_reply(&reply, &WriteContext::default()).unwrap().body;
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!(told["content"][0]["name"], name);
    }
}

#[test]
fn p29_schemas_hold_only_words_that_the_target_knows() {
    let schema = json!({"$schema": "x", "type": "object", "$defs": {"P": {"type": "object", "properties": {"pattern": {"type": ["string", "null"], "minLength": 1}}}},
        "properties": {"p": {"$ref": "#/$defs/P"}, "mode": {"const": "fast"}, "n": {"type": "integer", "exclusiveMinimum": 0, "enum": [1, 2]},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, "tags": {"type": "array", "uniqueItems": true}},
        "required": ["p", "gone"], "additionalProperties": false});
    let body = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": schema}}]});
    let (found, codes) = sent(OPENAI_CHAT, GEMINI, &body, &WriteContext::default());
    let tool = &found["tools"][0]["functionDeclarations"][0];
    let text = tool.to_string();
    for word in ["$schema", "minLength", "exclusiveMinimum", "uniqueItems", "const", "strict"] {
        assert!(!text.contains(&format!("\"{word}\"")), "{word}: {text}");
    }
    let kept = &tool["parametersJsonSchema"];
    assert!(
        kept["$defs"]["P"]["properties"]["pattern"].is_object(),
        "a property may be called like a keyword"
    );
    assert_eq!(kept["properties"]["mode"], json!({"enum": ["fast"]}));
    assert!(!found.to_string().contains("stream_options") && codes.contains(&"schema_simplified"));
}

#[test]
fn p30_the_limit_has_the_name_that_the_host_takes() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]});
    for (told, key) in
        [(None, "max_tokens"), (Some(false), "max_tokens"), (Some(true), "max_completion_tokens")]
    {
        let mut cx = WriteContext::default();
        cx.quirks.max_completion_tokens = told;
        let (found, _) = sent(ANTHROPIC, OPENAI_CHAT, &body, &cx);
        let keys: Vec<_> =
            found.as_object().unwrap().keys().map(String::as_str).filter(|k| k.starts_with("max")).collect();
        assert_eq!((keys, &found[key]), (vec![key], &json!(9)));
    }
}

#[test]
fn p31_limits_are_lowered_to_the_models_and_never_raised() {
    let body = |limit: u64| json!({"model": "m", "max_tokens": limit, "messages": [{"role": "user", "content": "go"}], "tools": [function("f")]});
    let mut cx = WriteContext::default();
    cx.caps.max_output = Some(100);
    for (asked, wanted) in [(20, 20), (100, 100), (5_000, 100)] {
        for (target, place) in [
            (ANTHROPIC, "/max_tokens"),
            (GEMINI, "/generationConfig/maxOutputTokens"),
            (OPENAI_RESPONSES, "/max_output_tokens"),
        ] {
            let (found, codes) = sent(OPENAI_CHAT, target, &body(asked), &cx);
            assert_eq!(found.pointer(place), Some(&json!(wanted)), "{}", target.id());
            assert_eq!(codes.contains(&"param_clamped"), asked != wanted);
        }
    }
}

fn marks(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    if key == "cache_control" {
                        out.push(path.to_owned())
                    } else {
                        walk(value, &format!("{path}/{key}"), out)
                    }
                }
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(n, v)| walk(v, &format!("{path}/{n}"), out))
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out.sort();
    out
}

#[test]
fn p32_at_most_four_cache_marks_and_none_lost_or_doubled() {
    let mark = json!({"type": "ephemeral"});
    let text = |t: &str| json!({"type": "text", "text": t, "cache_control": mark});
    let mut tool = function("f");
    tool["cache_control"] = mark.clone();
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let body = |first: Value| {
        json!({"model": "m", "tools": [tool], "messages": [
            {"role": "system", "content": [text("one"), text("two")]},
            {"role": "user", "content": [first]},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": [text("result")]},
            {"role": "user", "content": [text("last")]}]})
    };
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &body(text("first")), &WriteContext::default());
    let kept = marks(&found);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(codes.contains(&"cache_mark_dropped"));
    assert!(kept.contains(&"/tools/0".to_owned()) && kept.contains(&"/system/1".to_owned()), "{kept:?}");
    assert!(kept.contains(&"/messages/2/content/1".to_owned()), "the latest: {kept:?}");
    assert!(kept.iter().any(|p| p.starts_with("/messages/2/content/0")), "that of the result: {kept:?}");

    // Four or fewer stay where they are.
    let few = json!({"model": "m", "messages": [{"role": "user", "content": [text("a"), {"type": "text", "text": "b"}]}]});
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &few, &WriteContext::default());
    assert_eq!((marks(&found), codes), (vec!["/messages/0/content/0".to_owned()], vec![]));
}

#[test]
fn p33_tools_stay_in_their_order() {
    let names = ["zeta", "alpha", "mid", "beta"];
    let tools: Vec<_> = names.iter().map(|n| function(n)).collect();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": tools});
    for target in [ANTHROPIC, GEMINI, OPENAI_RESPONSES] {
        let (found, _) = sent(OPENAI_CHAT, target, &body, &WriteContext::default());
        let list =
            if target == GEMINI { &found["tools"][0]["functionDeclarations"] } else { &found["tools"] };
        let order: Vec<_> = list.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(order, names, "{}", target.id());
    }
    // A tool declared twice is sent once; two tools of one name are nobody's.
    let twice = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": [function("f"), function("f")]});
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &twice, &WriteContext::default());
    assert_eq!((found["tools"].as_array().unwrap().len(), codes), (1, vec!["duplicate_tool_removed"]));
    let mut other = twice.clone();
    other["tools"][1]["function"]["description"] = "another".into();
    assert_eq!(refused(OPENAI_CHAT, ANTHROPIC, &other), "duplicate_tool");
}

#[test]
fn p34_tools_of_a_vendor_are_not_made_functions() {
    let body = |tool: Value| json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "tools": [tool]});
    let computer = body(
        json!({"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 1}),
    );
    for target in [OPENAI_CHAT, OPENAI_RESPONSES, GEMINI] {
        assert_eq!(refused(ANTHROPIC, target, &computer), "unsupported_tool", "{}", target.id());
    }
    // The one that several have is the other's own, not a function.
    let search = body(json!({"type": "web_search_20250305", "name": "web_search"}));
    let (found, _) = sent(ANTHROPIC, GEMINI, &search, &WriteContext::default());
    assert_eq!(found["tools"], json!([{"googleSearch": {}}]));
    let (found, _) = sent(ANTHROPIC, OPENAI_RESPONSES, &search, &WriteContext::default());
    assert_eq!(found["tools"], json!([{"type": "web_search"}]));
}

#[test]
fn p37_none_stays_none() {
    let body = r#"{"model":"m","tool_choice":"none","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"x"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for wire in ["openai-responses", "anthropic-messages", "gemini"] {
        let wire = by_id(wire).unwrap();
        let written = wire.write(&request, &WriteContext::default()).unwrap();
        let doc = Doc::parse(written.body).unwrap();
        let back = wire.read_request(&doc).unwrap().value.tool_choice;
        assert_eq!(back, Some(omniroute_core::hub::ToolChoice::None), "{}", wire.id());
    }
}

#[test]
fn p42_functions_do_not_become_strict_by_themselves() {
    let body =
        json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": [function("f")]});
    let (found, _) = sent(OPENAI_CHAT, OPENAI_RESPONSES, &body, &WriteContext::default());
    assert_eq!(found["tools"][0]["strict"], false);
}

#[test]
fn p45_numbers_keep_their_digits() {
    let body = r#"{"model":"m","temperature":0.10,"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"id\":9007199254740993,\"p\":0.10}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for target in WIRES {
        let written = target.write(&request, &WriteContext::default()).unwrap();
        let text = String::from_utf8(written.body.to_vec()).unwrap();
        assert!(text.contains("9007199254740993") && text.contains(":0.10"), "{}: {text}", target.id());
    }
}

/// Bytes that cannot be read are told before they are sent; a wrong type is put right.
#[test]
fn media_are_looked_at_before_they_are_sent() {
    const PNG: &str = "iVBORw0KGgo=";
    let image = |mime: &str, data: &str| {
        let url = format!("data:{mime};base64,{data}");
        json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]})
    };
    for bad in ["iVBORw0KGgo==", "iVB*", "i"] {
        assert_eq!(refused(OPENAI_CHAT, ANTHROPIC, &image("image/png", bad)), "invalid_base64", "{bad}");
    }
    let large = format!("iVBORw0KGgo{}", "A".repeat((20 << 20) / 3 * 4 + 1));
    assert_eq!(refused(OPENAI_CHAT, ANTHROPIC, &image("image/png", &large)), "media_too_large");
    assert_eq!(refused(OPENAI_CHAT, ANTHROPIC, &image("image/tiff", "SUkqAA==")), "unsupported_media_type");
    assert_eq!(refused(OPENAI_CHAT, GEMINI, &image("image/gif", "R0lGODlh")), "unsupported_media_type");
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &image("image/jpeg", PNG), &WriteContext::default());
    let source = &found["messages"][0]["content"][0]["source"];
    assert_eq!(*source, json!({"type": "base64", "media_type": "image/png", "data": PNG}));
    assert_eq!(codes, ["media_type_corrected"]);
    let (found, codes) =
        sent(OPENAI_CHAT, ANTHROPIC, &image("image/png", "iVBO Rw0K\nGgo="), &WriteContext::default());
    assert_eq!(found["messages"][0]["content"][0]["source"]["data"], PNG);
    assert_eq!(codes, ["media_cleaned"]);
}

/// What `high` effort with a limit of 2 000 tokens becomes.
#[test]
fn effort_beside_a_limit() {
    let body = json!({"model": "m", "reasoning_effort": "high", "max_tokens": 2000, "messages": [{"role": "user", "content": "go"}]});
    let with = |style: ReasoningStyle, most: u64| {
        let mut cx = WriteContext::default();
        (cx.caps.reasoning, cx.caps.max_output) = (Some(style), Some(most));
        cx
    };
    let (found, _) = sent(OPENAI_CHAT, ANTHROPIC, &body, &with(ReasoningStyle::Budget, 64_000));
    assert_eq!(found["thinking"], json!({"type": "enabled", "budget_tokens": 24_576}));
    assert_eq!(found["max_tokens"], 26_576);
    let (found, _) = sent(OPENAI_CHAT, ANTHROPIC, &body, &with(ReasoningStyle::Adaptive, 64_000));
    assert_eq!(found["thinking"], json!({"type": "adaptive"}));
    assert_eq!((&found["output_config"]["effort"], &found["max_tokens"]), (&json!("high"), &json!(2_000)));
    let (found, _) = sent(OPENAI_CHAT, GEMINI, &body, &with(ReasoningStyle::Budget, 65_536));
    assert_eq!(found["generationConfig"]["thinkingConfig"]["thinkingBudget"], 24_576);
    assert_eq!(found["generationConfig"]["maxOutputTokens"], 26_576, "thoughts count against the limit");
    let (found, codes) = sent(OPENAI_CHAT, GEMINI, &body, &with(ReasoningStyle::Effort, 65_536));
    assert_eq!(found["generationConfig"]["thinkingConfig"]["thinkingLevel"], "HIGH");
    assert_eq!(found["generationConfig"]["maxOutputTokens"], 2_000);
    assert!(codes.contains(&"max_output_may_truncate_reasoning"), "{codes:?}");
    let source =
        json!({"model": "m", "reasoning": {"effort": "high"}, "max_output_tokens": 2000, "input": "go"});
    let mut cx = with(ReasoningStyle::Effort, 65_536);
    cx.quirks.max_completion_tokens = Some(true);
    let (found, _) = sent(OPENAI_RESPONSES, OPENAI_CHAT, &source, &cx);
    assert_eq!(
        (&found["reasoning_effort"], &found["max_completion_tokens"]),
        (&json!("high"), &json!(2_000))
    );
}

/// A schema for the answer, on the wires that have one.
#[test]
fn answers_that_follow_a_schema() {
    let schema = json!({"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"], "additionalProperties": false});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "city", "strict": true, "schema": schema}}});
    let (found, _) = sent(OPENAI_CHAT, ANTHROPIC, &body, &WriteContext::default());
    assert_eq!(found["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}));
    let (found, _) = sent(OPENAI_CHAT, GEMINI, &body, &WriteContext::default());
    assert_eq!(
        found["generationConfig"],
        json!({"responseMimeType": "application/json", "responseJsonSchema": schema})
    );
}

#[test]
fn hosts_get_what_they_want_beyond_their_wire() {
    let body = r#"{"model":"m","max_tokens":9,"system":"One.","messages":[
        {"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"r"}]},{"role":"system","content":"Two."},{"role":"user","content":"c"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = ANTHROPIC.read_request(&doc).unwrap().value;
    let mut cx = WriteContext::default();
    cx.quirks.system_first_only = true;
    cx.quirks.strict_alternation = true;
    cx.quirks.short_ids = true;
    let written = OPENAI_CHAT.write(&request, &cx).unwrap();
    let sent: Value = serde_json::from_slice(&written.body).unwrap();
    let roles: Vec<_> =
        sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(sent["messages"][0]["content"], "One.\n\nTwo.");
    let id = &sent["messages"][2]["tool_calls"][0]["id"];
    assert_eq!((id.as_str().unwrap().len(), id), (9, &sent["messages"][3]["tool_call_id"]));
}

/// An item that nobody knows is never dropped in silence.
#[test]
fn unknown_items_make_a_foreign_target_incapable() {
    for (wire, body) in [
        (
            "openai-responses",
            r#"{"model":"m","input":[{"type":"compaction","encrypted_content":"x"},{"role":"user","content":"x"}]}"#,
        ),
        (
            "openai-responses",
            r#"{"model":"m","input":[{"type":"new_sort_of_tools","tools":[]},{"role":"user","content":"x"}]}"#,
        ),
        (
            "anthropic-messages",
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"new_block","x":1}]}]}"#,
        ),
        (
            "openai-chat",
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"new_part","x":1}]}]}"#,
        ),
        ("gemini", r#"{"contents":[{"role":"user","parts":[{"newPart":1}]}]}"#),
    ] {
        let source = by_id(wire).unwrap();
        let doc = Doc::parse(body).unwrap();
        let request = source.read_request(&doc).unwrap().value;
        for target in omniroute_core::wire::WIRES {
            let written = target.write(&request, &WriteContext::default());
            if *target == source {
                assert!(written.unwrap().notes.is_empty(), "{wire}");
            } else {
                assert_eq!(
                    written.unwrap_err().code(),
                    "unsupported_content_part",
                    "{wire} -> {}",
                    target.id()
                );
            }
        }
    }
}
