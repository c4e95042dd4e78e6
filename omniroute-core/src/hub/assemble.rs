//! From events to a whole reply and back.

use std::collections::BTreeMap;

use super::event::{Delta, Event, PartKind, Start};
use super::part::{Arguments, Call, CallKind, Citation, Part, Seal, Text, Thought};
use super::reply::{Choice, Reply, Stop};
use super::request::Turn;
use super::value::{Json, Str};
use super::{Extra, error::ErrorBody};
use crate::conversation::Role;
use crate::doc::escape_into;

/// Builds a reply from the events of a stream.
///
/// ```
/// use omniroute_core::hub::{Assembler, Event, Start};
/// let mut assembler = Assembler::new("openai-chat");
/// assembler.push(Event::Start(Start::default()));
/// assert_eq!(assembler.finish().unwrap_err().code.as_deref(), Some("truncated_stream"));
/// ```
#[derive(Debug)]
pub struct Assembler {
    reply: Reply<'static>,
    choices: BTreeMap<u32, Building>,
    end: Option<Result<(), ErrorBody>>,
}

#[derive(Debug, Default)]
struct Building {
    parts: Vec<Piece>,
    stop: Option<Stop<'static>>,
    extra: Extra<'static>,
}

#[derive(Debug)]
struct Piece {
    kind: PartKind,
    text: Vec<String>,
    seal: Option<Seal<'static>>,
    citations: Vec<Citation<'static>>,
    logprobs: String,
}

impl Assembler {
    /// For a stream of this wire; extras belong to it.
    pub fn new(wire: &'static str) -> Self {
        let reply = Reply { wire, ..Reply::default() };
        Assembler { reply, choices: BTreeMap::new(), end: None }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Start(start) => {
                self.reply.id = start.id.map(Str::from);
                self.reply.model = start.model.map(Str::from);
                self.reply.created = start.created;
                self.reply.extra.extend(start.extra);
            }
            Event::PartStart { choice, kind, .. } => {
                let piece = Piece {
                    kind,
                    text: Vec::new(),
                    seal: None,
                    citations: Vec::new(),
                    logprobs: String::new(),
                };
                self.choices.entry(choice).or_default().parts.push(piece);
            }
            Event::Delta { choice, part, delta } => {
                let building = self.choices.entry(choice).or_default();
                if let Some(piece) = building.parts.get_mut(part as usize) {
                    piece.add(delta);
                }
            }
            Event::Stop { choice, stop } => self.choices.entry(choice).or_default().stop = Some(stop),
            Event::Usage(usage) => self.reply.usage = Some(usage),
            Event::Extra { choice, key, value } => {
                let extra = match choice {
                    Some(choice) => &mut self.choices.entry(choice).or_default().extra,
                    None => &mut self.reply.extra,
                };
                match extra.iter_mut().find(|(k, _)| k.is(&key)) {
                    Some((_, old)) => *old = value,
                    None => extra.push((key.into(), value)),
                }
            }
            Event::Finish => self.end = Some(Ok(())),
            Event::Error(error) => self.end = Some(Err(error)),
            Event::PartEnd { .. } | Event::Ping => {}
        }
    }

    /// The reply.
    ///
    /// # Errors
    /// What the stream ended with, `truncated_stream` if it did not end, `empty_reply` if it said nothing.
    pub fn finish(mut self) -> Result<Reply<'static>, Box<ErrorBody>> {
        match self.end {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(Box::new(error)),
            None => {
                return Err(Box::new(ErrorBody::own(
                    "truncated_stream",
                    "the stream ended before the answer did",
                )));
            }
        }
        self.reply.choices = self.choices.into_iter().map(|(index, b)| b.choice(index)).collect();
        if self.reply.is_empty() {
            return Err(Box::new(ErrorBody::own("empty_reply", "the answer has no content")));
        }
        Ok(self.reply)
    }
}

