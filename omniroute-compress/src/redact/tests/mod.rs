//! Fixtures, refusals and laws of redaction.

#[expect(clippy::string_slice, reason = "templates are ours and cut at ASCII bytes")]
mod fixtures;
#[expect(clippy::string_slice, reason = "texts are cut beside ASCII bytes that were just found")]
mod laws;
mod positive;
mod refusals;
