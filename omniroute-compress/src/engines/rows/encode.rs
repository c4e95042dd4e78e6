//! Puts the parts together: find the document, survey it, write the block, weigh it, prove it.

use super::emit;
use super::fmt::style;
use super::locate::locate;
use super::strings::push_compact;
use super::survey::survey;
use super::verify::verify;
use super::{Encoded, Form, Options, Refusal};
use crate::marker;

/// Replaces the JSON document in `text` by a table block, if that is smaller and provably the same.
///
/// `tokens` counts tokens; it is called for the document and for the block, and a third time, for the
/// compact document, only when white space makes up nearly all of what the table saves.
///
/// # Errors
/// The first [`Refusal`] that applies; the text is then to be sent as it is.
pub fn encode(text: &str, tokens: &dyn Fn(&str) -> u32, options: &Options) -> Result<Encoded, Refusal> {
    if text.len() > options.max_bytes.min(u32::MAX as usize) {
        return Err(Refusal::TooLarge);
    }
    if text.len() < options.min_chars {
        return Err(Refusal::TooSmall);
    }
    if options.refuse_marked && marker::contains(text) {
        return Err(Refusal::AlreadyCompressed);
    }
    let found = locate(text, options)?;
    let source = text.get(found.place.clone()).ok_or(Refusal::NotJson)?;
    if source.len() < options.min_chars {
        return Err(Refusal::TooSmall);
    }
    let src = source.as_bytes();
    let tables = survey(src, found.lines, options)?;
    // A block that saves too few bytes cannot save enough tokens worth having.
    let limit = src.len().saturating_mul(100 - options.min_saving_percent.min(100) as usize / 2) / 100;
    let mut out = Vec::with_capacity(text.len() - src.len() + limit / 2);
    out.extend_from_slice(text.as_bytes().get(..found.place.start).unwrap_or(&[]));
    emit::block(src, &tables, limit, &mut out).ok_or(Refusal::NoGain)?;
    let printed = style(src, found.lines);
    let rows = tables.iter().map(|t| t.rows).sum();
    let count = tables.len() as u32;
    drop(tables);

    let mut form = Form::Table;
    let start = found.place.start;
    let before = tokens(source);
    let mut after = tokens(utf8(&out, start)?);
    let saved = before.saturating_sub(after);
    if u64::from(saved) * 100 < u64::from(before) * u64::from(options.min_saving_percent)
        || saved < options.min_saving_tokens
    {
        return Err(Refusal::NoGain);
    }
    if !found.lines && printed.space * 10 >= (src.len() + start).saturating_sub(out.len()) * 9 {
        let mut compact = Vec::with_capacity(src.len() - printed.space);
        push_compact(src, &mut compact);
        let alone = tokens(utf8(&compact, 0)?);
        if u64::from(before.saturating_sub(alone)) * 10 >= u64::from(saved) * 9 {
            out.truncate(start);
            out.extend_from_slice(&compact);
            (form, after) = (Form::CompactJson, alone);
        }
    }
    if options.verify && !verify(utf8(&out, start)?, src, found.lines) {
        debug_assert!(false, "the block does not decode to its source");
        return Err(Refusal::VerifyFailed);
    }
    let block = start..out.len();
    out.extend_from_slice(text.as_bytes().get(found.place.end..).unwrap_or(&[]));
    let text = String::from_utf8(out).map_err(|_| Refusal::VerifyFailed)?;
    Ok(Encoded {
        text,
        form,
        rows,
        tables: count,
        place: found.place,
        block,
        printer: printed.printer,
        tokens_before: before,
        tokens_after: after,
    })
}

fn utf8(out: &[u8], from: usize) -> Result<&str, Refusal> {
    std::str::from_utf8(out.get(from..).unwrap_or(&[])).map_err(|_| Refusal::VerifyFailed)
}
