//! Typed access to the tree of a filter file. Every mistake is noted with its place; reading goes on.

use super::common::Parsed;
use super::error::{FilterError, FilterErrorKind, FilterFormat, FilterSource, short};
use super::limits::{ERRORS_PER_FILE, FILE_BYTES, MAX_COUNT};
use super::pattern::{Pattern, Syntax, Use};
use super::tree::{Member, Node, Placed, Value};

/// A file that is being read, and the mistakes found so far.
#[derive(Debug)]
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    pub(crate) source: FilterSource,
    format: FilterFormat,
    path: &'t str,
    /// The filter that is being read.
    pub(crate) filter: Option<String>,
    /// How its patterns are read.
    pub(crate) syntax: Syntax,
    /// What has been found wrong.
    pub(crate) errors: Vec<FilterError>,
    /// What its author should know: filter and message.
    pub(crate) notes: Vec<(String, String)>,
}

/// A table that is being read.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    at: usize,
    path: String,
    members: &'n [Member],
    asked: Vec<&'static str>,
}

impl<'t> Reader<'t> {
    /// Checks size and encoding of a file.
    pub(crate) fn open(
        source: FilterSource,
        format: FilterFormat,
        path: &'t str,
        bytes: &'t [u8],
        syntax: Syntax,
    ) -> Result<Reader<'t>, Parsed> {
        let mut reader = Reader {
            text: "",
            source,
            format,
            path,
            filter: None,
            syntax,
            errors: Vec::new(),
            notes: Vec::new(),
        };
        if bytes.len() > FILE_BYTES {
            let (size, limit) = (bytes.len() as u64, FILE_BYTES as u64);
            return Err(reader.refuse(FilterErrorKind::TooLarge {
                what: "the file",
                size,
                limit,
                unit: "bytes",
            }));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => reader.text = text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                return Err(reader.refuse(FilterErrorKind::NotUtf8 { offset: error.valid_up_to() }));
            }
        }
        Ok(reader)
    }

    /// Notes a mistake at a byte offset.
    pub(crate) fn report(&mut self, at: usize, field: &str, kind: FilterErrorKind) {
        if self.errors.len() >= ERRORS_PER_FILE {
            return;
        }
        let (line, column) = place(self.text, at);
        let field = (!field.is_empty()).then(|| field.to_owned());
        self.errors.push(FilterError { line, column, field, ..self.unplaced(kind) });
    }

    /// Notes mistakes of the syntax.
    pub(crate) fn report_all(&mut self, mistakes: Vec<Placed>) {
        for (at, kind) in mistakes {
            self.report(at, "", kind);
        }
    }

    /// A file that cannot be read as a whole.
    fn refuse(self, kind: FilterErrorKind) -> Parsed {
        Parsed { errors: vec![self.unplaced(kind)], ..Parsed::default() }
    }

    fn unplaced(&self, kind: FilterErrorKind) -> FilterError {
        FilterError {
            source: self.source,
            format: self.format,
            path: self.path.to_owned(),
            filter: self.filter.clone(),
            field: None,
            line: 0,
            column: 0,
            kind,
        }
    }

    fn wrong_type(&mut self, node: &Node, field: &str, expected: &'static str) {
        self.report(node.at, field, FilterErrorKind::WrongType { expected, got: node.type_name() });
    }

    /// The fields of a table; `path` is empty for the filter itself.
    pub(crate) fn table<'n>(&mut self, node: &'n Node, path: &str) -> Option<Fields<'n>> {
        match &node.value {
            Value::Table(members) => {
                Some(Fields { at: node.at, path: path.to_owned(), members, asked: Vec::new() })
            }
            _ => {
                self.wrong_type(node, path, "a table");
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        match &node.value {
            Value::List(items) => items,
            _ => {
                self.wrong_type(node, path, "a list");
                &[]
            }
        }
    }

    /// A string.
    pub(crate) fn string<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n str> {
        match &node.value {
            Value::Str { text, .. } => Some(text),
            _ => {
                self.wrong_type(node, path, "a string");
                None
            }
        }
    }

    /// A checked pattern.
    pub(crate) fn pattern(&mut self, node: &Node, path: &str, used: Use) -> Option<Pattern> {
        let source = self.string(node, path)?;
        match Pattern::parse(source, used, self.syntax) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let content = match &node.value {
                    Value::Str { content, .. } => *content,
                    _ => None,
                };
                let at = content.map_or(node.at, |start| start + error.offset);
                self.report(at, path, error.kind);
                None
            }
        }
    }

    /// One of a list of words.
    pub(crate) fn word<T: Copy>(&mut self, node: &Node, path: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.string(node, path)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let allowed = format!("one of {}", names.join(", "));
            self.report(node.at, path, FilterErrorKind::OutOfRange { value: quoted(text), allowed });
        }
        found
    }

    /// A whole number within a range.
    pub(crate) fn number(&mut self, node: &Node, path: &str, min: i64, max: i64) -> Option<i64> {
        let Value::Int(n) = node.value else {
            self.wrong_type(node, path, "a whole number");
            return None;
        };
        if n < min || n > max {
            let allowed = format!("a whole number from {min} to {max}");
            self.report(node.at, path, FilterErrorKind::OutOfRange { value: n.to_string(), allowed });
            return None;
        }
        Some(n)
    }
}

