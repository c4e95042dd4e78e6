//! Puts turns into the order that a target demands. Doing it twice changes nothing.

use std::collections::{HashMap, HashSet};

use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{Answer, Part, Text, Turn};

/// Joins items that together are one message of the assistant.
pub fn join_items(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut out: Vec<Turn<'_>> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        if let Some(last) = out.last_mut().filter(|last| joins(last, &turn)) {
            last.parts.append(&mut turn.parts);
            last.plain = false;
            continue;
        }
        out.push(turn);
    }
    out
}

fn joins(last: &Turn<'_>, turn: &Turn<'_>) -> bool {
    let both = last.item && turn.item && last.role == turn.role;
    both && matches!(turn.role, Role::Assistant | Role::Tool) && !is_opaque(last) && !is_opaque(turn)
}

/// Whether a turn is an item or message that only its own wire understands.
pub fn is_opaque(turn: &Turn<'_>) -> bool {
    turn.item && matches!(turn.parts.as_slice(), [Part::Opaque(_)])
}

/// Joins neighbours that speak in the same role on the target.
pub fn merge(turns: Vec<Turn<'_>>, role: impl Fn(Role) -> Role) -> Vec<Turn<'_>> {
    let mut out: Vec<Turn<'_>> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        turn.role = role(turn.role);
        if let Some(last) = out.last_mut().filter(|last| last.role == turn.role) {
            last.parts.append(&mut turn.parts);
            last.plain = false;
            continue;
        }
        out.push(turn);
    }
    out
}

/// Puts every result right behind the message that made the call, in the order of the calls, all results of one
/// message in one turn.
///
/// A result without a call becomes text of the user, a call without a result gets one that says so, calls without a
/// name go together with their results, and of two results the last counts: each with a diagnostic.
pub fn pair<'d>(turns: Vec<Turn<'d>>, notes: &mut Vec<Diagnostic>) -> Vec<Turn<'d>> {
    let nameless: HashSet<String> =
        calls(&turns).filter(|(_, name)| name.is_empty()).map(|(id, _)| id).collect();
    let called: HashSet<String> =
        calls(&turns).filter(|(_, name)| !name.is_empty()).map(|(id, _)| id).collect();
    let mut results: HashMap<String, Answer<'d>> = HashMap::new();
    let last_call = turns.iter().rposition(|t| t.parts.iter().any(|p| matches!(p, Part::Call(_))));
    let answered = last_call.is_some_and(|at| at + 1 < turns.len());
    let mut rest = Vec::with_capacity(turns.len());
    for mut turn in turns {
        let had = turn.parts.len();
        let mut kept = Vec::with_capacity(had);
        for part in std::mem::take(&mut turn.parts) {
            match part {
                Part::Result(answer) => {
                    let id = answer.id.decode().into_owned();
                    if called.contains(&id) {
                        if results.insert(id, answer).is_some() {
                            notes.push(note(
                                "duplicate_result",
                                "the last of two results for one call is sent",
                            ));
                        }
                    } else if nameless.contains(&id) {
                        notes.push(note(
                            "nameless_call_dropped",
                            "the result of a call without a name is not sent",
                        ));
                    } else {
                        notes.push(note(
                            "orphan_result",
                            "a result without a call is sent as text of the user",
                        ));
                        kept.extend(orphan(answer, &id));
                    }
                }
                Part::Call(call) if call.name.is_empty() => {
                    notes.push(note("nameless_call_dropped", "a call without a name is not sent"));
                }
                other => kept.push(other),
            }
        }
        turn.parts = kept;
        if turn.role == Role::Tool {
            turn.role = Role::User;
        }
        if !turn.parts.is_empty() || had == 0 {
            rest.push(turn);
        }
    }
    place(rest, results, answered, notes)
}

fn place<'d>(
    turns: Vec<Turn<'d>>,
    mut results: HashMap<String, Answer<'d>>,
    answered: bool,
    notes: &mut Vec<Diagnostic>,
) -> Vec<Turn<'d>> {
    let last = turns.iter().rposition(|t| t.parts.iter().any(|p| matches!(p, Part::Call(_))));
    let mut out = Vec::with_capacity(turns.len() + results.len());
    for (at, turn) in turns.into_iter().enumerate() {
        let ids: Vec<_> = turn.parts.iter().filter_map(call_of).collect();
        out.push(turn);
        let mut answers = Vec::new();
        let waits = Some(at) == last && !answered;
        let open = waits && !ids.iter().any(|(id, _)| results.contains_key(id));
        for (id, name) in ids {
            match results.remove(&id) {
                Some(mut answer) => {
                    answer.name = answer.name.or_else(|| Some(name.into()));
                    answers.push(Part::Result(answer));
                }
                None if open => {}
                None => {
                    notes.push(note("missing_result", "a call without a result gets one that says so"));
                    answers.push(Part::Result(missing(id, name)));
                }
            }
        }
        if !answers.is_empty() {
            out.push(Turn::new(Role::Tool, answers));
        }
    }
    out
}

