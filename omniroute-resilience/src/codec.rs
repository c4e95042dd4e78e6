//! How records become bytes: a format byte, then fields as variable-length integers. What a newer version
//! appended is kept.

/// First byte of every record. A record with another one counts as absent.
pub(crate) const FORMAT: u8 = 1;

#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Writer {
        let mut out = Vec::with_capacity(48);
        out.push(FORMAT);
        Writer(out)
    }

    pub(crate) fn u(&mut self, mut value: u64) -> &mut Writer {
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap_or(0));
        self
    }

    /// Dates and other signed numbers.
    pub(crate) fn i(&mut self, value: i64) -> &mut Writer {
        self.u(((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Writer {
        self.u(u64::from(value))
    }

    /// An optional date.
    pub(crate) fn opt(&mut self, value: Option<i64>) -> &mut Writer {
        match value {
            None => self.u(0),
            Some(value) => self.u(1).i(value),
        }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Writer {
        self.u(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Writer {
        self.bytes(value.as_bytes())
    }

    pub(crate) fn finish(mut self, tail: &[u8]) -> Vec<u8> {
        self.0.extend_from_slice(tail);
        self.0
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// None if the format is not ours.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Reader<'a>> {
        match bytes.split_first() {
            Some((&FORMAT, rest)) => Some(Reader(rest)),
            _ => None,
        }
    }

    pub(crate) fn u(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn i(&mut self) -> Option<i64> {
        let raw = self.u()?;
        Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        self.u()?.try_into().ok()
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        Some(self.u()? != 0)
    }

    pub(crate) fn opt(&mut self) -> Option<Option<i64>> {
        Some(if self.u()? == 0 { None } else { Some(self.i()?) })
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.u()?).ok()?;
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A count of things that take at least one byte each, so that a wrong count cannot ask for memory.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.u()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    /// What a newer version appended.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Something that is stored as one record.
pub(crate) trait Value: Sized + Clone + PartialEq {
    /// Bytes, format byte first.
    fn encode(&self, tail: &[u8]) -> Vec<u8>;

    /// The value and what a newer version appended; none if it cannot be read.
    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn numbers_come_back_and_the_tail_is_kept(a in any::<u64>(), b in any::<i64>(), c in any::<Option<i64>>(), t in ".{0,9}", tail in any::<Vec<u8>>()) {
            let mut out = Writer::new();
            out.u(a).i(b).opt(c).text(&t).bool(true);
            let bytes = out.finish(&tail);
            let mut input = Reader::new(&bytes).unwrap();
            prop_assert_eq!((input.u(), input.i(), input.opt()), (Some(a), Some(b), Some(c)));
            prop_assert_eq!((input.text(), input.bool()), (Some(t.as_str()), Some(true)));
            prop_assert_eq!(input.rest(), tail.as_slice());
        }

        #[test]
        fn noise_never_panics(bytes in any::<Vec<u8>>()) {
            if let Some(mut input) = Reader::new(&bytes) {
                let _ = (input.u(), input.bytes(), input.opt(), input.count(), input.text());
            }
        }
    }
}
