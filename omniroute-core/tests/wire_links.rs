//! Tool results know the call they answer, in all wires, and texts inside JSON outputs are found and kept in place.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/fixtures.rs"]
mod fixtures;

use fixtures::bodies;
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Doc, Patch, SegmentKind, Transcript};

/// Place of a result; then tool, command and path of the call it answers, `None` if it answers none.
type Link = (&'static str, Option<(&'static str, &'static str, &'static str)>);

/// The same, as read.
type Found = (String, Option<(String, String, String)>);

/// All links of a body. A missing command or path reads as `-`.
fn links(wire: Wire, body: &[u8]) -> Vec<Found> {
    let request = ChatRequest::parse(wire, body.to_vec()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let results = transcript.segments().iter().enumerate().filter(|(_, s)| s.kind == SegmentKind::ToolResult);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    results
        .map(|(index, s)| {
            assert!(s.call.is_none_or(|call| call < index), "a call comes earlier");
            let call = transcript.call_of(s);
            (s.id.to_string(), call.map(|c| (c.tool.clone(), or_dash(&c.command), or_dash(&c.path))))
        })
        .collect()
}

fn agrees(found: &[Found], expected: &[Link]) -> Result<(), String> {
    let plain = |(id, call): &Link| {
        let owned = |(tool, command, path): (&str, &str, &str)| {
            (tool.to_owned(), command.to_owned(), path.to_owned())
        };
        ((*id).to_owned(), call.map(owned))
    };
    let same = found.iter().cloned().eq(expected.iter().map(plain));
    if same { Ok(()) } else { Err(format!("{found:?}\nexpected {expected:?}")) }
}

#[test]
fn results_of_the_fixtures_know_their_calls() {
    let cases: [(Wire, &str, &[Link]); 14] = [
        (
            wire::OPENAI_CHAT,
            "03-parallel-tools-reordered",
            &[
                ("3.0.0", Some(("run_terminal_cmd", "cargo test -p tidepool-core --color always", "-"))),
                ("4.0.0", Some(("list_dir", "-", "-"))),
                ("5.0.0", Some(("list_stations", "-", "-"))),
            ],
        ),
        (
            wire::OPENAI_CHAT,
            "04-read-then-cat",
            &[
                ("3.0.0", Some(("read_file", "-", "core/src/station.rs"))),
                ("5.0.0", Some(("bash", "cat core/src/station.rs", "-"))),
                ("7.0.0", Some(("bash", "sed -n '30,62p' core/src/station.rs", "-"))),
                ("8.0.0", Some(("read_file", "-", "core/src/station.rs"))),
            ],
        ),
        (wire::OPENAI_CHAT, "16-unknown-everywhere", &[("4.0.0", None)]),
        (
            wire::ANTHROPIC,
            "03-read-then-cat",
            &[
                ("2.0.0", Some(("Read", "-", "/srv/app/core/src/station.rs"))),
                ("4.0.0", Some(("Bash", "cat core/src/station.rs", "-"))),
                ("4.1.0", Some(("Bash", "cat core/src/station.rs", "-"))),
                ("6.0.0", Some(("Read", "-", "/srv/app/core/src/station.rs"))),
            ],
        ),
        (
            wire::ANTHROPIC,
            "04-tool-result-shapes",
            &[
                ("2.0.0", Some(("Bash", "make", "-"))),
                ("2.2.0", Some(("Glob", "-", "-"))),
                ("2.3.0", Some(("screenshot", "-", "-"))),
                ("2.3.2", Some(("screenshot", "-", "-"))),
                ("2.5.1", Some(("ToolSearch", "-", "-"))),
                ("4.0.0", None),
            ],
        ),
        (wire::ANTHROPIC, "09-escapes-mixed", &[("2.0.0", Some(("get_level", "-", "-")))]),
        (
            wire::OPENAI_RESPONSES,
            "04-read-then-cat",
            &[
                ("2.0.0", Some(("read_file", "-", "/srv/app/ferry/crossing.go"))),
                ("4.0.0", Some(("shell", "cat ferry/crossing.go", "-"))),
                ("7.0.0", Some(("shell", "sed -n '20,48p' ferry/crossing.go", "-"))),
                ("8.0.0", Some(("shell", "cat ferry/crossing.go", "-"))),
            ],
        ),
        (
            wire::OPENAI_RESPONSES,
            "15-unknown-everywhere",
            &[("2.0.0", Some(("", "-", "-"))), ("3.0.0", None)],
        ),
        (
            wire::OPENAI_RESPONSES,
            "09-pytest-progress",
            &[
                ("2.0.0", Some(("local_shell_call", "pip install tidekit", "-"))),
                ("4.0.0", Some(("local_shell_call", "pytest --color=yes", "-"))),
            ],
        ),
        (
            wire::GEMINI,
            "03-shell-nested-response",
            &[
                ("2.0.0", Some(("run_shell_command", "cargo test --color always", "-"))),
                ("2.0.1", Some(("run_shell_command", "cargo test --color always", "-"))),
                ("2.0.2", Some(("run_shell_command", "cargo test --color always", "-"))),
                ("2.0.3", Some(("run_shell_command", "cargo test --color always", "-"))),
                ("2.0.4", Some(("run_shell_command", "cargo test --color always", "-"))),
                ("2.0.5", Some(("run_shell_command", "cargo test --color always", "-"))),
            ],
        ),
        (
            wire::GEMINI,
            "04-read-then-cat",
            &[
                ("2.0.0", Some(("read_file", "-", "/srv/app/src/planner.ts"))),
                ("4.0.0", Some(("run_shell_command", "cat src/planner.ts", "-"))),
                ("6.0.0", Some(("run_shell_command", "cat src/planner.ts", "-"))),
                ("6.1.0", Some(("read_file", "-", "/srv/app/src/planner.ts"))),
            ],
        ),
        (
            wire::GEMINI,
            "05-ids-reordered-rows",
            &[
                ("2.1.0", Some(("list_stations", "-", "-"))),
                ("2.1.1", Some(("list_stations", "-", "-"))),
                ("2.2.0", Some(("list_bookings", "-", "-"))),
            ],
        ),
        (
            wire::GEMINI,
            "08-signed-parts",
            &[
                ("2.0.0", Some(("run_shell_command", "cat ingest.log", "-"))),
                ("2.1.0", Some(("run_shell_command", "tail -n 22 ingest.log", "-"))),
            ],
        ),
        (
            wire::GEMINI,
            "12-pytest-twice",
            &[
                ("2.0.0", Some(("shell", "pytest --color=yes", "-"))),
                ("4.0.0", Some(("shell", "pytest --color=yes", "-"))),
            ],
        ),
    ];
    let all = bodies();
    for (wire, name, expected) in cases {
        let fixture = all.iter().find(|f| f.wire == wire && f.name == name).unwrap();
        agrees(&links(wire, &fixture.body), expected).unwrap_or_else(|e| panic!("{fixture}: {e}"));
        if let [_, (_, Some(_)), ..] = expected {
            // Twin: a reading that links every result to the call of the one before.
            let mut shifted = links(wire, &fixture.body);
            let calls: Vec<_> = shifted.iter().map(|(_, call)| call.clone()).collect();
            shifted
                .iter_mut()
                .zip(calls.into_iter().cycle().skip(1))
                .for_each(|((_, call), other)| *call = other);
            let alike = expected.windows(2).all(|w| w[0].1 == w[1].1);
            assert_eq!(agrees(&shifted, expected).is_ok(), alike, "{fixture}");
        }
    }
}

#[test]
fn results_of_small_bodies_know_their_calls() {
    let cases: [(&str, Wire, &str, &[Link]); 10] = [
        (
            "functions of old clients go by name, oldest first",
            wire::OPENAI_CHAT,
            r#"{"messages":[
            {"role":"assistant","function_call":{"name":"sh","arguments":"{\"command\":\"one\"}"}},
            {"role":"function","name":"sh","content":"1"},
            {"role":"assistant","function_call":{"name":"sh","arguments":"{\"command\":\"two\"}"}},
            {"role":"function","name":"sh","content":"2"},
            {"role":"function","name":"sh","content":"no call is left"}]}"#,
            &[("1.0.0", Some(("sh", "one", "-"))), ("3.0.0", Some(("sh", "two", "-"))), ("4.0.0", None)],
        ),
        (
            "an id that is used again means the later call",
            wire::OPENAI_CHAT,
            r#"{"messages":[
            {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"sh","arguments":"{\"command\":\"one\"}"}}]},
            {"role":"tool","tool_call_id":"c","content":"1"},
            {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"sh","arguments":"{\"command\":\"two\"}"}}]},
            {"role":"tool","tool_call_id":"c","content":"2"}]}"#,
            &[("1.0.0", Some(("sh", "one", "-"))), ("3.0.0", Some(("sh", "two", "-")))],
        ),
        (
            "escapes in ids and names do not matter",
            wire::ANTHROPIC,
            r#"{"messages":[
            {"role":"assistant","content":[{"type":"tool_use","id":"\u0061b","name":"\u0062ash","input":{"comm\u0061nd":"ls"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a\u0062","content":"1"}]}]}"#,
            &[("1.0.0", Some(("bash", "ls", "-")))],
        ),
        (
            "a call after its result is none",
            wire::ANTHROPIC,
            r#"{"messages":[
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{"command":"ls"}}]}]}"#,
            &[("0.0.0", None)],
        ),
        (
            "other results are not confused",
            wire::OPENAI_RESPONSES,
            r#"{"input":[
            {"type":"function_call","call_id":"a","name":"f","arguments":"{\"path\":\"x\"}"},
            {"type":"custom_tool_call","call_id":"b","name":"g","input":"*** Begin Patch\n*** Add File: y\n"},
            {"type":"custom_tool_call_output","call_id":"b","output":"1"},
            {"type":"function_call_output","call_id":"c","output":"2"},
            {"type":"function_call_output","call_id":"a","output":"3"}]}"#,
            &[("2.0.0", Some(("g", "-", "y"))), ("3.0.0", None), ("4.0.0", Some(("f", "-", "x")))],
        ),
        (
            "every stream of a shell call",
            wire::OPENAI_RESPONSES,
            r#"{"input":[
            {"type":"shell_call","call_id":"a","action":{"commands":["ls"]}},
            {"type":"shell_call_output","call_id":"a","output":[{"stdout":"1","stderr":"2","outcome":{"type":"exit","exit_code":3}}]}]}"#,
            &[("1.0.0", Some(("shell_call", "ls", "-"))), ("1.0.1", Some(("shell_call", "ls", "-")))],
        ),
        (
            "a call without arguments",
            wire::GEMINI,
            r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"noop"}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"noop","response":{"o":"x"}}}]}]}"#,
            &[("1.0.0", Some(("noop", "-", "-")))],
        ),
        (
            "arguments that are no JSON are no command",
            wire::OPENAI_CHAT,
            r#"{"messages":[
            {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{\"command\":\"ls"}},
                {"id":"b","function":{"name":"bash","arguments":""}}]},
            {"role":"tool","tool_call_id":"a","content":"x"},{"role":"tool","tool_call_id":"b","content":"y"}]}"#,
            &[("1.0.0", Some(("bash", "-", "-"))), ("2.0.0", Some(("bash", "-", "-")))],
        ),
        (
            "an id is not a name",
            wire::GEMINI,
            r#"{"contents":[
            {"role":"model","parts":[{"functionCall":{"id":"i","name":"f","args":{"path":"x"}}}]},
            {"role":"user","parts":[{"functionResponse":{"id":"j","name":"f","response":{"o":"LEAF"}}},
                {"functionResponse":{"name":"i","response":{"o":"LEAF"}}},
                {"functionResponse":{"name":"f","response":{"o":"LEAF"}}}]}]}"#,
            &[("1.0.0", None), ("1.1.0", None), ("1.2.0", Some(("f", "-", "x")))],
        ),
        (
            "calls without ids are answered in order",
            wire::GEMINI,
            r#"{"contents":[
            {"role":"model","parts":[{"functionCall":{"name":"f","args":{"path":"x"}}},
                {"functionCall":{"name":"g","args":{"path":"y"}}},{"functionCall":{"name":"f","args":{"path":"z"}}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"g","response":{"o":"LEAF"}}},
                {"functionResponse":{"name":"f","response":{"o":"LEAF"}}},
                {"functionResponse":{"name":"f","response":{"o":"LEAF"}}}]}]}"#,
            &[
                ("1.0.0", Some(("g", "-", "y"))),
                ("1.1.0", Some(("f", "-", "x"))),
                ("1.2.0", Some(("f", "-", "z"))),
            ],
        ),
    ];
    for (name, wire, body, expected) in cases {
        let body = body.replace("LEAF", &"long ".repeat(50));
        agrees(&links(wire, body.as_bytes()), expected).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Text and exit code of the only result.
fn result(request: &ChatRequest) -> (String, Option<i32>) {
    let transcript = Transcript::of(request).unwrap();
    let mut results = transcript.segments().iter().filter(|s| s.kind == SegmentKind::ToolResult);
    let found = results.next().map(|s| (s.original().to_owned(), s.exit_code()));
    assert!(results.next().is_none());
    found.unwrap()
}

fn output(literal: &str) -> ChatRequest {
    let body =
        format!(r#"{{"input" : [ {{"type":"function_call_output","call_id":"c", "output" : {literal} }}]}}"#);
    ChatRequest::parse(wire::OPENAI_RESPONSES, body).unwrap()
}

#[test]
fn the_text_inside_an_output_is_found_and_its_surroundings_are_kept() {
    // Inner document, with `@` where the literal of the text stands; exit code.
    let envelopes = [
        (r#"{"output":@,"metadata":{"exit_code":1,"duration_seconds":0.10}}"#, Some(1)),
        (
            " {\n\t\"metadata\" : { \"exit_code\" : -7 , \"t\" : 5E-1 } ,\r\n \"\\u006futput\" : @ , \"é\":\"\\u00e9\\/\" } \n",
            Some(-7),
        ),
        (r#"{"exit_code":3,"output":@}"#, Some(3)),
        (r#"{"output":"first","output":@}"#, None),
        (r#"{"output":@,"metadata":{"exit_code":1.0}}"#, None),
        (r#"{"output":@,"metadata":{"exit_code":99999999999}}"#, None),
        (r#"{"output":@,"metadata":null}"#, None),
        (r#"{"metadata":{"output":"decoy","exit_code":0},"output":@}"#, Some(0)),
    ];
    for (envelope, exit_code) in envelopes {
        for text in ["", "plain", "two\nlines \"q\" \\ é🌊\u{1b}[0m", "{\"output\":\"inner\"}"] {
            let literal = serde_json::to_string(text).unwrap();
            let inner = envelope.replace('@', &literal);
            let request = output(&serde_json::to_string(&inner).unwrap());
            assert_eq!(result(&request), (text.to_owned(), exit_code), "{inner}");
            let transcript = Transcript::of(&request).unwrap();
            let segment = transcript.segments().iter().find(|s| s.kind == SegmentKind::ToolResult).unwrap();
            let new = "new \"text\"\n";
            let mut patch = Patch::new();
            patch.set_escaped(segment.node().unwrap(), segment.literal_for(new).into());
            let edited = Doc::parse(request.doc().splice(&patch).unwrap()).unwrap();
            let item = edited.elements(edited.get(edited.root(), "input").unwrap()).next().unwrap();
            let written = edited.str(edited.get(item, "output").unwrap()).unwrap().into_owned();
            assert_eq!(
                written,
                envelope.replace('@', &serde_json::to_string(new).unwrap()),
                "all but the text is kept"
            );
        }
    }
}

#[test]
fn what_is_no_envelope_is_the_text_itself() {
    for text in [
        "",
        "plain",
        "{\"output\":\"cut",
        "{\"output\":{\"not\":\"a string\"}}",
        "\"a JSON string\"",
        "[{\"output\":\"x\"}]",
        "{\"outputs\":\"x\"}",
        "{\"output\":\"x\"} and more",
        "{\"output\":\"\\ud83c\"}",
        "{\"output\":null}",
    ] {
        assert_eq!(result(&output(&serde_json::to_string(text).unwrap())), (text.to_owned(), None));
    }
    // Only the wire that has such envelopes opens them.
    let body = r#"{"messages":[{"role":"tool","tool_call_id":"c","content":"{\"output\":\"x\"}"}]}"#;
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    assert_eq!(result(&request).0, r#"{"output":"x"}"#);
}

#[test]
fn exit_codes_beside_the_text_are_found() {
    let object = output(r#"{"output":"text","metadata":{"exit_code":2,"duration_seconds":12.50}}"#);
    assert_eq!(result(&object), ("text".to_owned(), Some(2)));
    let body = r#"{"input":[{"type":"shell_call_output","call_id":"a","output":[{"stdout":"text","outcome":{"exit_code":4}}]}]}"#;
    assert_eq!(
        result(&ChatRequest::parse(wire::OPENAI_RESPONSES, body).unwrap()),
        ("text".to_owned(), Some(4))
    );
    let body = format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"functionResponse":{{"name":"f","response":{{"stdout":"{}","exitCode":5}}}}}}]}}]}}"#,
        "x".repeat(300)
    );
    assert_eq!(result(&ChatRequest::parse(wire::GEMINI, body).unwrap()).1, Some(5));
}
