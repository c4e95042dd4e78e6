//! Reading a body changes nothing in it, and an edit changes its own literal only.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/fixtures.rs"]
mod fixtures;

use std::ops::Range;

use fixtures::{Fixture, bodies};
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Doc, NodeId, Part, Patch, SegmentKind, Transcript};
use serde_json::Value;

/// Puts texts in place of segments, given by their index.
type Editor = dyn Fn(&ChatRequest, &[(usize, String)]) -> Vec<u8>;

/// What a reading of a body says, apart from where it stands.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    turns: Vec<String>,
    segments: Vec<Said>,
}

#[derive(Debug, Clone, PartialEq)]
struct Said {
    id: String,
    about: String,
    text: String,
}

fn request(fixture: &Fixture) -> ChatRequest {
    ChatRequest::parse(fixture.wire, fixture.body.clone()).unwrap_or_else(|e| panic!("{fixture}: {e}"))
}

fn reading(request: &ChatRequest) -> Result<Reading, String> {
    let conversation = request.conversation().map_err(|e| e.to_string())?;
    let mut turns = vec![format!(
        "{} tools, {} more members, model {:?}, continues {}",
        conversation.tools.len(),
        conversation.extra.len(),
        conversation.head.model.map(|m| m.decode()),
        conversation.continues
    )];
    for turn in &conversation.turns {
        let parts: Vec<String> = turn.parts.iter().map(|p| shape(request.doc(), p)).collect();
        turns.push(format!("{:?} {:?} {parts:?}", turn.role, turn.index));
    }
    let transcript = Transcript::from_conversation(request.doc(), &conversation);
    let segments = transcript.segments().iter().map(|s| Said {
        id: s.id.to_string(),
        about: format!(
            "{:?} {:?} error {} exit {:?} answers {:?} by {:?}",
            s.kind,
            s.frozen,
            s.is_error,
            s.wire_exit_code(),
            transcript.call_of(s),
            s.as_call(),
        ),
        text: s.original().to_owned(),
    });
    Ok(Reading { turns, segments: segments.collect() })
}

/// Everything about a part but its editable text.
fn shape(doc: &Doc, part: &Part<'_>) -> String {
    match part {
        Part::Text(text) => format!("text, sealed {} envelope {}", text.sealed, text.envelope),
        Part::ToolCall(call) => format!("call {}", doc.raw(call.node)),
        Part::ToolResult(result) => {
            let parts: Vec<String> = result.parts.iter().map(|p| shape(doc, p)).collect();
            let (id, name) = (result.id.map(|i| i.decode()), result.name.map(|n| n.decode()));
            format!("result {id:?} {name:?} {} {:?} {parts:?}", result.is_error, result.exit_code)
        }
        Part::Reasoning { node, .. } => format!("reasoning {}", doc.raw(*node)),
        Part::Media { node } => format!("media {}", doc.raw(*node)),
        Part::Opaque { node } => format!("opaque {}", doc.raw(*node)),
        _ => "new kind of part".to_owned(),
    }
}

/// Index, literal and inner literal of what may be edited. The inner one is the place in the decoded text.
fn editable(request: &ChatRequest) -> Vec<(usize, NodeId)> {
    let transcript = Transcript::of(request).unwrap();
    let all = transcript.segments().iter().enumerate();
    all.filter(|(_, s)| s.frozen.is_none()).filter_map(|(i, s)| Some((i, s.node()?))).collect()
}

fn by_splice(request: &ChatRequest, edits: &[(usize, String)]) -> Vec<u8> {
    let transcript = Transcript::of(request).unwrap();
    let mut patch = Patch::new();
    for (index, text) in edits {
        let segment = &transcript.segments()[*index];
        patch.set_escaped(segment.node().unwrap(), segment.literal_for(text).into());
    }
    request.doc().splice(&patch).unwrap().to_vec()
}

/// A new text that is long enough for every wire to count as output, with everything that has to be escaped.
fn new_text(n: usize) -> String {
    format!(
        "edit {n}: \"quoted\" \\ back\\u00e9slash\n\ttab\r\n\u{1b}[31mé🌊\u{2028} </s> {}",
        "0123456789".repeat(20)
    )
}

