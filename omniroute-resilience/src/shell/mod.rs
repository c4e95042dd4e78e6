//! The shell around the pure parts: who is configured, what is remembered of the store, admitting, reporting.

pub(crate) mod admit;
pub(crate) mod apply;
pub(crate) mod budget;
pub(crate) mod core;
pub(crate) mod decide;
pub(crate) mod denial;
pub(crate) mod egress;
pub(crate) mod events;
pub(crate) mod grant;
pub(crate) mod health;
pub(crate) mod needs;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod show;
pub(crate) mod spec;
pub(crate) mod table;
pub(crate) mod ticket;
pub(crate) mod txn;
pub(crate) mod wait;
pub(crate) mod weigh;
