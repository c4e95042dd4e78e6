//! An item of a stream that is being written: what was told of it, and what it is as a whole.

use super::reply::foreign_thought;
use crate::hub::{CallKind, PartKind, Seal, Spelling, Thought};
use crate::wire::json::JsonWriter;

/// An item that is being written.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) part: u32,
    pub(super) index: u32,
    pub(super) id: String,
    pub(super) kind: PartKind,
    /// The text so far, by paragraph.
    pub(super) text: Vec<String>,
    pub(super) seal: Option<Seal<'static>>,
    pub(super) logprobs: Vec<String>,
    pub(super) annotations: Vec<String>,
}

impl Item {
    /// No arguments are an empty object.
    pub(super) fn arguments(&self) -> &str {
        match self.text.first() {
            Some(text) if !text.is_empty() => text,
            _ if matches!(self.kind, PartKind::Call { kind: CallKind::Custom, .. }) => "",
            _ => "{}",
        }
    }

    /// The only content part of a message.
    pub(super) fn content(&self) -> String {
        let mut json = JsonWriter::default();
        let whole = self.text.concat();
        if self.kind == PartKind::Refusal {
            json.object().key("type").text("refusal").key("refusal").text(&whole).end_object();
            return json.finish();
        }
        json.object().key("type").text("output_text").key("text").text(&whole).key("annotations").array();
        self.annotations.iter().for_each(|a| _ = json.raw(a));
        json.end_array();
        let lists: Vec<_> = self.logprobs.iter().filter(|l| !l.is_empty()).map(String::as_str).collect();
        if !lists.is_empty() {
            json.key("logprobs").raw(&format!("[{}]", lists.join(",")));
        }
        json.end_object();
        json.finish()
    }

    /// The item as it stands.
    pub(super) fn body(&self, done: bool) -> String {
        let mut json = JsonWriter::default();
        let status = if done { "completed" } else { "in_progress" };
        match &self.kind {
            PartKind::Call { id, name, kind, .. } => {
                let custom = *kind == CallKind::Custom;
                json.object().key("type").text(if custom { "custom_tool_call" } else { "function_call" });
                json.key("id")
                    .text(&self.id)
                    .key("status")
                    .text(status)
                    .key("call_id")
                    .text(id)
                    .key("name")
                    .text(name);
                json.key(if custom { "input" } else { "arguments" });
                json.text(if done { self.arguments() } else { "" }).end_object();
            }
            PartKind::Thought { .. } => {
                let texts = self.text.iter().map(|t| t.as_str().into()).collect();
                let told = Thought {
                    text: texts,
                    summary: true,
                    seal: self.seal.clone(),
                    ..Thought::new("".into(), Spelling::Block)
                };
                foreign_thought(&told, &self.id, &mut json);
            }
            _ => {
                json.object().key("type").text("message").key("id").text(&self.id);
                json.key("role").text("assistant").key("status").text(status).key("content").array();
                if done {
                    json.raw(&self.content());
                }
                json.end_array().end_object();
            }
        }
        json.finish()
    }
}
