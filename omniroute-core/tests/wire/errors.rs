//! Recorded error bodies, read to what classification needs; errors written for clients, read again.

use omniroute_core::Doc;
use omniroute_core::hub::{ErrorBody, Event, WriteContext};
use omniroute_core::wire::{WIRES, WireError, by_id};

use crate::exchanges::{self, ReplyKind};
use crate::replies::items;

#[test]
fn every_recorded_error_is_understood() {
    let (mut count, mut typed, mut coded) = (0, 0, 0);
    for exchange in exchanges::all().iter().filter(|e| e.kind == ReplyKind::Error) {
        let wire = by_id(exchange.wire).unwrap_or(WIRES[0]); // all wires read the shapes of all vendors
        let error = wire.read_error(exchange.status, &exchange.reply);
        let label = exchange.label();
        assert_eq!(error.status, Some(exchange.status), "{label}");
        assert!(
            !error.message.is_empty() && !error.message.starts_with(['{', '[']),
            "{label}: {}",
            error.message
        );
        let body: serde_json::Value = serde_json::from_slice(&exchange.reply).unwrap_or_default();
        let inner = if body["error"].is_object() { &body["error"] } else { &body };
        if let Some(message) = inner["message"].as_str() {
            assert_eq!(error.message, message, "{label}");
        }
        let text = |v: &serde_json::Value| {
            v.as_str().map(str::to_owned).or_else(|| v.as_i64().map(|n| n.to_string()))
        };
        if inner["type"].is_string() {
            assert_eq!(error.kind, text(&inner["type"]), "{label}");
            typed += 1;
        }
        if let Some(code) = text(&inner["code"]) {
            assert_eq!(error.code.as_deref(), Some(code.as_str()), "{label}");
            coded += 1;
        }
        assert_eq!(error.param, text(&inner["param"]), "{label}");
        if inner["n_ctx"].is_u64() {
            assert_eq!(error.limits.max, inner["n_ctx"].as_u64(), "{label}");
            assert_eq!(error.limits.asked, inner["n_prompt_tokens"].as_u64(), "{label}");
        }
        count += 1;
    }
    println!("{count} recorded errors, {typed} with a type, {coded} with a code");
}

#[test]
fn errors_written_for_clients_are_errors() {
    let error = ErrorBody { status: Some(429), ..ErrorBody::own("rate_limited", "too many calls") };
    for wire in WIRES {
        let body = wire.write_error(&error);
        assert_eq!(wire.read_error(429, &body).message, "too many calls", "{}", wire.id());
        let doc = Doc::parse(body).unwrap();
        assert!(matches!(wire.read_reply(&doc), Err(WireError::Vendor(_))), "{}", wire.id());
        // In a stream, after it began and before.
        for begun in [false, true] {
            let mut writer = wire.stream_writer(&WriteContext::default()).unwrap();
            let mut bytes = Vec::new();
            if begun {
                writer.write(&Event::Start(Default::default()), &mut bytes);
            }
            writer.write(&Event::Error(error.clone()), &mut bytes);
            assert!(!String::from_utf8_lossy(&bytes).contains("[DONE]"));
            let read = items(*wire, &bytes, &[]);
            let last = read.iter().flat_map(|i| &i.events).last();
            let Some(Event::Error(found)) = last else { panic!("{}: {last:?}", wire.id()) };
            assert_eq!(found.message, "too many calls", "{}", wire.id());
        }
    }
}
