//! Calls of a provider over the host's HTTP: one implementation, driven by the catalogue.

mod answer;
mod clocked;
mod gathered;
mod provider;
#[cfg(feature = "sigv4")]
mod sigv4;
mod steps;
mod stream;
mod surface;
mod wires;

pub use answer::{ChatBody, ChatResponse};
pub use clocked::Timeouts;
pub use provider::{Call, HttpProvider, ProviderBuilder};
pub use stream::EventStream;
pub use surface::{Passed, Surface, Upload};
