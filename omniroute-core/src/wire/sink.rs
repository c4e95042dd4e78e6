//! Where a stream reader puts its events, so that their order is lawful whatever a vendor sends.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::diagnostic::Diagnostic;
use crate::hub::{
    Delta, ErrorBody, Event, Json, Part, PartKind, Reply, Start, Stop, StopReason, Usage, replay,
};

/// Most choices, parts a choice and extra members that a stream may have.
const MOST: usize = 10_000;
const MOST_EXTRAS: usize = 128;

/// Collects events in lawful order.
///
/// # Behavior
/// - The start comes first, is made up if it is missing, and comes once.
/// - Part numbers are given here. Parts still open are closed before their choice stops and at the end.
/// - After the end nothing is taken.
/// - An answer without any part and without a reason for it ends with the error `empty_reply`.
#[derive(Debug, Default)]
pub struct Sink {
    events: Vec<Event>,
    started: bool,
    ended: bool,
    choices: Vec<ChoiceState>,
    extras: Vec<(Option<u32>, String, u64)>,
    notes: Vec<Diagnostic>,
}

#[derive(Debug, Default)]
struct ChoiceState {
    index: u32,
    next: u32,
    open: Vec<u32>,
    stop: Option<StopReason>,
}

impl Sink {
    /// Takes the events collected so far.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Takes the remarks collected so far.
    pub fn take_notes(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the answer has begun.
    pub fn started(&self) -> bool {
        self.started
    }

    /// Whether the answer has ended, well or not.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The answer begins.
    pub fn start(&mut self, start: Start) {
        if !self.started && !self.ended {
            self.started = true;
            self.events.push(Event::Start(start));
        }
    }

    /// A part begins; its number comes back. A call without a name is not told.
    pub fn open(&mut self, choice: u32, kind: PartKind) -> u32 {
        if matches!(&kind, PartKind::Call { name, .. } if name.is_empty()) {
            self.nameless();
            return u32::MAX;
        }
        let Some(state) = self.state(choice) else { return u32::MAX };
        if state.stop.is_some() || state.next as usize >= MOST {
            return u32::MAX; // a number that no open part has: what follows for it is not taken
        }
        let part = state.next;
        state.next += 1;
        state.open.push(part);
        self.events.push(Event::PartStart { choice, part, kind });
        part
    }

    /// More of a part.
    pub fn delta(&mut self, choice: u32, part: u32, delta: Delta) {
        if self.is_open(choice, part) {
            self.events.push(Event::Delta { choice, part, delta });
        }
    }

    /// More characters of a part.
    pub fn text(&mut self, choice: u32, part: u32, text: String) {
        if !text.is_empty() {
            self.delta(choice, part, Delta::Text(text));
        }
    }

    /// A part is complete.
    pub fn close(&mut self, choice: u32, part: u32) {
        if self.is_open(choice, part) {
            if let Some(state) = self.state(choice) {
                state.open.retain(|p| *p != part);
            }
            self.events.push(Event::PartEnd { choice, part });
        }
    }

    /// A part that comes as a whole.
    pub fn whole(&mut self, choice: u32, kind: PartKind) {
        let part = self.open(choice, kind);
        self.close(choice, part);
    }

    /// Whether a part is open.
    pub fn is_open(&self, choice: u32, part: u32) -> bool {
        !self.ended && self.choices.iter().any(|s| s.index == choice && s.open.contains(&part))
    }

    /// Whether a choice has any part yet.
    pub fn has_parts(&self, choice: u32) -> bool {
        self.choices.iter().any(|s| s.index == choice && s.next > 0)
    }

    /// All parts of a choice are complete.
    pub fn close_all(&mut self, choice: u32) {
        let Some(state) = self.state(choice) else { return };
        let open = std::mem::take(&mut state.open);
        self.events.extend(open.into_iter().map(|part| Event::PartEnd { choice, part }));
    }

    /// A choice ended. Only the first reason counts.
    pub fn stop(&mut self, choice: u32, stop: Stop<'static>) {
        self.close_all(choice);
        let Some(state) = self.state(choice) else { return };
        if state.stop.is_none() {
            state.stop = Some(stop.reason);
            self.events.push(Event::Stop { choice, stop });
        }
    }

    /// Whether any choice ended.
    pub fn stopped(&self) -> bool {
        self.choices.iter().any(|s| s.stop.is_some())
    }

    /// Choices that have parts and did not end.
    pub fn unstopped(&self) -> Vec<u32> {
        self.choices.iter().filter(|s| s.stop.is_none()).map(|s| s.index).collect()
    }

    /// Tokens so far.
    pub fn usage(&mut self, usage: Usage) {
        self.begin();
        if !self.ended {
            self.events.push(Event::Usage(usage));
        }
    }

    /// A member that no event models. The same value again is not repeated.
    pub fn extra(&mut self, choice: Option<u32>, key: &str, value: &str) {
        if self.ended {
            return;
        }
        self.begin();
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        let full = self.extras.len() >= MOST_EXTRAS;
        match self.extras.iter_mut().find(|(c, k, _)| *c == choice && k == key) {
            Some((.., old)) if *old == hash => return,
            Some((.., old)) => *old = hash,
            None if full => {
                return self.note("stream_member_dropped", "", "too many members that are not known");
            }
            None => self.extras.push((choice, key.to_owned(), hash)),
        }
        self.events.push(Event::Extra { choice, key: key.to_owned(), value: Json::of(value.to_owned()) });
    }

    /// A sign of life.
    pub fn ping(&mut self) {
        if !self.ended {
            self.events.push(Event::Ping);
        }
    }

    /// The end, and all is well, unless nothing was said at all.
    pub fn finish(&mut self) {
        if self.ended {
            return;
        }
        self.begin();
        let said = |s: &ChoiceState| {
            s.next > 0 || !matches!(s.stop, None | Some(StopReason::Stop | StopReason::ToolCalls))
        };
        if !self.choices.iter().any(said) {
            return self.error(nothing_said());
        }
        for choice in self.choices.iter().map(|s| s.index).collect::<Vec<_>>() {
            self.close_all(choice);
        }
        self.events.push(Event::Finish);
        self.ended = true;
    }

    /// The end, and it is not well.
    pub fn error(&mut self, error: ErrorBody) {
        if !self.ended {
            self.events.push(Event::Error(error));
            self.ended = true;
        }
    }

    /// The events of an answer that came as a whole, apart from those that are collected. A call without a name is
    /// not told; if nothing else was said, that is an error.
    pub fn replay(&mut self, mut reply: Reply<'_>) -> Vec<Event> {
        for choice in &mut reply.choices {
            let all = choice.turn.parts.len();
            choice.turn.parts.retain(|part| !matches!(part, Part::Call(call) if call.name.is_empty()));
            if choice.turn.parts.len() < all {
                self.nameless();
            }
        }
        match reply.is_empty() {
            true => vec![Event::Error(nothing_said())],
            false => replay(reply),
        }
    }

    /// The stream broke off.
    pub fn truncated(&mut self) {
        self.error(ErrorBody::own("truncated_stream", "the stream ended before the answer did"));
    }

    /// A remark, once for each code and place.
    pub fn note(&mut self, code: &'static str, pointer: &str, action: &'static str) {
        let known = self.notes.iter().any(|n| n.code == code && n.pointer == pointer);
        if !known && self.notes.len() < MOST_EXTRAS {
            self.notes.push(Diagnostic::new(code, pointer, action));
        }
    }

    /// The remark for a call without a name.
    pub fn nameless(&mut self) {
        self.note("nameless_call_dropped", "", "a call without a name is not told");
    }

    fn begin(&mut self) {
        self.start(Start::default());
    }

    fn state(&mut self, choice: u32) -> Option<&mut ChoiceState> {
        if self.ended {
            return None;
        }
        self.begin();
        if let Some(at) = self.choices.iter().position(|s| s.index == choice) {
            return self.choices.get_mut(at);
        }
        if self.choices.len() >= 128 {
            return None;
        }
        self.choices.push(ChoiceState { index: choice, ..ChoiceState::default() });
        self.choices.last_mut()
    }
}

fn nothing_said() -> ErrorBody {
    ErrorBody::own("empty_reply", "the answer has no content")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::EventLaw;

    #[test]
    fn whatever_is_called_the_order_is_lawful() {
        let mut sink = Sink::default();
        sink.text(0, 3, "nobody asked".into());
        let a = sink.open(0, PartKind::Text);
        let b = sink.open(0, PartKind::Refusal);
        sink.close(0, b);
        sink.text(0, b, "late".into());
        sink.text(0, a, "x".into());
        sink.stop(0, Stop::new(StopReason::Stop));
        sink.stop(0, Stop::new(StopReason::Length));
        let late = sink.open(0, PartKind::Text);
        sink.close(0, late);
        let call = |name: &str| {
            let (id, name) = ("a".to_owned(), name.to_owned());
            PartKind::Call { id, name, kind: crate::hub::CallKind::Function, item: None, seal: None }
        };
        assert_eq!(sink.open(1, call("")), u32::MAX, "a call has a name");
        assert_eq!(sink.take_notes().len(), 1);
        sink.finish();
        sink.finish();
        sink.truncated();
        let mut law = EventLaw::default();
        let events = sink.take();
        events.iter().for_each(|e| law.check(e).unwrap());
        law.end().unwrap();
        assert_eq!(events.len(), 8, "{events:?}");
    }

    #[test]
    fn nothing_said_is_an_error_unless_the_limit_explains_it() {
        for (reason, code) in [(StopReason::Stop, Some("empty_reply")), (StopReason::Length, None)] {
            let mut sink = Sink::default();
            sink.stop(0, Stop::new(reason));
            sink.finish();
            let last = sink.take().pop();
            let found = match last {
                Some(Event::Error(error)) => error.code,
                _ => None,
            };
            assert_eq!(found.as_deref(), code);
        }
    }
}
