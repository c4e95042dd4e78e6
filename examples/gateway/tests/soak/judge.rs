//! What an answer has to be: whole, a stream with an end, or an error in the words of the client's wire, and its own.

use crate::common::http::Message;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) token: &'a str,
    pub(crate) anthropic: bool,
    pub(crate) streamed: bool,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Whole,
    Streamed,
    /// A stream that says that it broke off.
    Interrupted,
    /// An error of the client's wire.
    Refused,
    /// No answer, or one without an end: only while the gateway is killed.
    Broken,
    Wrong(String),
}

impl Outcome {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Outcome::Whole => "whole",
            Outcome::Streamed => "streamed",
            Outcome::Interrupted => "interrupted",
            Outcome::Refused => "refused",
            Outcome::Broken => "broken",
            Outcome::Wrong(_) => "wrong",
        }
    }
}

/// The same for people.
pub(crate) fn told(name: &str) -> &str {
    match name {
        "whole" => "answered whole",
        "streamed" => "streamed to the end",
        "interrupted" => "streams that ended with an error event of the client's wire",
        "refused" => "refused with an error of the client's wire",
        "broken" => "connections that broke while the gateway was killed",
        other => other,
    }
}

pub(crate) fn judge(asked: &Asked<'_>, answer: Option<&Message>) -> Outcome {
    let Some(answer) = answer.filter(|answer| !answer.cut) else { return Outcome::Broken };
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let wrong = |what: &str| Outcome::Wrong(format!("{what}: {} {}: {text}", asked.token, answer.line));
    // Words of streams are cut; whole ones end with a dot.
    let foreign = text.split("tok-").skip(1).any(|rest| {
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
        match rest.get(number.len()..).is_some_and(|rest| rest.starts_with('.')) {
            true => asked.token != format!("tok-{number}"),
            false => !asked.token.starts_with(&format!("tok-{number}")),
        }
    });
    if foreign {
        return wrong("the answer of somebody else");
    }
    let error_of_wire = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let said = value["error"]["message"].as_str().is_some_and(|message| !message.is_empty());
        said && (!asked.anthropic || value["type"] == "error")
    };
    match answer.status() {
        200 if asked.streamed => {
            let spoken: String = text
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .filter_map(|data| serde_json::from_str::<serde_json::Value>(data).ok())
                .filter_map(|event| {
                    let delta = if asked.anthropic {
                        &event["delta"]["text"]
                    } else {
                        &event["choices"][0]["delta"]["content"]
                    };
                    delta.as_str().map(str::to_owned)
                })
                .collect();
            let end = if asked.anthropic { "message_stop" } else { "data: [DONE]" };
            let error = text.lines().filter_map(|line| line.strip_prefix("data: ")).any(error_of_wire);
            match (text.contains(end), error) {
                (_, true) => Outcome::Interrupted,
                (true, false) if spoken == format!("{}.", asked.token) => Outcome::Streamed,
                (true, false) => wrong("a stream that says something else"),
                (false, false) => wrong("a stream without an end"),
            }
        }
        200 => {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let said = match asked.anthropic {
                true => value["content"][0]["text"].as_str(),
                false => value["choices"][0]["message"]["content"].as_str(),
            };
            match said {
                Some(said) if said == format!("{}.", asked.token) => Outcome::Whole,
                _ => wrong("an answer that says something else, or in another wire"),
            }
        }
        400.. if error_of_wire(&text) => Outcome::Refused,
        _ => wrong("neither an answer nor an error of the wire"),
    }
}

/// The twins: everything that must never happen is seen.
pub(crate) fn laws_catch_what_is_wrong() {
    let answer = |status: u16, body: &str| Message {
        line: format!("HTTP/1.1 {status} X"),
        body: body.as_bytes().to_vec(),
        ..Message::default()
    };
    let asked = |anthropic, streamed| Asked { token: "tok-1-2", anthropic, streamed };
    let event = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let whole = |text: &str| format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
    let rows: [(&str, Asked<'_>, String, bool); 11] = [
        ("an answer", asked(false, false), whole("tok-1-2."), false),
        ("the same for a client of the other wire", asked(true, false), whole("tok-1-2."), true),
        ("somebody else's", asked(false, false), whole("tok-3-2."), true),
        ("of another request", asked(false, false), whole("tok-1-21."), true),
        ("of a longer number", asked(false, false), whole("tok-1-2. tok-1-21."), true),
        ("of a shorter number", asked(false, false), whole("tok-1-2. tok-1."), true),
        ("a stream", asked(false, true), event("tok-1-2.") + "data: [DONE]\n\n", false),
        ("without an end", asked(false, true), event("tok-1-2."), true),
        ("without its words", asked(false, true), event("tok-1-2") + "data: [DONE]\n\n", true),
        ("twice", asked(false, true), event("tok-1-2.") + &event("tok-1-2.") + "data: [DONE]\n\n", true),
        ("nothing", asked(true, false), "{}".to_owned(), true),
    ];
    for (what, asked, body, wrong) in rows {
        let outcome = judge(&asked, Some(&answer(200, &body)));
        assert_eq!(matches!(outcome, Outcome::Wrong(_)), wrong, "{what}: {outcome:?}");
    }
    let openai = r#"{"error":{"message":"no"}}"#;
    assert_eq!(judge(&asked(false, false), Some(&answer(503, openai))), Outcome::Refused);
    assert!(
        matches!(judge(&asked(true, false), Some(&answer(503, openai))), Outcome::Wrong(_)),
        "the other wire"
    );
    assert_eq!(judge(&asked(false, false), None), Outcome::Broken);
}