impl Building {
    fn choice(self, index: u32) -> Choice<'static> {
        let parts = self.parts.into_iter().map(Piece::part).collect();
        Choice {
            index,
            turn: Turn::new(Role::Assistant, parts),
            stop: self.stop,
            logprobs: None,
            extra: self.extra,
        }
    }
}

impl Piece {
    fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Text(more) => match self.text.last_mut() {
                Some(text) => text.push_str(&more),
                None => self.text.push(more),
            },
            Delta::Paragraph => self.text.push(String::new()),
            Delta::Seal(seal) => self.seal = Some(seal),
            Delta::Citation(citation) => self.citations.push(*citation),
            Delta::Logprobs(list) => {
                let inner = list.raw().trim().trim_start_matches('[').trim_end_matches(']');
                if !self.logprobs.is_empty() && !inner.is_empty() {
                    self.logprobs.push(',');
                }
                self.logprobs.push_str(inner);
            }
        }
    }

    fn part(self) -> Part<'static> {
        let whole = |text: Vec<String>| Str::from(text.concat());
        match self.kind {
            PartKind::Whole(part) => *part,
            PartKind::Thought { summary, spelling, item } => Part::Thought(Thought {
                text: self.text.into_iter().map(Str::from).collect(),
                summary,
                seal: self.seal,
                spelling,
                copy: false,
                item: item.map(Str::from),
                status: None,
                extra: Vec::new(),
            }),
            PartKind::Call { id, name, kind, item, seal } => {
                let text = whole(self.text);
                let arguments =
                    if kind == CallKind::Custom { Arguments::Free(text) } else { Arguments::Text(text) };
                let call = Call::new(id.into(), name.into(), arguments);
                Part::Call(Call { kind, item: item.map(Str::from), seal: seal.or(self.seal), ..call })
            }
            kind => {
                let logprobs = (!self.logprobs.is_empty()).then(|| Json::of(format!("[{}]", self.logprobs)));
                let text = Text {
                    text: whole(self.text),
                    citations: self.citations,
                    logprobs,
                    seal: self.seal,
                    ..Text::default()
                };
                if kind == PartKind::Refusal { Part::Refusal(text) } else { Part::Text(text) }
            }
        }
    }
}

/// The events of a whole reply, for a client that asked for a stream. Calls without a name are not told; members that no
/// event has are told as extras.
pub fn replay(reply: Reply<'_>) -> Vec<Event> {
    let reply = reply.into_owned();
    let mut events = vec![Event::Start(Start {
        id: reply.id.map(|s| s.into_chars().into_owned()),
        model: reply.model.map(|s| s.into_chars().into_owned()),
        created: reply.created,
        extra: reply.extra,
    })];
    for choice in reply.choices {
        // What is told twice is told once in a stream.
        let told = |part: &Part<'_>| match part {
            Part::Thought(thought) => !thought.copy,
            Part::Call(call) => !call.name.is_empty(),
            _ => true,
        };
        let told = choice.turn.parts.into_iter().filter(told);
        for (part, content) in told.enumerate() {
            play(choice.index, part as u32, content, &mut events);
        }
        let logprobs = choice.logprobs.map(|list| (Str::from("logprobs"), list));
        for (key, value) in choice.extra.into_iter().chain(logprobs) {
            let key = key.into_chars().into_owned();
            events.push(Event::Extra { choice: Some(choice.index), key, value });
        }
        if let Some(stop) = choice.stop {
            events.push(Event::Stop { choice: choice.index, stop });
        }
    }
    if let Some(tier) = reply.tier {
        let mut value = String::new();
        escape_into(&tier.decode(), &mut value);
        events.push(Event::Extra { choice: None, key: "service_tier".to_owned(), value: Json::of(value) });
    }
    events.extend(reply.usage.map(Event::Usage));
    events.push(Event::Finish);
    events
}

