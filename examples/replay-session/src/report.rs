//! The table and the closing lines. Every figure comes from the replay.

use std::io::{self, Write};

use omniroute_compress::cost::PRICES_AS_OF;
use omniroute_core::SegmentKind;

use crate::figures::{grouped, listed, money_saved, percent_saved};
use crate::replay::{Replay, Row};
use crate::session::Session;
use crate::untouched::{Share, Untouched};

/// Place of the only column that is text.
const ENGINES: usize = 5;

/// Writes the report of one session; `elsewhere` is the same session at another vendor's terms.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write(
    out: &mut dyn Write,
    session: &Session,
    replay: &Replay,
    elsewhere: &Replay,
) -> io::Result<()> {
    let calls = session.calls.len();
    writeln!(
        out,
        "{}: {} messages, {} model calls in {} user turns, wire {}, plan {}",
        session.name,
        session.messages(),
        calls,
        session.turns,
        session.request.wire().id(),
        replay.plan
    )?;
    writeln!(out, "bill: {}, list prices of {PRICES_AS_OF}, estimated tokens, no cold cache", replay.terms)?;
    writeln!(out, "tokens: of the turn's last request; engines: texts changed that are new in the turn\n")?;
    write_table(out, replay)?;
    writeln!(out, "\nsaved {}", savings(replay))?;
    writeln!(out, "saved {}", savings(elsewhere))?;
    writeln!(
        out,
        "left untouched: {}; prefix of the call before kept in {} of {} calls\n",
        untouched(&replay.untouched),
        // A replay in which it was not kept ends with an error.
        replay.with.rows.len().saturating_sub(1),
        calls.saturating_sub(1)
    )
}

fn write_table(out: &mut dyn Write, replay: &Replay) -> io::Result<()> {
    let head =
        ["turn", "calls", "before", "after", "saved", "engines", "USD without", "USD with", "us", "longest"];
    let mut table = vec![head.map(str::to_owned)];
    table.extend(replay.rows.iter().zip(1_u64..).map(|(row, number)| cells(number.to_string(), row)));
    let sum = |of: fn(&Row) -> u64| replay.rows.iter().map(of).sum();
    let mut all = cells(
        "all".to_owned(),
        &Row {
            calls: sum(|row| row.calls),
            tokens: replay.tokens,
            engines: Vec::new(),
            without: replay.without.total.cost,
            with: replay.with.total.cost,
            micros: (sum(|row| row.micros.0), replay.rows.iter().map(|row| row.micros.1).max().unwrap_or(0)),
        },
    );
    if let Some(engines) = all.get_mut(ENGINES) {
        "(tokens of all requests)".clone_into(engines);
    }
    table.push(all);

    let columns = if replay.timed { head.len() } else { head.len() - 2 };
    let width =
        |column: usize| table.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in &table {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padded =
                if column == ENGINES { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            line.push_str(if column == 0 { "" } else { "  " });
            line.push_str(&padded);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn cells(turn: String, row: &Row) -> [String; 10] {
    let engines: Vec<String> = row.engines.iter().map(|(name, count)| format!("{name} {count}")).collect();
    [
        turn,
        grouped(row.calls),
        grouped(row.tokens.0),
        grouped(row.tokens.1),
        percent_saved(row.tokens.0.into(), row.tokens.1.into()),
        if engines.is_empty() { "-".to_owned() } else { engines.join(", ") },
        format!("{:.4}", row.without),
        format!("{:.4}", row.with),
        grouped(row.micros.0),
        grouped(row.micros.1),
    ]
}

fn savings(replay: &Replay) -> String {
    let (before, after) = replay.tokens;
    let (without, with) = (replay.without.total.cost, replay.with.total.cost);
    let sign = if after > before { "-" } else { "" };
    format!(
        "{} of the tokens sent ({sign}{} of {}) and {} of the bill ({} of {without:.4} USD): {}",
        percent_saved(before.into(), after.into()),
        grouped(before.abs_diff(after)),
        grouped(before),
        percent_saved(without.pico(), with.pico()),
        money_saved(without, with),
        replay.terms
    )
}

fn untouched(found: &Untouched) -> String {
    let mut whole = Vec::new();
    let mut parts = vec![partly(found.messages, "message")];
    for (kind, share) in &found.texts {
        match noun(*kind) {
            Some(noun) if share.same == share.all => whole.push(format!("{noun} ({})", share.all)),
            Some(noun) => parts.push(partly(*share, noun)),
            None => {}
        }
    }
    if found.reads.all > 0 {
        parts.push(partly(found.reads, "file read"));
    }
    if !whole.is_empty() {
        parts.push(format!("every {}", listed(&whole)));
    }
    parts.join(", ")
}

fn partly(share: Share, noun: &str) -> String {
    format!("{} of {} {noun}{}", share.same, share.all, if share.all == 1 { "" } else { "s" })
}

fn noun(kind: SegmentKind) -> Option<&'static str> {
    Some(match kind {
        SegmentKind::System => "system text",
        SegmentKind::User => "user text",
        SegmentKind::Assistant => "assistant text",
        SegmentKind::Reasoning => "reasoning text",
        SegmentKind::ToolCall => "tool call",
        SegmentKind::ToolResult => "tool result",
        SegmentKind::ToolDefinition => "tool definition",
        _ => return None,
    })
}
