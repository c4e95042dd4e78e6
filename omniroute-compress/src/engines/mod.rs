//! The engines. Each is one file or folder here and one line in [`crate::registry::ENGINES`].

pub(crate) mod aggressive;
pub(crate) mod caveman;
pub(crate) mod ccr;
pub(crate) mod ionizer;
mod kept;
pub(crate) mod lite;
pub(crate) mod read_lifecycle;
mod reads;
pub(crate) mod relevance;
pub(crate) mod repeat;
pub(crate) mod responses;
pub mod rows;
pub(crate) mod rtk;
pub(crate) mod session_dedup;
#[cfg(test)]
mod template;
mod trail;
pub(crate) mod ultra;

pub(crate) use reads::newest_reads;
pub(crate) use trail::is_whole;
