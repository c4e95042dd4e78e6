//! Turns of another wire in the order that this one demands: roles alternate, the user speaks first, results come
//! before text.

use omniroute_core::hub::{Issuer, Part, Text, Turn, WriteContext};
use omniroute_core::wire::WireError;
use omniroute_core::wire::normal::{join_items, merge, pair};
use omniroute_core::{Diagnostic, Role};

use crate::wires::common::{Notes, reasoning_dropped, text_part};

/// System text that stands at the start, and the turns behind it.
pub(super) fn foreign<'d>(
    turns: Vec<Turn<'d>>,
    cx: &WriteContext,
    notes: &mut Notes,
) -> Result<Vec<Turn<'d>>, WireError> {
    let mut turns = pair(join_items(turns), notes);
    for turn in &mut turns {
        turn.parts.retain(|p| is_sent(p, notes));
        if turn.is_system() {
            notes.push(Diagnostic::new(
                "system_note",
                "/messages",
                "instructions are sent as text of the user",
            ));
            turn.role = Role::User;
            turn.parts = std::mem::take(&mut turn.parts).into_iter().map(as_note).collect();
        }
    }
    turns.retain(|t| !t.parts.is_empty());
    let mut turns = merge(turns, |role| if role == Role::Tool { Role::User } else { role });
    let go_on = || Turn::new(Role::User, vec![text_part("Continue.".into())]);
    if turns.first().is_none_or(|t| t.role != Role::User) {
        let action = "the first message has to be the user's";
        notes.push(Diagnostic::new("message_inserted", "/messages/0", action));
        turns.insert(0, go_on());
    }
    if turns.last().is_some_and(|t| t.role == Role::Assistant) {
        if cx.caps.prefill == Some(false) {
            if !cx.options.lenient {
                let message = "the model does not go on from a begun answer";
                return Err(WireError::incapable("prefill_unsupported", "/messages", message));
            }
            let action = "the model does not go on from an answer";
            notes.push(Diagnostic::new("message_inserted", "/messages", action));
            turns.push(go_on());
        } else if let Some(Part::Text(text)) = turns.last_mut().and_then(|t| t.parts.last_mut()) {
            let trimmed = text.text.decode().trim_end().to_owned();
            text.text = trimmed.into();
        }
    }
    Ok(turns)
}

/// Whether a part says something on this wire: empty texts are refused, and reasoning that the model did not sign.
pub(super) fn is_sent(part: &Part<'_>, notes: &mut Notes) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => !text.text.decode().trim().is_empty(),
        Part::Thought(thought) => {
            let signed = thought.seal.as_ref().is_some_and(|s| s.issuer == Issuer::Anthropic);
            if !signed {
                notes.push(reasoning_dropped());
            }
            signed
        }
        _ => true,
    }
}

/// Instructions between messages, as text of the user that can be told apart.
fn as_note(part: Part<'_>) -> Part<'_> {
    match part {
        Part::Text(text) => {
            let noted = format!("<system_note>{}</system_note>", text.text.decode());
            Part::Text(Text { text: noted.into(), ..text })
        }
        other => other,
    }
}
