//! Turns of another wire in the order that this one demands: roles alternate, the user speaks first, results come
//! before text.

use super::turn::is_sent;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{Part, Text, Turn, WriteContext};
use crate::wire::WireError;
use crate::wire::normal::{join_items, merge, pair};

/// Turns of another wire in the order that this one demands.
pub(super) fn foreign<'d>(
    turns: Vec<Turn<'d>>,
    cx: &WriteContext,
    notes: &mut Vec<Diagnostic>,
) -> Result<Vec<Turn<'d>>, WireError> {
    let mut turns = pair(join_items(turns), notes);
    for turn in &mut turns {
        turn.parts.retain(|p| is_sent(p, notes));
        if turn.is_system() && cx.caps.mid_system != Some(true) {
            turn.role = Role::User;
            turn.parts = std::mem::take(&mut turn.parts).into_iter().map(as_note).collect();
        }
    }
    turns.retain(|t| !t.parts.is_empty());
    let spoken = |role| if role == Role::Tool { Role::User } else { role };
    let mut turns = merge(turns, spoken);
    let go_on =
        || Turn::new(Role::User, vec![Part::Text(Text { text: "Continue.".into(), ..Text::default() })]);
    if turns.first().is_none_or(|t| t.role != Role::User) {
        notes.push(Diagnostic::new(
            "message_inserted",
            "/messages/0",
            "the first message has to be the user's",
        ));
        turns.insert(0, go_on());
    }
    if turns.last().is_some_and(|t| t.role == Role::Assistant) {
        if cx.caps.prefill == Some(false) {
            if !cx.options.lenient {
                let message = "the model does not go on from a begun answer";
                return Err(WireError::incapable("prefill_unsupported", "/messages", message));
            }
            notes.push(Diagnostic::new(
                "message_inserted",
                "/messages",
                "the model does not go on from an answer",
            ));
            turns.push(go_on());
        } else if let Some(Part::Text(text)) = turns.last_mut().and_then(|t| t.parts.last_mut()) {
            let trimmed = text.text.decode().trim_end().to_owned();
            text.text = trimmed.into();
        }
    }
    Ok(turns)
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
