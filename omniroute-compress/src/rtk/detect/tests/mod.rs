//! Tests of detection as a whole.

mod corpus;
mod laws;
mod negatives;
mod pitfalls;
mod sections;
mod table;

use super::{Call, Detected, detect};

/// Detection of a shell result.
fn shell(command: &str, text: &str) -> Detected {
    detect(Some(Call { tool: Some("bash"), command: Some(command), argv: None }), text, &table::lookup)
}

/// Detection of a text about which nothing is known.
fn bare(text: &str) -> Detected {
    detect(None, text, &table::lookup)
}

/// The classes in order.
fn classes(detected: &Detected) -> Vec<&'static str> {
    detected.all().iter().map(|one| one.class).collect()
}
