//! What every reading of every body must fulfil: no panic, errors with a rule and a place, and texts that can
//! be replaced without disturbing the others.

use omniroute_core::wire::{self, WIRES, Wire};
use omniroute_core::{ChatRequest, Doc, Kind, Patch, Rule, SegmentKind, Transcript};

/// Any bytes, read as a request of every wire.
pub(crate) fn request(bytes: &[u8]) -> Result<(), String> {
    let doc = match Doc::parse(bytes.to_vec()) {
        Ok(doc) => doc,
        Err(error) if error.offset() <= bytes.len() && !error.to_string().contains('\n') => return Ok(()),
        Err(error) => return Err(format!("unsound error: {error}")),
    };
    let _ = wire::detect(&doc);
    for wire in WIRES {
        read(*wire, &doc).map_err(|e| format!("{}: {e}", wire.id()))?;
    }
    Ok(())
}

fn read(wire: Wire, doc: &Doc) -> Result<(), String> {
    let request = ChatRequest::from_doc(wire, doc.clone());
    let head = request.head();
    let conversation = match request.conversation() {
        Ok(conversation) => conversation,
        Err(error) => {
            let known = matches!(error.rule(), Rule::Shape | Rule::DuplicateKey);
            return if known && error.offset() < doc.bytes().len() {
                Ok(())
            } else {
                Err(format!("{error:?}"))
            };
        }
    };
    if conversation.head.model.map(|m| m.decode()) != head.model.map(|m| m.decode()) {
        return Err("two readings of the model differ".into());
    }
    let indices: Vec<u32> = conversation.turns.iter().filter_map(|t| t.index).collect();
    if !indices.iter().copied().eq(0..indices.len() as u32) {
        return Err("messages are not numbered in order".into());
    }
    let transcript = Transcript::from_conversation(doc, &conversation);
    consistent(doc, &transcript)?;
    edited(&request, &transcript)
}

fn consistent(doc: &Doc, transcript: &Transcript<'_>) -> Result<(), String> {
    let segments = transcript.segments();
    let mut editable = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        if let Some(call) = segment.call {
            let kind = segments.get(call).map(|s| s.kind);
            if call >= index || kind != Some(SegmentKind::ToolCall) || segment.kind != SegmentKind::ToolResult
            {
                return Err(format!("{segment:?} answers {call}"));
            }
        }
        let _ = (segment.as_call(), segment.tool_name(), segment.argument_leaves(), segment.exit_code());
        match segment.node() {
            None if segment.frozen.is_none() => return Err(format!("{segment:?} has no node to edit")),
            Some(node) if segment.frozen.is_none() => {
                let span = doc.span(node);
                if doc.bytes().get(span.start + 1..span.end - 1) != Some(segment.raw()) {
                    return Err(format!("{segment:?} is not what its node holds"));
                }
                editable.push((span, segment.id));
            }
            _ => {}
        }
        let literal = Doc::parse(segment.literal_for(segment.original())).map_err(|e| e.to_string())?;
        if literal.kind(literal.root()) != Kind::String {
            return Err(format!("{segment:?} is not written as a string"));
        }
    }
    editable.sort_by_key(|(span, _)| span.start);
    let apart = editable.windows(2).all(|w| matches!(w, [(a, _), (b, _)] if a.end <= b.start));
    let mut ids: Vec<_> = editable.iter().map(|(_, id)| *id).collect();
    ids.sort();
    ids.dedup();
    if apart && ids.len() == editable.len() {
        Ok(())
    } else {
        Err("two segments share a literal or an id".into())
    }
}

/// Every text gets another one; then the body reads as before but for the texts.
fn edited(request: &ChatRequest, transcript: &Transcript<'_>) -> Result<(), String> {
    let mut patch = Patch::new();
    // Long enough that every wire counts it as output.
    let text = |n: usize| format!("text {n} \"\\\n\u{1}é🌊 {}", "0123456789".repeat(20));
    let is_editable = |s: &omniroute_core::Segment<'_>| s.frozen.is_none();
    for (index, segment) in transcript.segments().iter().enumerate().filter(|(_, s)| is_editable(s)) {
        let node = segment.node().ok_or("no node")?;
        patch.set_escaped(node, segment.literal_for(&text(index)).into());
    }
    let mut new = request.clone();
    new.apply(&patch).map_err(|e| e.to_string())?;
    let again = Transcript::of(&new).map_err(|e| e.to_string())?;
    if again.segments().len() != transcript.segments().len() {
        return Err("an edit changed the number of segments".into());
    }
    for (index, (old, new)) in transcript.segments().iter().zip(again.segments()).enumerate() {
        let expected = if is_editable(old) { text(index) } else { old.original().to_owned() };
        let same = (old.id, old.kind, old.frozen, old.is_error, old.call, old.node(), old.wire_exit_code())
            == (new.id, new.kind, new.frozen, new.is_error, new.call, new.node(), new.wire_exit_code());
        if !same || new.original() != expected {
            return Err(format!("{old:?} reads {:?}, expected {expected:?}", new.original()));
        }
    }
    Ok(())
}
