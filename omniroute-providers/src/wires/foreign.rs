//! A foreign request made ready for a target: what the model refuses, and how much it should think.

use omniroute_core::Diagnostic;
use omniroute_core::hub::{Param, Request, WriteContext};
use omniroute_core::wire::{JsonWriter, ParamTable, WireError};

use super::common::{Notes, dropped};

/// Writes the model: the one that is told, else the one that was asked for.
pub(super) fn model(request: &Request<'_>, cx: &WriteContext, out: &mut JsonWriter) {
    match (&cx.model, &request.model) {
        (Some(model), _) => drop(out.key("model").text(model)),
        (None, model) => drop(out.opt_str("model", model.as_ref())),
    }
}

/// Writes the simple parameters without those that the model refuses, the limit within the model's.
///
/// # Errors
/// As [`ParamTable::write`].
pub(super) fn params(
    table: &ParamTable,
    request: &Request<'_>,
    cx: &WriteContext,
    refused: impl Fn(Param) -> bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let mut sent = Request { wire: request.wire, ..Request::default() };
    for (param, value) in &request.params {
        let sampling = matches!(param, Param::Temperature | Param::TopP | Param::TopK);
        if refused(*param) || (sampling && cx.caps.no_sampling == Some(true)) {
            notes.push(dropped(param.row()));
            continue;
        }
        let mut value = value.clone();
        if let (Param::MaxOutput, Some(asked), Some(most)) = (*param, value.count(), cx.caps.max_output)
            && asked > most
        {
            notes.push(Diagnostic::new("param_clamped", "/max_output", format!("sent as {most}")));
            value = omniroute_core::hub::Json::of(most.to_string());
        }
        sent.params.push((*param, value));
    }
    table.write(&sent, cx, out, notes)
}
