//! Why there is no answer, with a code of the one table.

use omniroute_core::FailureKind;
use omniroute_route::{ChatError, Receipt};

use crate::error::{Error, Facts, find};

/// The error of a call. A code that only one vendor has is told by what it means, and named beside it.
pub(super) fn of_chat(error: &ChatError) -> Error {
    let kind = error.failure.as_ref().map(|failure| failure.kind);
    let code = match find(&error.code) {
        Some(row) if row.code != "upstream_failed" || kind.is_none() => row.code,
        _ => kind.map_or(by_status(error.status), FailureKind::code),
    };
    let failure = error.failure.as_ref();
    let facts = Facts {
        status: Some(error.status),
        retry_at_ms: error.retry_at.map(|at| at.0),
        request_id: failure.and_then(|failure| failure.request_id.clone()),
        vendor_code: failure
            .and_then(|failure| failure.code.clone())
            .or_else(|| (error.code != code && error.code != "upstream_failed").then(|| error.code.clone())),
        hint: Some(error.hint.code()),
        receipt: error.receipt_handle().as_ref().map(receipt_json),
    };
    Error::new(code, one_line(&error.message)).with_facts(facts)
}

/// The time that the caller gave is up.
pub(super) fn late(receipt: Option<&Receipt>) -> Error {
    let facts = Facts { receipt: receipt.map(receipt_json), ..Facts::default() };
    Error::new("cancelled", "the time that the caller gave is up").with_facts(facts)
}

/// An error that was told inside of a stream.
pub(super) fn of_stream(code: Option<&str>, message: &str) -> Error {
    let known = code.and_then(find).map_or("upstream_interrupted", |row| row.code);
    let vendor_code = code.filter(|code| *code != known).map(str::to_owned);
    Error::new(known, one_line(message)).with_facts(Facts { vendor_code, ..Facts::default() })
}

/// The receipt as JSON text.
pub(super) fn receipt_json(receipt: &Receipt) -> String {
    serde_json::to_string(&receipt.now()).expect("a receipt has string keys and finite numbers only")
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn by_status(status: u16) -> &'static str {
    match status {
        400 | 404 | 405 | 422 => "invalid_request",
        401 => "unauthorized",
        402 => "credits_exhausted",
        403 => "forbidden",
        408 | 504 => "timeout",
        413 => "too_large",
        429 => "rate_limited",
        529 => "overloaded",
        500 => "internal",
        _ => "unavailable",
    }
}
