//! What a provider's answer is worth: whether it is one, and how it looks in the client's wire.

use bytes::Bytes;
use omniroute_core::hub::{Arguments, Delta, ErrorBody, Event, Part, PartKind, Reply, Usage, WriteContext};
use omniroute_core::wire::{self, ToolNames, Wire, WireError};
use omniroute_core::{Doc, Evidence, Failure, FailureKind, Phase, Scope};

use super::stream::empty;
use crate::combo::ReplyRules;

/// A whole answer that is one.
#[derive(Debug)]
pub(super) struct Checked {
    /// In the client's wire.
    pub(super) body: Bytes,
    pub(super) usage: Option<Usage>,
    /// What was said, for those who work on with it.
    pub(super) text: String,
    /// Remarks of reading and writing, as codes.
    pub(super) notes: Vec<&'static str>,
}

/// How an answer is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lens<'a> {
    /// The wire of the client.
    pub(super) client: Wire,
    pub(super) context: &'a WriteContext,
    /// The request ends with the result of a tool: then saying nothing can be right.
    pub(super) tool_tail: bool,
    /// What tools are called at the target, if not what the client calls them.
    pub(super) names: &'a ToolNames,
    /// What was said is wanted as text.
    pub(super) text: bool,
    /// What the answer has to look like beside being one.
    pub(super) rules: Option<&'a ReplyRules>,
    /// Calls whose arguments nobody can read are not taken; the second time they are.
    pub(super) strict: bool,
}

/// Checks a whole answer and writes it for the client.
///
/// # Errors
/// If it is no answer: an error in a success, nothing said, not readable.
pub(super) fn check(doc: &Doc, from: Wire, lens: Lens<'_>) -> Result<Checked, Failure> {
    let same = from == lens.client;
    let mut read = match from.read_reply(doc) {
        Ok(read) => read,
        Err(WireError::Unsupported { .. }) if same => {
            let body = doc.bytes().clone();
            return Ok(Checked { body, usage: None, text: String::new(), notes: Vec::new() });
        }
        Err(WireError::Vendor(error)) if empty(&error) => {
            if same && lens.tool_tail && trusted(from) && said_so(doc) {
                let body = doc.bytes().clone();
                return Ok(Checked {
                    body,
                    usage: None,
                    text: String::new(),
                    notes: vec!["legitimate_empty"],
                });
            }
            return Err(of_error(&error, Phase::BodyComplete));
        }
        Err(WireError::Vendor(error)) => return Err(of_error(&error, Phase::BodyComplete)),
        Err(error) => return Err(bad("bad_json", Scope::Provider, &error.to_string())),
    };
    lens.names.restore(&mut read.value);
    let mut notes: Vec<&'static str> = read.notes.iter().map(|note| note.code).collect();
    let checked = whole(&read.value, lens, &mut notes)?;
    if same {
        return Ok(Checked { body: doc.bytes().clone(), notes, ..checked });
    }
    written(&read.value, lens, checked, notes)
}

/// The same for an answer that was put together from a stream.
pub(super) fn check_built(reply: &Reply<'_>, lens: Lens<'_>) -> Result<Checked, Failure> {
    let mut notes = Vec::new();
    let checked = whole(reply, lens, &mut notes)?;
    written(reply, lens, checked, notes)
}

/// The same for a stream that is there to its end and is passed on as it came; with it the remarks.
///
/// # Errors
/// As [`check`].
pub(super) fn check_stream(reply: &Reply<'_>, lens: Lens<'_>) -> Result<Vec<&'static str>, Failure> {
    let mut notes = Vec::new();
    whole(reply, lens, &mut notes)?;
    Ok(notes)
}

fn written(
    reply: &Reply<'_>,
    lens: Lens<'_>,
    checked: Checked,
    mut notes: Vec<&'static str>,
) -> Result<Checked, Failure> {
    let written = lens.client.write_reply(reply, lens.context).map_err(|error| untold(&error))?;
    notes.extend(written.notes.iter().map(|note| note.code));
    Ok(Checked { body: written.body, notes, ..checked })
}

