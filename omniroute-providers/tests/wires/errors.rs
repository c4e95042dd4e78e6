//! Recorded error bodies, read to what classification needs; errors written for clients, read again.

use omniroute_core::Doc;
use omniroute_core::hub::{ErrorBody, Event, WriteContext};
use omniroute_core::wire::WireError;
use omniroute_providers::wires::HOSTED;

use crate::exchanges::{self, ReplyKind};
use crate::replies::items;

#[test]
fn every_recorded_error_is_understood() {
    let mut count = 0;
    for wire in HOSTED {
        for exchange in exchanges::of_wire(wire.id()).iter().filter(|e| e.kind == ReplyKind::Error) {
            let error = wire.read_error(exchange.status, &exchange.reply);
            let body: serde_json::Value = serde_json::from_slice(&exchange.reply).unwrap();
            assert_eq!(error.status, Some(exchange.status), "{}", exchange.label());
            assert_eq!(error.message, body["message"].as_str().unwrap(), "{}", exchange.label());
            if let Some(id) = body["id"].as_str() {
                assert_eq!(error.request_id.as_deref(), Some(id), "{}", exchange.label());
            }
            count += 1;
        }
    }
    println!("{count} recorded errors");
}

#[test]
fn errors_written_for_clients_are_errors() {
    let error = ErrorBody { status: Some(429), ..ErrorBody::own("rate_limited", "too many calls") };
    for wire in HOSTED {
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

#[test]
fn spellings_of_one_vendor() {
    for wire in HOSTED.iter().filter(|w| w.id() == "bedrock-converse") {
        let error = wire.read_error(403, br#"{"Message":"no access"}"#);
        assert_eq!((error.status, error.message.as_str()), (Some(403), "no access"));
        let page = wire.read_error(502, b"<html><title>Bad Gateway</title></html>");
        assert!(page.html && page.message == "Bad Gateway");
    }
}
