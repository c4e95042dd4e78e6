//! Undo instructions: which line of the sent text stands for which lines of which source.

use std::borrow::Cow;

use omniroute_core::{SegmentId, Sources};

use super::lines::{Gutter, Lines};

/// One reference: line `at` of the sent text stands for `count` lines of the source from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) at: usize,
    pub(super) id: SegmentId,
    pub(super) leaf: Option<u32>,
    /// Gutter of the source, stripped from its lines.
    pub(super) strip: Option<Gutter>,
    pub(super) first: usize,
    pub(super) count: usize,
    /// Gutter of the restored lines and the number of the first of them.
    pub(super) add: Option<(Gutter, u64)>,
}

/// `at,message,block,part,leaf,strip,first,count,add,number` joined by `;`, absent fields as `-`.
pub(super) fn encode(references: &[Reference]) -> String {
    let dash = || "-".to_owned();
    let one = |r: &Reference| {
        let leaf = r.leaf.map_or_else(dash, |l| l.to_string());
        let strip = r.strip.map_or_else(dash, Gutter::encode);
        let (add, number) = r.add.map_or_else(|| (dash(), dash()), |(g, n)| (g.encode(), n.to_string()));
        let SegmentId { message, block, part } = r.id;
        let (at, first, count) = (r.at, r.first, r.count);
        format!("{at},{message},{block},{part},{leaf},{strip},{first},{count},{add},{number}")
    };
    references.iter().map(one).collect::<Vec<_>>().join(";")
}

fn decode(text: &str) -> Option<Vec<Reference>> {
    let one = |text: &str| {
        let mut fields = text.split(',');
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (at, message, block, part) = (number()?, number()?, number()?, number()?);
        let leaf = fields.next()?;
        let strip = fields.next()?;
        let first = fields.next()?.parse().ok()?;
        let count = fields.next()?.parse().ok()?;
        let (add, start) = (fields.next()?, fields.next()?);
        Some(Reference {
            at: at as usize,
            id: SegmentId { message, block, part },
            leaf: if leaf == "-" { None } else { Some(leaf.parse().ok()?) },
            strip: if strip == "-" { None } else { Some(Gutter::decode(strip)?) },
            first,
            count,
            add: if add == "-" { None } else { Some((Gutter::decode(add)?, start.parse().ok()?)) },
        })
    };
    text.split(';').map(one).collect()
}

/// The text before the references were put in.
pub(super) fn restore(after: &str, undo: &str, sources: &dyn Sources) -> Option<String> {
    let mut references = decode(undo)?.into_iter().peekable();
    let mut out: Vec<u8> = Vec::with_capacity(after.len() * 2);
    for (i, line) in after.split('\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        match references.next_if(|r| r.at == i) {
            Some(reference) => insert(&reference, sources, &mut out)?,
            None => out.extend_from_slice(line.as_bytes()),
        }
    }
    String::from_utf8(out).ok().filter(|_| references.peek().is_none())
}

fn insert(reference: &Reference, sources: &dyn Sources, out: &mut Vec<u8>) -> Option<()> {
    let text: Cow<'_, str> = match reference.leaf {
        None => sources.sent(reference.id)?,
        Some(leaf) => sources.argument(reference.id, leaf as usize)?,
    };
    let bytes = text.as_bytes();
    let lines = Lines::of(bytes, |_| true);
    if reference.first + reference.count > lines.count() {
        return None;
    }
    for k in 0..reference.count {
        if k > 0 {
            out.push(b'\n');
        }
        let line = lines.get(bytes, reference.first + k);
        let content = match reference.strip.and_then(|g| g.split(line)) {
            Some((_, content)) => content,
            None => line,
        };
        match reference.add {
            Some((gutter, number)) => gutter.line(number + k as u64, content, out),
            None => out.extend_from_slice(content),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_survive_their_text_form() {
        let id = SegmentId { message: 3, block: 1, part: 0 };
        let gutter = Gutter::decode("6.1").unwrap();
        let plain = Reference { at: 2, id, leaf: None, strip: None, first: 4, count: 9, add: None };
        let full = Reference { leaf: Some(2), strip: Some(gutter), add: Some((gutter, 17)), at: 8, ..plain };
        assert_eq!(decode(&encode(&[plain, full])), Some(vec![plain, full]));
        assert_eq!(decode("1,2"), None);
    }
}
