//! The router against scripted providers that speak real wires, under a clock that only moves when told.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bridge;
mod executors;
mod fair;
mod many;
mod memory;
mod nested;
mod odd;
mod overflow;
mod pitfalls;
mod relay;
mod rules;
mod script;
mod settings;
mod streams;
mod times;
mod whole;
