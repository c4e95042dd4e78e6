//! A chain: each step works on the answer of the one before.

use omniroute_core::hub::{Part, Request, Text, Turn};
use omniroute_core::route::Stage;
use omniroute_core::{ChatRequest, Role as Speaker};
use omniroute_resilience::Budget;

use super::attempt::{Answer, AnswerBody};
use super::error::ChatError;
use super::job::{Errand, Job};
use crate::attempts::Hint;
use crate::receipt::Role;

impl Job {
    /// Carries out a chain. The first step gets the conversation, the others the answer before them; all share one
    /// budget and one deadline.
    ///
    /// # Errors
    /// The step that failed, and why.
    pub(super) async fn stages(
        &self,
        request: &ChatRequest,
        stages: Vec<Stage>,
    ) -> Result<Answer, Box<ChatError>> {
        let budget = Budget::new();
        let last = stages.len().saturating_sub(1);
        let mut before = String::new();
        for (number, stage) in stages.into_iter().enumerate() {
            let prompt = self.slot.pool.steps().get(stage.step as usize).and_then(|step| step.prompt.clone());
            let ends = number == last;
            let body = rewritten(request, |hub| {
                if !ends {
                    aside(hub);
                }
                if number > 0 {
                    if !stage.carry_input {
                        hub.turns.clear();
                    }
                    hub.turns.push(said(Speaker::User, before.clone()));
                }
                if let Some(prompt) = &prompt {
                    hub.turns.insert(0, said(Speaker::System, prompt.to_string()));
                }
            })?;
            let picks: Vec<u32> = stage.sequence.picks.iter().map(|pick| pick.candidate).collect();
            let role = if ends { Role::Answer } else { Role::Stage };
            let errand = Errand { role, budget: budget.clone(), patient: false, text: !ends };
            let answer = self.run(&body, &picks, &errand).await.map_err(|ending| {
                let message =
                    format!("step {} of the chain failed: {}: {}", number + 1, ending.code, ending.message);
                let status = if ending.failure.is_some() { 502 } else { ending.status };
                let mut error = ChatError::own(status, "pipeline_step_failed", message, ending.hint);
                error.failure = ending.failure.map(Box::new);
                error
            })?;
            match answer.body {
                AnswerBody::Whole(_, text) if !ends => {
                    if text.trim().is_empty() {
                        let message = format!("step {} of the chain said nothing", number + 1);
                        return Err(ChatError::own(502, "pipeline_step_failed", message, Hint::Retry));
                    }
                    before = text;
                }
                _ => return Ok(answer),
            }
        }
        Err(ChatError::own(400, "empty_pipeline", "the chain has no step".to_owned(), Hint::SwitchCombo))
    }
}

/// A request with changes, in its own wire.
///
/// # Errors
/// If it cannot be read or written.
pub(super) fn rewritten(
    request: &ChatRequest,
    change: impl FnOnce(&mut Request<'_>),
) -> Result<ChatRequest, Box<ChatError>> {
    let wire = request.wire();
    let wrong = |error: omniroute_core::wire::WireError| ChatError::of_wire(&error);
    let mut hub = wire.read_request(request.doc()).map_err(wrong)?.value;
    change(&mut hub);
    let whole = hub.stream == Some(false);
    let written = wire.write(&hub, &omniroute_core::hub::WriteContext::default()).map_err(wrong)?;
    let doc = omniroute_core::Doc::parse(written.body).map_err(|error| wrong(error.into()))?;
    let mut changed = request.clone();
    changed.replace_doc(doc);
    if whole && changed.streamed() {
        let model = changed.model().into_owned();
        changed = changed.with_address(model, false);
    }
    Ok(changed)
}

/// Asks for an answer that only we read: whole, and without calls of tools.
pub(super) fn aside(hub: &mut Request<'_>) {
    (hub.stream, hub.stream_usage) = (Some(false), None);
    hub.tools.clear();
    hub.tool_choice = None;
}

/// A turn of plain text.
pub(super) fn said(role: Speaker, text: String) -> Turn<'static> {
    let mut turn = Turn::new(role, vec![Part::Text(Text { text: text.into(), ..Text::default() })]);
    turn.plain = true;
    turn
}
