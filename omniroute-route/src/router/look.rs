//! What routing has to know of a request, read once: sizes, needs, kind of work. Its texts stay where they are.

use std::borrow::Cow;

use omniroute_core::hub::{MediaKind, Output, Part, Request, ToolChoice};
use omniroute_core::route::{Need, Needs, RequestFacts};
use omniroute_core::wire::WireError;
use omniroute_core::{ChatRequest, Role};

use crate::classify::{Clues, Points, points};
use crate::prefix;
use crate::specificity::{Signs, specificity};

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) facts: RequestFacts,
    pub(crate) points: Points,
    /// It ends with the result of a tool.
    pub(crate) tool_tail: bool,
}

/// Looks at a request.
///
/// # Errors
/// If the body is no request of its wire.
pub(crate) fn look(request: &ChatRequest) -> Result<Seen, WireError> {
    let read = request.wire().read_request(request.doc())?.value;
    let (system, user) = (system(&read), last_user(&read));
    let facts = measure(request, &read, &system, &user);
    let tools = tools(&read);
    let names: Vec<&str> = tools.iter().map(AsRef::as_ref).collect();
    let clues = Clues { user: &user, system: &system, tools: &names, failed_result: failed_result(&read) };
    Ok(Seen { facts, points: points(&clues), tool_tail: tool_tail(&read) })
}

/// Sizes and needs of a request that was looked at and has become shorter. What it is about has not changed.
///
/// # Errors
/// If the body is no request of its wire.
pub(crate) fn look_again(request: &ChatRequest) -> Result<RequestFacts, WireError> {
    let read = request.wire().read_request(request.doc())?.value;
    Ok(measure(request, &read, &system(&read), &last_user(&read)))
}

fn measure(request: &ChatRequest, read: &Request<'_>, system: &str, user: &str) -> RequestFacts {
    let head = request.head();
    let doc = request.doc();
    let mut sizes = Sizes::default();
    for turn in &read.turns {
        sizes.parts(&turn.parts);
    }
    let tool_bytes: usize = read
        .tools
        .iter()
        .map(|tool| {
            let description = tool.description.as_ref().map_or(0, |text| text.decode().len());
            tool.name.decode().len()
                + description
                + tool.schema.as_ref().map_or(0, |schema| schema.raw().len())
        })
        .sum();
    let mut needs = sizes.needs;
    if !read.tools.is_empty() && !matches!(read.tool_choice, Some(ToolChoice::None)) {
        needs = needs.with(Need::Tools);
    }
    if matches!(read.output, Some(Output::Object | Output::Schema { .. })) {
        needs = needs.with(Need::Structured);
    }
    let modalities = doc.get(doc.root(), "modalities");
    if modalities.is_some_and(|node| doc.elements(node).any(|one| doc.str(one).as_deref() == Some("audio"))) {
        needs = needs.with(Need::AudioOut);
    }
    let mut facts = RequestFacts::default();
    facts.consumer = request.principal().clone();
    facts.input_tokens = tokens(sizes.bytes + tool_bytes);
    facts.max_output = head.max_output.and_then(|most| u64::try_from(most).ok());
    facts.needs = needs;
    let (score, tier) = specificity(&signs(read, user, facts.input_tokens));
    facts.specificity = Some(score);
    facts.tier_hint = Some(tier);
    let explicit = doc.get(doc.root(), "prompt_cache_key").and_then(|node| doc.str(node));
    let front = doc.get(doc.root(), "tools").map_or("", |node| doc.raw(node));
    let session = request.session().map(|session| session.as_str());
    // The name of a beginning costs a hash of it: only where it is asked for and worth it.
    let size = tokens(front.len() + system.len());
    let named = session.is_none() && explicit.is_none() && size >= prefix::WORTH;
    let base = named.then(|| (prefix::base(front, system), size));
    facts.prefix_key = prefix::key(session, explicit.as_deref(), base).map(Into::into);
    facts
}

/// Tokens of texts of so many bytes, as far as can be told without reading them.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

#[derive(Debug, Default)]
struct Sizes {
    bytes: usize,
    needs: Needs,
}

impl Sizes {
    fn parts(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => self.bytes += text.text.decode().len(),
                Part::Call(call) => {
                    self.bytes += call.name.decode().len()
                        + match &call.arguments {
                            omniroute_core::hub::Arguments::Text(text)
                            | omniroute_core::hub::Arguments::Free(text) => text.decode().len(),
                            omniroute_core::hub::Arguments::Json(json) => json.raw().len(),
                        };
                }
                Part::Result(answer) => {
                    self.bytes += answer.value.as_ref().map_or(0, |value| value.raw().len());
                    self.parts(&answer.parts);
                }
                Part::Thought(thought) => {
                    self.bytes += thought.text.iter().map(|text| text.decode().len()).sum::<usize>();
                }
                Part::Media(media) => {
                    // A picture is worth about this many bytes of text, whatever its own size.
                    self.bytes += 4 * 1_000;
                    self.needs = self.needs.with(match media.kind {
                        MediaKind::Image => Need::Vision,
                        MediaKind::Audio => Need::AudioIn,
                        MediaKind::Video => Need::Video,
                        MediaKind::File => Need::Document,
                    });
                }
                _ => {}
            }
        }
    }
}

fn tools<'a>(read: &'a Request<'_>) -> Vec<Cow<'a, str>> {
    read.tools.iter().map(|tool| tool.name.decode()).collect()
}

fn system(read: &Request<'_>) -> String {
    let texts = read.turns.iter().filter(|turn| turn.is_system()).flat_map(|turn| texts(&turn.parts));
    texts.collect::<Vec<_>>().join("\n")
}

fn last_user(read: &Request<'_>) -> String {
    let users = read.turns.iter().rev().filter(|turn| turn.role == Role::User);
    let said = users.map(|turn| texts(&turn.parts).collect::<Vec<_>>().join("\n"));
    said.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn texts<'a>(parts: &'a [Part<'_>]) -> impl Iterator<Item = Cow<'a, str>> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.decode()),
        _ => None,
    })
}

fn failed_result(read: &Request<'_>) -> bool {
    let last = read.turns.iter().rev().take_while(|turn| turn.role != Role::Assistant);
    last.flat_map(|turn| &turn.parts)
        .any(|part| matches!(part, Part::Result(answer) if answer.error == Some(true)))
}

fn tool_tail(read: &Request<'_>) -> bool {
    read.turns.last().is_some_and(|turn| turn.parts.iter().any(|part| matches!(part, Part::Result(_))))
}

fn signs(read: &Request<'_>, user: &str, tokens: u64) -> Signs {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let fences = user.matches("```").count();
    Signs {
        fences: count(fences / 2),
        inline_code: count((user.matches('`').count() - 3 * fences) / 2),
        formulas: count(user.matches("$$").count() / 2),
        messages: count(read.turns.len()),
        tokens,
        tools: count(read.tools.len()),
        ..Signs::default()
    }
}