/// The editor changed the literals of `edits` and nothing else, and the body reads as before but for them.
fn only_its_literal(request: &ChatRequest, edits: &[(usize, String)], editor: &Editor) -> Result<(), String> {
    let old = request.to_bytes();
    let new = editor(request, edits);
    let nodes = editable(request);
    let mut spans: Vec<(Range<usize>, &str)> = Vec::new();
    for (index, text) in edits {
        let node = nodes.iter().find(|(i, _)| i == index).ok_or("not editable")?.1;
        spans.push((request.doc().span(node), text));
    }
    spans.sort_by_key(|(span, _)| span.start);
    let (mut from, mut at) = (0, 0);
    for (span, text) in spans {
        let kept = &old[from..span.start];
        if new.get(at..at + kept.len()) != Some(kept) {
            return Err(format!("bytes {from}..{} changed", span.start));
        }
        at += kept.len();
        let mut literals = serde_json::Deserializer::from_slice(&new[at..]).into_iter::<String>();
        let written = literals.next().ok_or("no literal")?.map_err(|e| e.to_string())?;
        at += literals.byte_offset();
        let before: String = serde_json::from_slice(&old[span.clone()]).map_err(|e| e.to_string())?;
        inner(request.wire(), &before, &written, text)?;
        from = span.end;
    }
    if new.get(at..) != Some(&old[from..]) {
        return Err(format!("bytes {from}.. changed"));
    }
    let edited = ChatRequest::parse(request.wire(), new).map_err(|e| e.to_string())?;
    let mut expected = reading(request)?;
    for (index, text) in edits {
        expected.segments[*index].text.clone_from(text);
    }
    let found = reading(&edited)?;
    if found == expected { Ok(()) } else { Err(format!("reads {found:?}\nexpected {expected:?}")) }
}

/// A text that is a JSON document with a text under `output` keeps the rest of it.
fn inner(wire: Wire, before: &str, written: &str, text: &str) -> Result<(), String> {
    let output = |text: &str| {
        let value: Value = serde_json::from_str(text).ok()?;
        value.as_object()?.get("output")?.as_str().map(str::to_owned)
    };
    if wire != wire::OPENAI_RESPONSES || output(before).is_none() {
        return if written == text { Ok(()) } else { Err(format!("wrote {written:?}")) };
    }
    if output(written).as_deref() != Some(text) {
        return Err(format!("wrote {written:?} around {text:?}"));
    }
    // What is in front of the first byte that differs and behind the last one is the envelope.
    let doc = Doc::parse(before.to_owned()).map_err(|e| e.to_string())?;
    let span = doc.span(doc.get(doc.root(), "output").ok_or("no output")?);
    let (head, tail) = (&before.as_bytes()[..span.start], &before.as_bytes()[span.end..]);
    let kept = written.as_bytes().starts_with(head) && written.as_bytes().ends_with(tail);
    if kept { Ok(()) } else { Err(format!("the envelope {before:?} became {written:?}")) }
}

#[test]
fn reading_changes_nothing_and_knows_the_wire() {
    let all = bodies();
    assert!(all.len() >= 60);
    for wire in wire::WIRES {
        assert!(all.iter().filter(|f| f.wire == *wire).count() >= 15, "{wire:?}");
    }
    let guess = |f: &&Fixture| wire::detect(request(f).doc()) == Some(f.wire);
    let wrong: Vec<String> = all.iter().filter(|f| !guess(f)).map(ToString::to_string).collect();
    assert_eq!(wrong, Vec::<String>::new(), "taken for another wire");
    for fixture in &all {
        let mut request = request(fixture);
        let read = reading(&request).unwrap_or_else(|e| panic!("{fixture}: {e}"));
        assert!(read.turns.len() > 1 || fixture.name.contains("deep"), "{fixture}: nothing was read");
        request.apply(&Patch::new()).unwrap();
        assert_eq!(request.to_bytes(), fixture.body, "{fixture}");
    }
}

#[test]
fn an_edit_changes_its_literal_only() {
    let mut edits = 0;
    for fixture in bodies() {
        let request = request(&fixture);
        for (index, _) in editable(&request) {
            let edit = [(index, new_text(index))];
            only_its_literal(&request, &edit, &by_splice)
                .unwrap_or_else(|e| panic!("{fixture} segment {index}: {e}"));
            edits += 1;
        }
    }
    assert!(edits > 250, "{edits}");
}

#[test]
fn all_edits_at_once_change_their_literals_only() {
    for fixture in bodies() {
        let request = request(&fixture);
        let edits: Vec<(usize, String)> =
            editable(&request).into_iter().map(|(i, _)| (i, new_text(i))).collect();
        only_its_literal(&request, &edits, &by_splice).unwrap_or_else(|e| panic!("{fixture}: {e}"));
    }
}

/// Writing the very text that is there may spell it differently, but says the same and nothing else changes.
#[test]
fn writing_the_same_text_keeps_the_meaning() {
    for fixture in bodies() {
        let request = request(&fixture);
        let transcript = Transcript::of(&request).unwrap();
        for (index, node) in editable(&request) {
            let segment = &transcript.segments()[index];
            let same = [(index, segment.original().to_owned())];
            only_its_literal(&request, &same, &by_splice)
                .unwrap_or_else(|e| panic!("{fixture} {index}: {e}"));
            let bytes = by_splice(&request, &same);
            let span = request.doc().span(node);
            assert_eq!(segment.rewrites_exactly(), bytes == request.to_bytes(), "{fixture} {span:?}");
        }
    }
}

