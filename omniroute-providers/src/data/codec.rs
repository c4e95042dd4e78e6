//! One description of a row's fields serves writing and reading, so the two cannot drift apart.

use std::borrow::Cow;

use super::words::Word;

/// Visits the fields of a row in order. The writer reads the values, the reader sets them.
pub(crate) trait Codec<'a> {
    /// A number, short if small.
    fn number(&mut self, value: &mut u64);
    /// A text.
    fn text(&mut self, value: &mut Cow<'a, str>);
    /// One byte.
    fn byte(&mut self, value: &mut u8);

    /// True or false.
    fn flag(&mut self, value: &mut bool) {
        let mut byte = u8::from(*value);
        self.byte(&mut byte);
        *value = byte == 1;
    }

    /// True, false or unknown.
    fn maybe_flag(&mut self, value: &mut Option<bool>) {
        let mut byte = value.map_or(0, |v| 1 + u8::from(v));
        self.byte(&mut byte);
        *value = if byte == 0 { None } else { Some(byte == 2) };
    }

    /// A value of a closed set.
    fn word<W: Word>(&mut self, value: &mut W) {
        let mut byte = value.code();
        self.byte(&mut byte);
        if let Some(found) = W::WORDS.get(usize::from(byte)) {
            *value = *found;
        }
    }

    /// A value of a closed set or nothing.
    fn maybe_word<W: Word>(&mut self, value: &mut Option<W>) {
        let mut byte = value.map_or(0, |v| v.code() + 1);
        self.byte(&mut byte);
        *value = usize::from(byte).checked_sub(1).and_then(|at| W::WORDS.get(at)).copied();
    }

    /// A list; `each` handles one element.
    fn list<T: Default>(&mut self, value: &mut Vec<T>, each: impl Fn(&mut Self, &mut T))
    where
        Self: Sized,
    {
        let mut len = value.len() as u64;
        self.number(&mut len);
        for at in 0..usize::try_from(len).unwrap_or(0) {
            if at == value.len() {
                value.push(T::default());
            }
            each(self, &mut value[at]);
        }
    }

    /// Something or nothing; `each` handles it.
    fn maybe<T: Default>(&mut self, value: &mut Option<T>, each: impl Fn(&mut Self, &mut T))
    where
        Self: Sized,
    {
        let mut there = value.is_some();
        self.flag(&mut there);
        if there {
            each(self, value.get_or_insert_default());
        }
    }

    /// A list of texts.
    fn texts(&mut self, value: &mut Vec<Cow<'a, str>>)
    where
        Self: Sized,
    {
        self.list(value, |codec, text| codec.text(text));
    }

    /// A text or nothing.
    fn maybe_text(&mut self, value: &mut Option<Cow<'a, str>>)
    where
        Self: Sized,
    {
        self.maybe(value, |codec, text| codec.text(text));
    }

    /// A number or nothing.
    fn maybe_number(&mut self, value: &mut Option<u64>)
    where
        Self: Sized,
    {
        self.maybe(value, |codec, number| codec.number(number));
    }
}

/// Appends fields to bytes.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// What was written.
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Codec<'a> for Writer {
    fn number(&mut self, value: &mut u64) {
        let mut rest = *value;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    fn text(&mut self, value: &mut Cow<'a, str>) {
        self.number(&mut (value.len() as u64));
        self.bytes.extend_from_slice(value.as_bytes());
    }

    fn byte(&mut self, value: &mut u8) {
        self.bytes.push(*value);
    }
}

/// Takes fields from bytes. Bytes that end too early read as zero and empty.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next field as text.
    pub(crate) fn take_text(&mut self) -> &'a str {
        let len = usize::try_from(self.take_number()).unwrap_or(usize::MAX);
        let (text, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, &[]));
        self.rest = rest;
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The next field as number.
    pub(crate) fn take_number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = self.rest.split_first() else { break };
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
}

impl<'a> Codec<'a> for Reader<'a> {
    fn number(&mut self, value: &mut u64) {
        *value = self.take_number();
    }

    fn text(&mut self, value: &mut Cow<'a, str>) {
        *value = Cow::Borrowed(self.take_text());
    }

    fn byte(&mut self, value: &mut u8) {
        let (byte, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        *value = *byte;
        self.rest = rest;
    }
}
