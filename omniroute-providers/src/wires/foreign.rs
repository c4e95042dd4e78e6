//! Simple parameters for a target: without those that its model refuses, the limit within the model's.

use omniroute_core::Diagnostic;
use omniroute_core::hub::{Param, Request, WriteContext};
use omniroute_core::wire::{JsonWriter, ParamTable, WireError};

use super::common::{Notes, dropped};

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
