//! The order of events in a stream, checked.

use std::collections::BTreeMap;

use super::event::Event;

/// Checks that events come in a lawful order. Every reader obeys it; writers rely on it.
///
/// # Behavior
/// - `Start` once and first; only a ping may precede it.
/// - Part numbers of a choice grow by one; each part that starts ends; deltas only in between.
/// - A call has a name.
/// - No part of a choice after its `Stop`.
/// - Exactly one `Finish` or `Error`, nothing after it; with `Finish` no part is open.
#[derive(Debug, Default)]
pub struct EventLaw {
    started: bool,
    ended: bool,
    next: BTreeMap<u32, u32>,
    open: BTreeMap<(u32, u32), ()>,
    stopped: BTreeMap<u32, ()>,
}

impl EventLaw {
    /// Looks at the next event.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&mut self, event: &Event) -> Result<(), &'static str> {
        let rule = |holds: bool, words: &'static str| if holds { Ok(()) } else { Err(words) };
        rule(!self.ended, "nothing may follow the end")?;
        if matches!(event, Event::Ping) {
            return Ok(());
        }
        if matches!(event, Event::Start(_)) {
            rule(!self.started, "an answer starts once")?;
            self.started = true;
            return Ok(());
        }
        if matches!(event, Event::Error(_)) {
            self.ended = true;
            return Ok(());
        }
        rule(self.started, "an answer has to start first")?;
        match event {
            Event::PartStart { choice, part, kind } => {
                rule(!self.stopped.contains_key(choice), "no part may follow the stop of its choice")?;
                let next = self.next.entry(*choice).or_default();
                rule(part == next, "part numbers grow by one")?;
                *next += 1;
                if let super::PartKind::Call { name, .. } = kind {
                    rule(!name.is_empty(), "a call has a name")?;
                }
                self.open.insert((*choice, *part), ());
                Ok(())
            }
            Event::Delta { choice, part, .. } => {
                rule(self.open.contains_key(&(*choice, *part)), "a delta belongs to an open part")
            }
            Event::PartEnd { choice, part } => {
                rule(self.open.remove(&(*choice, *part)).is_some(), "only an open part can end")
            }
            Event::Stop { choice, .. } => {
                rule(self.stopped.insert(*choice, ()).is_none(), "a choice stops once")?;
                rule(!self.open.keys().any(|(c, _)| c == choice), "a choice stops when its parts have ended")
            }
            Event::Finish => {
                self.ended = true;
                rule(self.open.is_empty(), "an answer finishes when its parts have ended")
            }
            _ => Ok(()),
        }
    }

    /// Looks at the end of the stream.
    ///
    /// # Errors
    /// If it did not end with `Finish` or `Error`.
    pub fn end(&self) -> Result<(), &'static str> {
        if self.ended { Ok(()) } else { Err("a stream ends with a finish or an error") }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Delta, PartKind, Start};
    use super::*;

    fn run(events: &[Event]) -> Result<(), &'static str> {
        let mut law = EventLaw::default();
        events.iter().try_for_each(|e| law.check(e))?;
        law.end()
    }

    #[test]
    fn lawful_and_unlawful_orders() {
        let start = || Event::Start(Start::default());
        let open = |part| Event::PartStart { choice: 0, part, kind: PartKind::Text };
        let text = |part| Event::Delta { choice: 0, part, delta: Delta::Text("x".into()) };
        let close = |part| Event::PartEnd { choice: 0, part };
        assert_eq!(run(&[Event::Ping, start(), open(0), text(0), close(0), Event::Finish]), Ok(()));
        for (events, words) in [
            (vec![open(0)], "start first"),
            (vec![start(), start()], "starts once"),
            (vec![start(), open(1)], "grow by one"),
            (vec![start(), text(0)], "open part"),
            (vec![start(), open(0), Event::Finish], "have ended"),
            (vec![start(), Event::Finish, Event::Ping], "follow the end"),
            (vec![start()], "ends with"),
        ] {
            let error = run(&events).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
