//! What another wire cannot carry is refused or noted, in whatever depth it stands: never lost in silence.

use omniroute_core::Doc;
use omniroute_core::hub::{Request, WriteContext};
use omniroute_core::wire::{OPENAI_CHAT, WIRES, Wire, by_id};
use serde_json::{Value, json};

use crate::noted;

/// A request of each wire with a member `new_N` that nobody knows in each object that may have one.
fn bodies() -> [(&'static str, (Value, usize)); 4] {
    let schema = json!({"type": "object", "properties": {}});
    let anthropic = json!({"model": "m", "max_tokens": 9, "new_0": 1, "output_config": {"new_1": 1},
        "tools": [{"name": "f", "input_schema": schema, "new_2": 1}],
        "messages": [{"role": "user", "new_3": 1, "content": [{"type": "text", "text": "x", "new_4": 1}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}, "new_5": 1}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "new_6": 1, "content": [{"type": "text", "text": "1", "new_7": 1}]}]}]});
    let gemini = json!({"new_0": 1, "generationConfig": {"new_1": 1, "thinkingConfig": {"thinkingBudget": 9, "new_2": 1}},
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}, "new_3": 1},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema, "new_4": 1}]}],
        "contents": [{"role": "user", "new_5": 1, "parts": [{"text": "x", "new_6": 1}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "new_7": 1}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}, "new_8": 1}]}]});
    let responses = json!({"model": "m", "new_0": 1, "reasoning": {"effort": "low", "new_1": 1}, "text": {"new_2": 1},
        "tools": [{"type": "function", "name": "f", "parameters": schema, "strict": false, "new_3": 1}],
        "input": [{"type": "message", "role": "user", "new_4": 1, "content": [{"type": "input_text", "text": "x", "new_5": 1}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "new_6": 1},
            {"type": "function_call_output", "call_id": "a", "output": "1", "new_7": 1}]});
    [
        ("openai-chat", noted::chat()),
        ("anthropic-messages", (anthropic, 8)),
        ("gemini", (gemini, 9)),
        ("openai-responses", (responses, 8)),
    ]
}

fn on<T>(source: Wire, body: &Value, then: impl FnOnce(&Request<'_>) -> T) -> T {
    let doc = Doc::parse(body.to_string()).unwrap();
    then(&source.read_request(&doc).unwrap().value)
}

#[test]
fn members_that_nobody_knows_are_noted_wherever_they_stand() {
    for (source, body) in bodies() {
        noted::requests(by_id(source).unwrap(), &body, WIRES.iter().copied());
    }
}

/// A search of the web is carried; what one vendor lets it be told is not.
#[test]
fn options_of_a_web_search_are_noted() {
    let messages = json!([{"role": "user", "content": "x"}]);
    let chat = |options: Value| json!({"model": "m", "web_search_options": options, "messages": messages});
    let with = |mut tool: Value, more: Value| {
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool
    };
    let anthropic = |more: Value| {
        let tool = with(json!({"type": "web_search_20250305", "name": "web_search"}), more);
        json!({"model": "m", "max_tokens": 9, "tools": [tool], "messages": messages})
    };
    let responses = |more: Value| json!({"model": "m", "tools": [with(json!({"type": "web_search"}), more)], "input": "x"});
    let gemini =
        |more: Value| json!({"tools": [{"googleSearch": more}], "contents": [{"parts": [{"text": "x"}]}]});
    for (source, plain, told) in [
        ("openai-chat", chat(json!({})), chat(json!({"search_context_size": "high"}))),
        ("anthropic-messages", anthropic(json!({})), anthropic(json!({"max_uses": 3}))),
        (
            "openai-responses",
            responses(json!({})),
            responses(json!({"filters": {"allowed_domains": ["a.b"]}})),
        ),
        ("gemini", gemini(json!({})), gemini(json!({"timeRangeFilter": {"startTime": "t"}}))),
    ] {
        let source = by_id(source).unwrap();
        for target in WIRES {
            for (body, lossy) in [(&plain, false), (&told, *target != source)] {
                let notes = on(source, body, |r| target.write(r, &WriteContext::default()).unwrap()).notes;
                let noted = notes.iter().any(|n| n.code == "param_dropped" && n.pointer == "/web search");
                assert_eq!(noted, lossy, "{} -> {}: {body} {notes:?}", source.id(), target.id());
            }
        }
    }
}

/// Who speaks has a name on one wire only.
#[test]
fn names_of_speakers_are_noted() {
    let body = json!({"model": "m", "messages": [{"role": "user", "name": "ann", "content": "x"}]});
    for target in WIRES {
        let notes = on(OPENAI_CHAT, &body, |r| target.write(r, &WriteContext::default()).unwrap()).notes;
        let noted = notes.iter().any(|n| n.pointer == "/message name");
        assert_eq!(noted, *target != OPENAI_CHAT, "{}", target.id());
    }
}

/// Wires have a name for these in common, but not the shape of the value.
#[test]
fn values_in_the_shape_of_another_wire_are_not_sent() {
    use omniroute_core::hub::{Json, Param};
    let gemini = by_id("gemini").unwrap();
    let mut request = Request::default();
    request.params.push((Param::SafetySettings, Json::of("\"STRICT\"")));
    for (wire, sent) in [("cohere", false), ("gemini", true)] {
        request.wire = wire;
        let written = gemini.write(&request, &WriteContext::default()).unwrap();
        assert_eq!(String::from_utf8_lossy(&written.body).contains("safetySettings"), sent, "from {wire}");
        assert_eq!(written.notes.iter().any(|n| n.pointer == "/safety settings"), !sent, "from {wire}");
    }
    let lists = json!({"model": "m", "context_management": [{"type": "compaction"}], "input": "x"});
    let objects = json!({"model": "m", "max_tokens": 9, "context_management": {"edits": []}, "messages": [{"role": "user", "content": "x"}]});
    let [responses, anthropic] = ["openai-responses", "anthropic-messages"].map(|id| by_id(id).unwrap());
    for (source, body, other) in [(responses, &lists, anthropic), (anthropic, &objects, responses)] {
        assert!(on(source, body, |r| source.write(r, &WriteContext::default())).is_ok());
        let refused = on(source, body, |r| other.write(r, &WriteContext::default())).unwrap_err();
        assert_eq!(refused.code(), "unsupported_param", "{}", source.id());
    }
}

#[test]
fn extras_of_replies_are_noted() {
    noted::replies(WIRES);
}
