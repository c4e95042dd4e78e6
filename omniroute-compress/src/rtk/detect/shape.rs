//! Machine formats by their shape: one JSON document, JSON lines, XML.

use crate::shell::class::is_json_document;

/// True for one JSON document, JSON on every line, or one XML document.
pub(super) fn is_structured(text: &str) -> bool {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{' | b'[') => {
            is_json_document(text) || is_json_lines(text) && !crate::shell::logs::is_log(text)
        }
        Some(b'<') => text.starts_with("<?xml") && text.ends_with('>'),
        _ => false,
    }
}

/// At least two lines, each one JSON object or array. The first three and the last are looked at closely.
fn is_json_lines(text: &str) -> bool {
    let mut lines = 0_usize;
    for line in text.split('\n').map(str::trim_ascii).filter(|line| !line.is_empty()) {
        let bytes = line.as_bytes();
        if !matches!((bytes.first(), bytes.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))) {
            return false;
        }
        if lines < 3 && !is_json_document(line) {
            return false;
        }
        lines += 1;
    }
    lines >= 2
}

/// The look of a YAML document or list: a key, a document start or a list item first, keys on most lines.
///
/// Used only where the command asked for a machine format.
pub(super) fn is_yaml(text: &str) -> bool {
    let (mut lines, mut keys) = (0_usize, 0_usize);
    for line in text.lines().filter(|line| !line.trim_ascii().is_empty()).take(40) {
        let body = line.trim_ascii();
        let name = body.trim_start_matches("- ").split(':').next().unwrap_or_default();
        let key = body.starts_with("- ")
            || body == "---"
            || name.len() < body.len()
                && !name.is_empty()
                && !name.contains(' ')
                && name.bytes().all(|byte| byte.is_ascii_graphic());
        if lines == 0 && !key {
            return false;
        }
        lines += 1;
        keys += usize::from(key);
    }
    lines >= 3 && keys * 2 > lines
}

#[cfg(test)]
mod tests {
    use super::is_structured;

    #[test]
    fn shapes() {
        for (text, yes) in [
            ("{\"a\": [1, 2]}", true),
            ("\n[\n 1\n]\n", true),
            ("{\"a\":1}\n{\"a\":2}\n", true),
            ("{\"a\":1}\nerror\n", false),
            ("<?xml version=\"1.0\"?><a/>", true),
            ("[INFO] x\n[INFO] y]", false),
            ("", false),
        ] {
            assert_eq!(is_structured(text), yes, "{text:?}");
        }
    }
}
