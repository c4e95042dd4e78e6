//! How much to think: as models on this host are told, in fields that are theirs alone.

use omniroute_core::Diagnostic;
use omniroute_core::hub::{
    Json, Param, Reasoning, ReasoningStyle, Request, Thinking, ToolChoice, WriteContext,
};
use omniroute_core::wire::read::take;
use omniroute_core::wire::{JsonWriter, effort};
use omniroute_core::{Doc, NodeId};

use super::NAME;
use crate::wires::common::{Notes, dropped};

pub(super) fn read_thinking(doc: &Doc, node: NodeId) -> Reasoning<'_> {
    let mut out = Reasoning::default();
    let [kind, budget] = take(doc, node, ["type", "budget_tokens"], &mut out.extra);
    out.budget = budget.and_then(|n| doc.integer(n));
    match kind.and_then(|n| doc.str(n)).as_deref() {
        Some("enabled") => out.thinking = Some(Thinking::On),
        Some("disabled") => out.thinking = Some(Thinking::Off),
        Some("adaptive") => out.thinking = Some(Thinking::Adaptive),
        _ => out.extra.extend(kind.map(|n| ("type".into(), Json::at(doc, n)))),
    }
    out
}

/// What is decided before anything is written, because limits and sampling depend on it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The object `thinking`.
    pub(super) thinking: Option<String>,
    /// The word beside the answer's format.
    pub(super) effort: Option<String>,
    /// The limit that leaves room for the thoughts.
    pub(super) limit: Option<u64>,
}

impl Plan {
    /// Whether a parameter cannot be sent beside the thoughts.
    pub(super) fn refuses(&self, param: Param) -> bool {
        self.limit.is_some() && matches!(param, Param::Temperature | Param::TopK)
    }
}

pub(super) fn plan(request: &Request<'_>, cx: &WriteContext, notes: &mut Notes) -> Plan {
    let Some(asked) = &request.reasoning else { return Plan::default() };
    if request.wire == NAME {
        return as_told(asked);
    }
    if forced(request) {
        let action = "not asked to think: with it the model cannot be told which tool to call";
        notes.push(Diagnostic::new("param_dropped", "/reasoning effort", action));
        return Plan::default();
    }
    let off = effort::budget(asked, &cx.caps) == Some(0);
    match cx.caps.reasoning {
        Some(ReasoningStyle::None) => {
            notes.push(dropped("reasoning effort"));
            Plan::default()
        }
        Some(ReasoningStyle::Adaptive | ReasoningStyle::Effort) => adaptive(asked, cx, off, notes),
        _ => budget(request, asked, cx, off, notes),
    }
}

fn as_told(asked: &Reasoning<'_>) -> Plan {
    let effort = asked.effort.as_ref().map(|e| e.decode().into_owned());
    let silent = asked.thinking.is_none() && asked.budget.is_none() && asked.extra.is_empty();
    let mut out = JsonWriter::default();
    out.object();
    match asked.thinking {
        Some(Thinking::On) => drop(out.key("type").text("enabled")),
        Some(Thinking::Off) => drop(out.key("type").text("disabled")),
        Some(Thinking::Adaptive) => drop(out.key("type").text("adaptive")),
        None => {}
    }
    if let Some(budget) = asked.budget {
        out.key("budget_tokens").number(budget);
    }
    out.extra(&asked.extra).end_object();
    Plan { thinking: (!silent).then(|| out.finish()), effort, limit: None }
}

fn adaptive(asked: &Reasoning<'_>, cx: &WriteContext, off: bool, notes: &mut Notes) -> Plan {
    let (word, changed) = effort::word(asked, &cx.caps);
    if changed {
        notes.push(Diagnostic::new("param_clamped", "/reasoning effort", "sent as a nearby word"));
    }
    let effort = word.map(|w| if w == "none" || w == "minimal" { "low".to_owned() } else { w.into_owned() });
    let thinking = (!off).then(|| r#"{"type":"adaptive"}"#.to_owned());
    Plan { thinking, effort, limit: None }
}

fn budget(
    request: &Request<'_>,
    asked: &Reasoning<'_>,
    cx: &WriteContext,
    off: bool,
    notes: &mut Notes,
) -> Plan {
    let limit = request.param(Param::MaxOutput).and_then(|n| n.count());
    let wanted = effort::budget(asked, &cx.caps).filter(|b| *b > 0);
    match wanted.and_then(|b| effort::fit(limit, b, &cx.caps)) {
        Some((total, budget)) => {
            let thinking = format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#);
            Plan { thinking: Some(thinking), effort: None, limit: Some(total) }
        }
        None => {
            if wanted.is_some() && !off {
                notes.push(dropped("reasoning effort"));
            }
            Plan::default()
        }
    }
}

/// Whether a tool has to be called.
fn forced(request: &Request<'_>) -> bool {
    let choice = request.tool_choice.as_ref().filter(|_| !request.tools.is_empty());
    matches!(
        choice,
        Some(ToolChoice::Required | ToolChoice::Named { .. } | ToolChoice::Allowed { required: true, .. })
    )
}