fn calls<'a>(turns: &'a [Turn<'_>]) -> impl Iterator<Item = (String, String)> + 'a {
    turns.iter().flat_map(|t| &t.parts).filter_map(call_of)
}

fn call_of(part: &Part<'_>) -> Option<(String, String)> {
    match part {
        Part::Call(call) => Some((call.id.decode().into_owned(), call.name.decode().into_owned())),
        _ => None,
    }
}

fn missing<'d>(id: String, name: String) -> Answer<'d> {
    let text = Text { text: "no result was recorded for this call".into(), ..Text::default() };
    let answer = Answer::new(id.into(), vec![Part::Text(text)]);
    Answer { error: Some(true), plain: true, name: Some(name.into()), ..answer }
}

fn orphan<'d>(answer: Answer<'d>, id: &str) -> Vec<Part<'d>> {
    let head = format!("[tool result without a call: {id}]");
    let mut parts = vec![Part::Text(Text { text: head.into(), ..Text::default() })];
    if let Some(value) = &answer.value {
        parts.push(Part::Text(Text { text: value.raw().to_owned().into(), ..Text::default() }));
    }
    parts.extend(answer.parts);
    parts
}

fn note(code: &'static str, action: &'static str) -> Diagnostic {
    Diagnostic::new(code, "/messages", action)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hub::{Arguments, Call};

    fn call(id: u8) -> Part<'static> {
        let id = format!("c{id}");
        Part::Call(Call::new(id.into(), "f".into(), Arguments::Text("{}".into())))
    }

    fn result(id: u8) -> Part<'static> {
        Part::Result(Answer::new(format!("c{id}").into(), Vec::new()))
    }

    fn text() -> Part<'static> {
        Part::Text(Text { text: "hi".into(), ..Text::default() })
    }

    /// Every turn with calls is followed by a turn with exactly their results, unless it is the last one.
    fn lawful(turns: &[Turn<'_>]) -> bool {
        let ids = |t: &Turn<'_>, calls: bool| -> Vec<String> {
            let of = |p: &Part<'_>| match p {
                Part::Call(c) if calls => Some(c.id.decode().into_owned()),
                Part::Result(r) if !calls => Some(r.id.decode().into_owned()),
                _ => None,
            };
            t.parts.iter().filter_map(of).collect()
        };
        turns.iter().enumerate().all(|(at, turn)| {
            let made = ids(turn, true);
            let results = turns.get(at + 1).map(|t| ids(t, false));
            made.is_empty() || results.is_none_or(|r| r == made)
        })
    }

    fn history() -> impl Strategy<Value = Vec<Turn<'static>>> {
        let assistant = prop::collection::vec(0u8..6, 0..4).prop_map(|ids| {
            let mut seen = HashSet::new();
            let calls = ids.into_iter().filter(|id| seen.insert(*id)).map(call);
            Turn::new(Role::Assistant, std::iter::once(text()).chain(calls).collect())
        });
        let tool = prop::collection::vec(0u8..8, 1..4)
            .prop_map(|ids| Turn::new(Role::Tool, ids.into_iter().map(result).collect()));
        let user = Just(Turn::new(Role::User, vec![text()]));
        prop::collection::vec(prop_oneof![assistant, tool, user], 0..8)
    }

    fn unique_calls(turns: &[Turn<'_>]) -> bool {
        let mut seen = HashSet::new();
        calls(turns).all(|(id, _)| seen.insert(id))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn pairs_and_is_idempotent(turns in history().prop_filter("ids are used once", |t| unique_calls(t))) {
            let once = pair(turns, &mut Vec::new());
            prop_assert!(lawful(&once), "{once:?}");
            let mut notes = Vec::new();
            let twice = pair(once.clone(), &mut notes);
            prop_assert_eq!(&once, &twice);
            prop_assert!(notes.is_empty(), "{:?}", notes);
        }
    }

    /// The twin: results left where they are break the rule.
    #[test]
    fn histories_left_alone_are_caught() {
        let turns = [
            Turn::new(Role::Assistant, vec![call(1), call(2)]),
            Turn::new(Role::Tool, vec![result(2)]),
            Turn::new(Role::Tool, vec![result(1)]),
        ];
        assert!(!lawful(&turns));
        assert!(lawful(&pair(turns.to_vec(), &mut Vec::new())));
    }
}