impl<'n> Fields<'n> {
    /// Byte offset of the table.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The field's path for messages.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key, if it is there.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.asked.push(key);
        self.members.iter().find(|m| m.key == key).map(|m| &m.value)
    }

    /// Whether a key is there; it does not become known by this.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|m| m.key == key)
    }

    /// Byte offset of a key that is there, else of the table.
    pub(crate) fn place(&self, key: &str) -> usize {
        self.members.iter().find(|m| m.key == key).map_or(self.at, |m| m.at)
    }

    /// The value of a key that must be there.
    pub(crate) fn need(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            reader.report(self.at, &self.path, FilterErrorKind::MissingKey { key: format!("key \"{key}\"") });
        }
        found
    }

    /// A string that must be there.
    pub(crate) fn need_string(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'n str> {
        let node = self.need(reader, key)?;
        reader.string(node, &self.path(key))
    }

    /// A string.
    pub(crate) fn string(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'n str> {
        let node = self.get(key)?;
        reader.string(node, &self.path(key))
    }

    /// A switch, off if it is not there.
    pub(crate) fn switch(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<bool> {
        let node = self.get(key)?;
        match node.value {
            Value::Bool(on) => Some(on),
            _ => {
                reader.wrong_type(node, &self.path(key), "true or false");
                None
            }
        }
    }

    /// A whole number within a range.
    pub(crate) fn number(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        min: i64,
        max: i64,
    ) -> Option<i64> {
        let node = self.get(key)?;
        reader.number(node, &self.path(key), min, max)
    }

    /// A number of lines or characters, 0 to 100,000.
    pub(crate) fn count(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<usize> {
        self.number(reader, key, 0, MAX_COUNT).and_then(|n| usize::try_from(n).ok())
    }

    /// A list of strings.
    pub(crate) fn strings(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Vec<(&'n str, usize)> {
        let Some(node) = self.get(key) else { return Vec::new() };
        let path = self.path(key);
        let items = reader.list(node, &path).iter().enumerate();
        items.filter_map(|(i, n)| Some((reader.string(n, &format!("{path}[{i}]"))?, n.at))).collect()
    }

    /// A list of patterns.
    pub(crate) fn patterns(&mut self, reader: &mut Reader<'_>, key: &'static str, used: Use) -> Vec<Pattern> {
        let Some(node) = self.get(key) else { return Vec::new() };
        let path = self.path(key);
        let items = reader.list(node, &path).iter().enumerate();
        items.filter_map(|(i, n)| reader.pattern(n, &format!("{path}[{i}]"), used)).collect()
    }

    /// A list of tables, each with its path.
    pub(crate) fn tables(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Vec<Fields<'n>> {
        let Some(node) = self.get(key) else { return Vec::new() };
        let path = self.path(key);
        let items = reader.list(node, &path).iter().enumerate();
        items.filter_map(|(i, n)| reader.table(n, &format!("{path}[{i}]"))).collect()
    }

    /// Reports every key that nobody asked for.
    pub(crate) fn finish(self, reader: &mut Reader<'_>) {
        for member in self.members {
            if !self.asked.iter().any(|key| *key == member.key) {
                let hint = nearest(&member.key, &self.asked);
                let key = short(&member.key, 64);
                reader.report(member.at, &self.path, FilterErrorKind::UnknownKey { key, hint });
            }
        }
    }
}

/// A value for messages.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", short(text, 60))
}

/// Line and column of a byte offset, both from 1, the column in characters.
pub(crate) fn place(text: &str, at: usize) -> (u32, u32) {
    let before = text.as_bytes().get(..at.min(text.len())).unwrap_or(&[]);
    let line = memchr::memchr_iter(b'\n', before).count() as u32 + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |p| p + 1);
    let column = before.get(start..).unwrap_or(&[]).iter().filter(|&&b| b & 0xC0 != 0x80).count() as u32 + 1;
    (line, column)
}

/// The known key that differs least, if it differs little: another case, underscores, or two letters.
fn nearest(key: &str, known: &[&'static str]) -> Option<String> {
    let plain = |s: &str| -> Vec<u8> {
        s.bytes().filter(|b| *b != b'_' && *b != b'-').map(|b| b.to_ascii_lowercase()).collect()
    };
    if key.len() > 64 {
        return None;
    }
    let wanted = plain(key);
    let scored = known.iter().map(|k| (distance(&wanted, &plain(k)), *k));
    scored.filter(|(d, k)| *d <= 2 && *d * 3 <= k.len()).min().map(|(_, k)| k.to_owned())
}

/// Edits between two short strings.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(0);
            let cost = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            if let Some(cell) = row.get_mut(j) {
                *cell = left;
            }
            diagonal = above;
            left = cost;
        }
        if let Some(cell) = row.last_mut() {
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("kitten", "sitting", 3), ("", "ab", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
        assert_eq!(nearest("drop_patterns", &["dropPatterns"]).as_deref(), Some("dropPatterns"));
        assert_eq!(nearest("x", &["id"]), None);
    }

    #[test]
    fn places_count_characters() {
        assert_eq!(place("a\n\u{e9}b", 4), (2, 2));
        assert_eq!(place("", 9), (1, 1));
    }
}
