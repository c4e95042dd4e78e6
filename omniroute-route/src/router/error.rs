//! Why there is no answer, as the caller hears it.

use std::fmt;

use bytes::Bytes;
use omniroute_core::hub::ErrorBody;
use omniroute_core::route::RouteError;
use omniroute_core::wire::{Wire, WireError};
use omniroute_core::{Failure, UnixMs};

use crate::attempts::{Ending, Hint};
use crate::error::ConfigError;
use crate::receipt::{Receipt, RouteReceipt};

/// A request that was not answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatError {
    /// HTTP status for a gateway.
    pub status: u16,
    /// Stable code.
    pub code: String,
    /// For people. A refusal of a provider is told in its words.
    pub message: String,
    /// When trying again makes sense; only with 429 and 503.
    pub retry_at: Option<UnixMs>,
    /// What the caller could do.
    pub hint: Hint,
    /// The failure that decided, if one did.
    pub failure: Option<Box<Failure>>,
    pub(super) receipt: Option<Receipt>,
}

impl ChatError {
    /// What became of the request; none: it was not understood.
    pub fn receipt(&self) -> Option<RouteReceipt> {
        self.receipt.as_ref().map(Receipt::now)
    }

    /// The receipt itself; none: the request was not understood.
    pub fn receipt_handle(&self) -> Option<Receipt> {
        self.receipt.clone()
    }

    /// Whole seconds for a header, 1 to 86 400, counted from `now`.
    pub fn retry_after(&self, now: UnixMs) -> Option<u32> {
        let wait = self.retry_at?.0.saturating_sub(now.0).max(0);
        u32::try_from((wait + 999) / 1_000).ok().map(|seconds| seconds.clamp(1, 86_400))
    }

    /// The error as a client of this wire reads it.
    pub fn body(&self, wire: Wire) -> Bytes {
        let mut error = ErrorBody::own(&self.code, self.message.clone());
        error.status = Some(self.status);
        wire.write_error(&error)
    }

    pub(super) fn of_route(error: &RouteError) -> Box<ChatError> {
        let status = error.kind.status();
        Box::new(ChatError {
            status,
            code: error.kind.code().to_owned(),
            message: error.to_string(),
            retry_at: error.retry_at.filter(|_| matches!(status, 429 | 503)),
            hint: match status {
                429 | 503 => Hint::Retry,
                404 => Hint::TryAuto,
                _ => Hint::SwitchCombo,
            },
            failure: None,
            receipt: None,
        })
    }

    pub(super) fn of_ending(ending: Ending) -> Box<ChatError> {
        Box::new(ChatError {
            status: ending.status,
            code: ending.code,
            message: ending.message,
            retry_at: ending.retry_at,
            hint: ending.hint,
            failure: ending.failure.map(Box::new),
            receipt: None,
        })
    }

    pub(super) fn of_wire(error: &WireError) -> Box<ChatError> {
        ChatError::own(400, "bad_request", error.to_string(), Hint::SwitchCombo)
    }

    pub(super) fn own(status: u16, code: &str, message: String, hint: Hint) -> Box<ChatError> {
        let code = code.to_owned();
        Box::new(ChatError { status, code, message, retry_at: None, hint, failure: None, receipt: None })
    }

    pub(super) fn with(mut self: Box<Self>, receipt: &Receipt) -> Box<Self> {
        self.receipt = Some(receipt.clone());
        self
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ChatError {}

/// A router that could not be put together: every mistake with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(pub Vec<ConfigError>);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

impl std::error::Error for BuildError {}
