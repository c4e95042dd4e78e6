//! What a router gives back.

use std::cell::RefCell;
use std::fmt;

use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi_derive::napi;
use omniroute::router as rust;
use omniroute::router::{ToldEvent, ToldUsage};
use omniroute::{Error, core::wire};
use serde_json::{Value, json};

use crate::errors::{facts, raised};

/// A whole answer.
#[napi]
#[derive(Debug)]
pub struct Reply {
    reply: rust::Reply,
}

impl Reply {
    pub(crate) fn new(reply: rust::Reply) -> Self {
        Reply { reply }
    }
}

#[napi]
impl Reply {
    /// The answer in the wire of the request.
    #[napi]
    pub fn body(&self) -> Buffer {
        self.reply.body().to_vec().into()
    }

    /// What the answer says, as JSON text.
    #[napi]
    pub fn told(&self) -> napi::Result<String> {
        let told = self.reply.told().map_err(|error| raised(&error))?;
        serde_json::to_string(&told).map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    /// Who was asked, why, what it took, as JSON text.
    #[napi]
    pub fn receipt(&self) -> String {
        self.reply.receipt_json()
    }
}

/// Reads the pieces of a streamed answer.
#[napi]
pub struct Events {
    events: RefCell<rust::Events>,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

#[napi]
impl Events {
    /// Of an answer in this wire.
    #[napi(constructor)]
    pub fn new(wire: String) -> napi::Result<Self> {
        let known = wire::by_id(&wire)
            .ok_or_else(|| raised(&Error::new("unknown_wire", format!("wire {wire:?} is not known"))))?;
        Ok(Events { events: RefCell::new(rust::Events::new(known)) })
    }

    /// What the next piece says, as JSON text of a list; without a piece, the answer has ended.
    #[napi]
    pub fn feed(&self, piece: Option<Uint8Array>) -> String {
        let mut events = self.events.borrow_mut();
        let found = match piece {
            Some(piece) => events.feed(piece.to_vec()),
            None => events.end(),
        };
        Value::Array(found.into_iter().filter_map(event).collect()).to_string()
    }
}

fn event(event: ToldEvent) -> Option<Value> {
    Some(match event {
        ToldEvent::Text(text) => json!({ "type": "text", "text": text }),
        ToldEvent::Reasoning(text) => json!({ "type": "reasoning", "text": text }),
        ToldEvent::ToolCall { index, id: Some(id), name: Some(name), arguments } => {
            json!({ "type": "tool_call", "index": index, "id": id, "name": name, "arguments": arguments })
        }
        ToldEvent::ToolCall { index, arguments, .. } => {
            json!({ "type": "tool_call", "index": index, "arguments": arguments })
        }
        ToldEvent::Usage(ToldUsage { input, output, cached, reasoning, .. }) => {
            json!({ "type": "usage", "input": input, "output": output, "cached": cached, "reasoning": reasoning })
        }
        ToldEvent::Stop(reason) => json!({ "type": "stop", "reason": reason }),
        ToldEvent::Failed(error) => json!({ "type": "failed", "error": facts(&error) }),
        _ => return None,
    })
}