fn whole(reply: &Reply<'_>, lens: Lens<'_>, notes: &mut Vec<&'static str>) -> Result<Checked, Failure> {
    if reply.is_empty() {
        return Err(bad("empty_reply", Scope::Model, "the answer has no content"));
    }
    let parts = || reply.choices.iter().flat_map(|choice| &choice.turn.parts);
    let said = parts().any(|part| match part {
        Part::Text(text) | Part::Refusal(text) => !text.text.is_empty(),
        Part::Thought(_) => false,
        _ => true,
    });
    let usage = reply.usage.clone();
    let thought = usage.as_ref().and_then(|usage| Some((usage.reasoning?, usage.output)));
    if !said
        && parts().any(|part| matches!(part, Part::Thought(_)))
        && thought.is_none_or(|(reasoning, output)| reasoning.saturating_mul(10) >= output.saturating_mul(9))
    {
        return Err(bad("reasoning_only", Scope::Model, "the answer is nothing but reasoning"));
    }
    let unreadable = |part: &Part<'_>| match part {
        Part::Call(call) => match &call.arguments {
            Arguments::Text(text) => !text.is_empty() && Doc::check(&text.decode()).is_err(),
            _ => false,
        },
        _ => false,
    };
    if parts().any(unreadable) {
        if lens.strict {
            let message = "a call of a tool has arguments that are no JSON";
            return Err(bad("bad_tool_arguments", Scope::Model, message));
        }
        notes.push("bad_tool_arguments");
    }
    let mut text = String::new();
    if lens.text || lens.rules.is_some() {
        for part in parts() {
            if let Part::Text(said) = part {
                text.push_str(&said.text.decode());
            }
        }
    }
    let calls = || parts().any(|part| matches!(part, Part::Call(_)));
    if let Some(rule) = lens.rules.filter(|_| !calls()).and_then(|rules| rules.broken(&text)) {
        // The rule is ours: the provider is not to blame.
        let message = format!("the answer breaks the rule {rule}");
        let mut failure = Failure::local(FailureKind::BadReply, RULE, message);
        failure.phase = Phase::QualityGate;
        failure.rule = format!("router.{rule}").into();
        return Err(failure);
    }
    Ok(Checked { body: Bytes::new(), usage, text, notes: Vec::new() })
}

/// The code of a failure that is one by the combo's own rules.
pub(super) const RULE: &str = "reply_rule";

/// Whether an event is something a client would miss: content, not the signs around it.
pub(super) fn meaningful(event: &Event) -> bool {
    match event {
        Event::PartStart { kind, .. } => matches!(kind, PartKind::Call { .. } | PartKind::Whole(_)),
        Event::Delta { delta: Delta::Text(text), .. } => !text.is_empty(),
        _ => false,
    }
}

/// Whether this wire's own end can be believed when nothing was said.
pub(super) fn trusted(from: Wire) -> bool {
    from == wire::ANTHROPIC
}

/// The wire's own end stands in the answer.
fn said_so(doc: &Doc) -> bool {
    let reason = doc.get(doc.root(), "stop_reason").and_then(|node| doc.str(node));
    reason.as_deref() == Some("end_turn")
}

/// An error inside a success, for providers that have no rules of their own for it.
pub(super) fn of_error(error: &ErrorBody, phase: Phase) -> Failure {
    use FailureKind as K;
    let (kind, scope) = match (error.status, error.code.as_deref()) {
        (_, Some("empty_reply")) => (K::BadReply, Scope::Model),
        (_, Some("truncated_stream" | "invalid_stream_payload" | "response_too_large")) => {
            (K::BadReply, Scope::Provider)
        }
        (Some(429), _) => (K::RateLimited, Scope::Connection),
        (Some(401), _) => (K::Unauthorized, Scope::Connection),
        (Some(402), _) => (K::CreditsExhausted, Scope::Connection),
        (Some(403), _) => (K::Forbidden, Scope::Connection),
        (Some(404), _) => (K::ModelUnavailable, Scope::Model),
        (Some(529), _) => (K::Overloaded, Scope::Provider),
        (Some(400..500), _) => (K::InvalidRequest, Scope::Request),
        _ => (K::Unavailable, Scope::Provider),
    };
    let mut failure = Failure::new(kind, scope, error.message.clone());
    failure.status = error.status;
    failure.code = error.code.clone();
    failure.request_id = error.request_id.clone();
    failure.limits = error.limits;
    failure.evidence = Evidence::Status;
    failure.phase = phase;
    failure.rule = "router.error_in_success".into();
    failure
}

/// An answer that is none.
pub(super) fn bad(code: &'static str, scope: Scope, message: &str) -> Failure {
    let mut failure = Failure::new(FailureKind::BadReply, scope, message);
    failure.code = Some(code.to_owned());
    failure.phase = Phase::BodyComplete;
    failure.rule = format!("router.{code}").into();
    failure
}

/// The answer cannot be told in the client's wire: nobody's fault.
pub(super) fn untold(error: &WireError) -> Failure {
    let mut failure = Failure::local(FailureKind::Unsupported, error.code(), error.to_string());
    failure.phase = Phase::QualityGate;
    failure
}
