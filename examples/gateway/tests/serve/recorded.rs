//! Vendors that answer with what real ones have said.

use std::time::Duration;

use serde_json::Value;

use super::common::gateway::Gateway;
use super::common::http::{Said, Vendor};

/// Wire, file of recordings, path at the vendor, path at the gateway.
const WIRES: [(&str, &str, &str, &str); 4] = [
    ("openai-chat", "groq", "/chat/completions", "/v1/chat/completions"),
    ("openai-responses", "openai", "/responses", "/v1/responses"),
    ("anthropic-messages", "anthropic", "/messages", "/v1/messages"),
    ("gemini", "gemini", "enerateContent", "/v1beta/models"),
];

fn recordings(file: &str, path: &str) -> Option<Vec<Value>> {
    let folder = std::env::var("OMNIROUTE_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
    let text = std::fs::read_to_string(format!("{folder}/exchanges/{file}.jsonl")).ok()?;
    let all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let fits = |one: &Value| {
        let request = &one["request"];
        request["path"].as_str().is_some_and(|told| told.ends_with(path))
            && request["body"].as_str().is_some_and(|body| body.starts_with('{'))
            && one["response"]["body"].is_string()
            && one["response"]["status"] == 200
    };
    Some(all.filter(fits).collect())
}

/// Every recorded answer, whole and streamed, passes byte for byte to a client of its own wire.
#[test]
fn recorded_answers_pass_byte_for_byte() {
    let mut missing = 0;
    for (wire, file, path, ours) in WIRES {
        let Some(all) = recordings(file, path) else {
            missing += 1;
            continue;
        };
        let streamed =
            |one: &&Value| one["response"]["body"].as_str().is_some_and(|body| !body.starts_with('{'));
        let mut chosen: Vec<&Value> = all.iter().filter(streamed).take(8).collect();
        chosen.extend(all.iter().filter(|one| !streamed(one)).take(8));
        assert!(chosen.len() >= 4, "{wire}: {}", chosen.len());
        let bodies: Vec<(bool, String)> = chosen
            .iter()
            .map(|one| (streamed(one), one["response"]["body"].as_str().unwrap().to_owned()))
            .collect();
        let script = bodies.clone();
        let vendor = Vendor::new(move |_, number| match &script[number] {
            (false, body) => Said::whole(200, body.clone()),
            (true, body) => {
                // In pieces of odd sizes: events do not come one by one.
                let pieces: Vec<String> =
                    body.as_bytes().chunks(777).map(|p| String::from_utf8_lossy(p).into_owned()).collect();
                let whole: Vec<&str> = pieces.iter().map(String::as_str).collect();
                if whole.concat() == *body {
                    Said::stream(&whole, Duration::ZERO)
                } else {
                    Said::stream(&[body], Duration::ZERO)
                }
            }
        });
        let base = if wire == "gemini" { "v1beta" } else { "v1" };
        let config = format!(
            "[[providers]]\nid = \"v1\"\nwire = \"{wire}\"\nbase_url = \"http://127.0.0.1:{}/{base}\"\n\
             [[connections]]\nid = \"v1/a\"\n[compression]\nmode = \"off\"\n",
            vendor.port
        );
        let gateway = Gateway::start(&config);
        for (one, (streamed, body)) in chosen.iter().zip(&bodies) {
            let mut request: Value = serde_json::from_str(one["request"]["body"].as_str().unwrap()).unwrap();
            let path = if wire == "gemini" {
                let verb = if *streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
                format!("{ours}/v1/m:{verb}")
            } else {
                request["model"] = "v1/m".into();
                ours.to_owned()
            };
            let answer = gateway.post(&path, &request);
            let name = &one["name"];
            assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
            if *streamed {
                let plain = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
                assert_eq!(plain(answer.text()), plain(body), "{name}");
            } else {
                assert_eq!(answer.text(), body, "{name}");
            }
        }
    }
    assert!(missing == 0 || std::env::var_os("CI").is_none(), "recordings are missing");
    if missing > 0 {
        eprintln!("skipped: {missing} of 4 wires, their recordings are not here");
    }
}
