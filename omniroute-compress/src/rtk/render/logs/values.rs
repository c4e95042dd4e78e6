//! The values that the fields of folded warnings and errors had.

use std::collections::{HashMap, HashSet};

use super::mask::{Hash, Kind, Sink, walk};

/// Values of a field that are listed.
const LISTED: usize = 5;
/// Fields of a template that are told apart.
const MAX_FIELDS: usize = 8;
/// Different values that are counted over all templates.
const MAX_VALUES: usize = 200_000;
/// Bytes of a value that are shown.
const MAX_LEN: usize = 40;

/// What is known of one field.
#[derive(Debug, Clone, Default)]
pub(super) struct Field<'t> {
    /// The first different values.
    pub(super) listed: Vec<&'t [u8]>,
    /// How many different ones there are.
    pub(super) different: u32,
}

/// The values of the fields of many templates.
#[derive(Debug, Default)]
pub(super) struct Values<'t> {
    fields: HashMap<(u32, u8), Field<'t>>,
    seen: HashSet<u64>,
    /// More different values than are counted.
    pub(super) full: bool,
}

impl<'t> Values<'t> {
    /// Takes the fields of a record of `template` between `from` and `to`.
    pub(super) fn take(&mut self, template: u32, line: &'t [u8], from: usize, to: usize) {
        let mut collect = Collect { values: self, template, line, number: 0 };
        walk(line, from, to, &mut collect);
    }

    /// The field `number` of `template`.
    pub(super) fn field(&self, template: u32, number: usize) -> Option<&Field<'t>> {
        self.fields.get(&(template, u8::try_from(number).ok()?))
    }
}

struct Collect<'a, 't> {
    values: &'a mut Values<'t>,
    template: u32,
    line: &'t [u8],
    number: usize,
}

impl Sink for Collect<'_, '_> {
    fn literal(&mut self, _: &[u8]) {}

    fn field(&mut self, _: Kind, at: usize, text: &[u8]) {
        let number = self.number;
        self.number += 1;
        if number >= MAX_FIELDS {
            return;
        }
        let mut hash = Hash::new(u64::from(self.template) * MAX_FIELDS as u64 + number as u64);
        hash.add(text);
        if self.values.seen.len() >= MAX_VALUES {
            self.values.full |= !self.values.seen.contains(&hash.value());
            return;
        }
        if !self.values.seen.insert(hash.value()) {
            return;
        }
        let field = self.values.fields.entry((self.template, number as u8)).or_default();
        field.different += 1;
        if field.listed.len() < LISTED {
            let shown = self.line.get(at..at + text.len().min(MAX_LEN)).unwrap_or(&[]);
            field.listed.push(shown);
        }
    }
}
