//! A deterministic simulator: virtual time, seeds, scripted vendors, invariants judged after every step.
#![allow(dead_code, reason = "the test and the report use different parts of it")]

pub(crate) mod client;
pub(crate) mod dice;
pub(crate) mod direct;
pub(crate) mod facts;
pub(crate) mod invariants;
pub(crate) mod library;
pub(crate) mod log;
pub(crate) mod owners;
pub(crate) mod peek;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod scripts;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod subject;
pub(crate) mod time;
pub(crate) mod twins;
pub(crate) mod world;
