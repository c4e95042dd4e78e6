//! Shell commands behind tool results: lexing, what printed, and the class that decides which passes are allowed.
//!
//! The way from a call to a class: [`tools::tool_kind`] names the tool, [`lex::parse`] lexes its command,
//! [`print::printing`] finds the commands whose output is shown and strips their wrappers, the program tables say
//! what each prints, and [`class::classify`] puts it together with the text. A class other than `Unknown` is given
//! only when it is certain.

pub(crate) mod args;
pub(crate) mod class;
mod compound;
pub(crate) mod failed;
pub(crate) mod lex;
pub(crate) mod logs;
mod nested;
pub(crate) mod print;
pub(crate) mod programs;
pub(crate) mod script;
mod stamps;
#[cfg(test)]
mod tests;
pub(crate) mod tools;
mod word;
mod wrapper_table;
pub(crate) mod wrappers;