#[test]
fn no_two_segments_share_an_id_or_a_byte() {
    for fixture in bodies() {
        let request = request(&fixture);
        let transcript = Transcript::of(&request).unwrap();
        let messages = transcript.segments().iter();
        let mut ids: Vec<_> = messages.map(|s| s.id).collect();
        ids.sort();
        let double: Vec<_> = ids.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0].to_string()).collect();
        assert_eq!(double, Vec::<String>::new(), "{fixture}");
        let mut spans: Vec<_> = editable(&request).iter().map(|(_, n)| request.doc().span(*n)).collect();
        spans.sort_by_key(|s| s.start);
        assert!(spans.windows(2).all(|w| w[0].end <= w[1].start), "{fixture}");
    }
}

/// The path of `node` from the root, as `serde_json` pointers write it.
fn pointer(doc: &Doc, from: NodeId, node: NodeId) -> Option<String> {
    if from == node {
        return Some(String::new());
    }
    let members =
        doc.members(from).map(|(k, v)| (doc.str(k).unwrap().replace('~', "~0").replace('/', "~1"), v));
    let elements = doc.elements(from).enumerate().map(|(i, v)| (i.to_string(), v));
    members.chain(elements).find_map(|(name, v)| Some(format!("/{name}{}", pointer(doc, v, node)?)))
}

/// Twin: an editor that parses the body into a value, sets the text and writes the value out again.
#[test]
fn twin_editor_through_a_value_is_caught() {
    let through_value = |request: &ChatRequest, edits: &[(usize, String)]| {
        let spliced = by_splice(request, edits);
        let doc = Doc::parse(spliced).unwrap();
        let mut value: Value = serde_json::from_slice(&request.to_bytes()).unwrap();
        let nodes = editable(request);
        for (index, _) in edits {
            let node = nodes.iter().find(|(i, _)| i == index).unwrap().1;
            let place = pointer(request.doc(), request.doc().root(), node).unwrap();
            *value.pointer_mut(&place).unwrap() = doc.str(node).unwrap().into_owned().into();
        }
        serde_json::to_vec(&value).unwrap()
    };
    let (mut caught, mut all) = (0, 0);
    for fixture in bodies() {
        let request = request(&fixture);
        let Some((index, _)) = editable(&request).into_iter().next() else { continue };
        all += 1;
        caught += usize::from(only_its_literal(&request, &[(index, new_text(0))], &through_value).is_err());
    }
    assert_eq!(caught, all, "keys out of order, spacing, numbers or escapes are in every body");
}

/// Twins: editors that hit the neighbour, that write nothing, and that lose an envelope.
#[test]
fn twin_editors_that_miss_are_caught() {
    let neighbour = |request: &ChatRequest, edits: &[(usize, String)]| {
        let nodes = editable(request);
        let next = |index: &usize| nodes.iter().map(|(i, _)| *i).find(|i| i != index).unwrap_or(*index);
        by_splice(request, &edits.iter().map(|(i, t)| (next(i), t.clone())).collect::<Vec<_>>())
    };
    let nothing = |request: &ChatRequest, _: &[(usize, String)]| request.to_bytes().to_vec();
    let no_envelope = |request: &ChatRequest, edits: &[(usize, String)]| {
        let nodes = editable(request);
        let mut patch = Patch::new();
        for (index, text) in edits {
            patch.set_str(nodes.iter().find(|(i, _)| i == index).unwrap().1, text);
        }
        request.doc().splice(&patch).unwrap().to_vec()
    };
    let caught = |name: &str, kind: SegmentKind, editor: &Editor| {
        let fixture = bodies().into_iter().find(|f| f.name == name).unwrap();
        let request = request(&fixture);
        let transcript = Transcript::of(&request).unwrap();
        let at = transcript.segments().iter().position(|s| s.kind == kind && s.frozen.is_none()).unwrap();
        let edit = [(at, new_text(1))];
        assert_eq!(only_its_literal(&request, &edit, &by_splice), Ok(()));
        only_its_literal(&request, &edit, editor).is_err()
    };
    assert!(caught("03-parallel-tools-reordered", SegmentKind::ToolResult, &neighbour));
    assert!(caught("03-parallel-tools-reordered", SegmentKind::ToolResult, &nothing));
    assert!(caught("03-shell-json-string-outputs", SegmentKind::ToolResult, &no_envelope));
}
