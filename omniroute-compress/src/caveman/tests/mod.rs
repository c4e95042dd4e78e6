//! Tests of the rules, of what they must never do, and of the checks themselves.

mod examined;
mod facts;
mod laws;
mod meaning;
mod packs;
mod real;
mod twin;
