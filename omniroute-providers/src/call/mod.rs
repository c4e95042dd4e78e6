//! Calls of a provider over the host's HTTP: one implementation, driven by the catalogue.

mod answer;
mod body;
mod clocked;
mod correct;
mod count;
mod exchange;
mod gathered;
mod lessons;
mod patience;
mod provider;
#[cfg(feature = "sigv4")]
mod sigv4;
mod steps;
mod stream;
mod surface;
mod wires;

pub use clocked::Timeouts;
pub use lessons::{Lesson, Lessons, MemoryLessons};
pub use provider::{Call, HttpProvider, ProviderBuilder};
pub use surface::{Passed, Surface, Upload};