fn play(choice: u32, part: u32, content: Part<'static>, events: &mut Vec<Event>) {
    let mut deltas = Vec::new();
    let own = |s: Str<'static>| s.into_chars().into_owned();
    let kind = match content {
        Part::Text(text) => deltas_of(text, &mut deltas, PartKind::Text),
        Part::Refusal(text) => deltas_of(text, &mut deltas, PartKind::Refusal),
        Part::Thought(thought) => {
            for (at, text) in thought.text.into_iter().enumerate() {
                if at > 0 {
                    deltas.push(Delta::Paragraph);
                }
                deltas.push(Delta::Text(own(text)));
            }
            deltas.extend(thought.seal.map(Delta::Seal));
            let item = thought.item.map(own);
            PartKind::Thought { summary: thought.summary, spelling: thought.spelling, item }
        }
        Part::Call(call) => {
            let text = match call.arguments {
                Arguments::Text(text) | Arguments::Free(text) => own(text),
                Arguments::Json(json) => json.raw().to_owned(),
            };
            deltas.push(Delta::Text(text));
            let (id, name) = (own(call.id), own(call.name));
            PartKind::Call { id, name, kind: call.kind, item: call.item.map(own), seal: call.seal }
        }
        other => PartKind::Whole(Box::new(other)),
    };
    events.push(Event::PartStart { choice, part, kind });
    events.extend(deltas.into_iter().map(|delta| Event::Delta { choice, part, delta }));
    events.push(Event::PartEnd { choice, part });
}

fn deltas_of(text: Text<'static>, deltas: &mut Vec<Delta>, kind: PartKind) -> PartKind {
    deltas.push(Delta::Text(text.text.into_chars().into_owned()));
    deltas.extend(text.citations.into_iter().map(|c| Delta::Citation(Box::new(c))));
    deltas.extend(text.logprobs.map(Delta::Logprobs));
    deltas.extend(text.seal.map(Delta::Seal));
    kind
}

#[cfg(test)]
mod tests {
    use super::super::{EventLaw, StopReason};
    use super::*;

    #[test]
    fn replayed_and_assembled_again_it_is_the_same() {
        let call = Call::new("c1".into(), "read".into(), Arguments::Text("{\"p\":1}".into()));
        let parts = vec![Part::Text(Text { text: "Look".into(), ..Text::default() }), Part::Call(call)];
        let choice = Choice {
            index: 0,
            turn: Turn::new(Role::Assistant, parts),
            stop: Some(Stop::new(StopReason::ToolCalls)),
            logprobs: None,
            extra: Vec::new(),
        };
        let reply = Reply { wire: "openai-chat", choices: vec![choice], ..Reply::default() };
        let mut assembler = Assembler::new("openai-chat");
        let mut law = EventLaw::default();
        for event in replay(reply.clone()) {
            law.check(&event).unwrap();
            assembler.push(event);
        }
        law.end().unwrap();
        assert_eq!(assembler.finish().unwrap(), reply);
    }

    #[test]
    fn what_no_event_has_is_told_as_an_extra() {
        let parts = vec![Part::Text(Text { text: "hi".into(), ..Text::default() })];
        let choice = Choice {
            index: 0,
            turn: Turn::new(Role::Assistant, parts),
            stop: Some(Stop::new(StopReason::Stop)),
            logprobs: Some(Json::of("{\"content\":[]}")),
            extra: Vec::new(),
        };
        let reply = Reply { choices: vec![choice], tier: Some("flex".into()), ..Reply::default() };
        let mut law = EventLaw::default();
        let mut told = Vec::new();
        for event in replay(reply) {
            law.check(&event).unwrap();
            if let Event::Extra { choice, key, value } = event {
                told.push((choice, key, value.raw().to_owned()));
            }
        }
        law.end().unwrap();
        let [list, tier] = told.try_into().unwrap();
        assert_eq!(list, (Some(0), "logprobs".to_owned(), "{\"content\":[]}".to_owned()));
        assert_eq!(tier, (None, "service_tier".to_owned(), "\"flex\"".to_owned()));
    }
}
