//! What every reader of streams must fulfil, whatever bytes come and however they are cut: no panic, the same events
//! and the same bytes, lawful events that end once, and answers that other wires can tell.

use bytes::Bytes;
use omniroute_core::hub::{Assembler, Event, EventLaw, StreamItem, WriteContext};
use omniroute_core::wire::{StreamReader, Wire};

/// Most pieces of one input.
const PIECES: usize = 64;

/// The first byte says how long the pieces are that the others come in.
pub(crate) fn read(input: &[u8], wires: &[Wire]) -> Result<(), String> {
    let Some((&size, bytes)) = input.split_first() else { return Ok(()) };
    for wire in wires {
        one(*wire, bytes, usize::from(size)).map_err(|error| format!("{}: {error}", wire.id()))?;
    }
    Ok(())
}

fn one(wire: Wire, bytes: &[u8], size: usize) -> Result<(), String> {
    let Some(mut whole) = wire.stream_reader() else { return Ok(()) };
    let Some(mut pieces) = wire.stream_reader() else { return Ok(()) };
    let mut all = Vec::new();
    whole.feed(Bytes::copy_from_slice(bytes), &mut all);
    whole.end(&mut all);
    let mut cut = Vec::new();
    feed(&mut *pieces, bytes, size.max(bytes.len() / PIECES).max(1), &mut cut);
    if raw(&all) != bytes || raw(&cut) != bytes {
        return Err("bytes are lost or doubled".into());
    }
    if !all.iter().flat_map(|i| &i.events).eq(cut.iter().flat_map(|i| &i.events)) {
        return Err(format!("pieces of {size} give other events"));
    }
    lawful(wire, &all)?;
    told(wire, &all)
}

fn feed(reader: &mut dyn StreamReader, bytes: &[u8], size: usize, out: &mut Vec<StreamItem>) {
    bytes.chunks(size).for_each(|piece| reader.feed(Bytes::copy_from_slice(piece), out));
    reader.end(out);
}

fn raw(items: &[StreamItem]) -> Vec<u8> {
    items.iter().flat_map(|i| i.raw.iter().copied()).collect()
}

fn lawful(wire: Wire, items: &[StreamItem]) -> Result<(), String> {
    let mut law = EventLaw::default();
    let mut assembler = Assembler::new(wire.id());
    for event in items.iter().flat_map(|i| &i.events) {
        law.check(event).map_err(|rule| format!("{rule}: {event:?}"))?;
        assembler.push(event.clone());
    }
    law.end().map_err(|rule| rule.to_string())?;
    let _ = assembler.finish();
    Ok(())
}

/// What the stream says, written for a client of the same wire, ends as it did.
fn told(wire: Wire, items: &[StreamItem]) -> Result<(), String> {
    let Some(mut writer) = wire.stream_writer(&WriteContext::default()) else { return Ok(()) };
    let Some(mut reader) = wire.stream_reader() else { return Ok(()) };
    let mut bytes = Vec::new();
    items.iter().flat_map(|i| &i.events).for_each(|event| writer.write(event, &mut bytes));
    let mut back = Vec::new();
    reader.feed(bytes.into(), &mut back);
    reader.end(&mut back);
    let failed =
        |items: &[StreamItem]| matches!(items.iter().flat_map(|i| &i.events).last(), Some(Event::Error(_)));
    match failed(items) && !failed(&back) {
        true => Err("a failure is told as a success".into()),
        false => Ok(()),
    }
}
