//! The packed catalogue: sorted tables of records that are decoded one at a time, when somebody asks.
//!
//! Opening it reads five numbers. Finding a row is a binary search over bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::codec::{Codec, Reader, Writer};
use super::file::Aliases;
use super::model::ModelRow;
use super::provider::ProviderRow;
use super::table::{Table, TableWriter};

/// Packs rows. Of rows with the same key the last one counts; models and aliases without a target are left out.
///
/// Returns the bytes and what was left out.
pub(crate) fn pack(
    providers: Vec<ProviderRow<'_>>,
    models: Vec<ModelRow<'_>>,
    aliases: &Aliases,
    as_of: &str,
) -> (Vec<u8>, Vec<String>) {
    let mut left_out = Vec::new();
    let providers: BTreeMap<String, ProviderRow<'_>> =
        providers.into_iter().map(|row| (row.id.to_string(), row)).collect();
    let numbers: BTreeMap<&str, u64> = providers.keys().map(String::as_str).zip(0..).collect();
    let mut sorted: BTreeMap<(u64, String), ModelRow<'_>> = BTreeMap::new();
    for row in models {
        match numbers.get(row.provider.as_ref()) {
            Some(number) => {
                sorted.insert((*number, row.id.to_string()), row);
            }
            None => left_out.push(format!("{}: no provider {}", row.full_name(), row.provider)),
        }
    }
    let places: BTreeMap<String, u64> = sorted.values().map(ModelRow::full_name).zip(0..).collect();

    let mut ids = BTreeMap::new();
    for (row, number) in providers.values().zip(0..) {
        for alias in &row.aliases {
            ids.entry(alias.to_string()).or_insert(number);
        }
    }
    let mut names = Vec::new();
    for (row, number) in sorted.values().zip(0..) {
        names.extend([&row.id].into_iter().chain(&row.aliases).map(|name| (name.to_string(), number)));
    }
    names.sort();
    let mut goals = BTreeMap::new();
    for (alias, goal) in aliases {
        match places.get(goal) {
            Some(number) => {
                goals.insert(alias.clone(), *number);
            }
            None => left_out.push(format!("alias {alias}: no row {goal}")),
        }
    }

    let mut body = Vec::new();
    records(&mut body, providers.clone().into_values(), |row, writer| row.fields(writer));
    records(&mut body, ids, pair);
    records(&mut body, sorted, |((provider, _), row), writer| {
        writer.number(provider);
        row.fields(writer);
    });
    records(&mut body, names, pair);
    records(&mut body, goals, pair);

    let mut head = Writer::default();
    let version = format!("{as_of}-{:016x}", fnv(&body));
    head.text(&mut Cow::Borrowed(as_of));
    head.text(&mut Cow::Owned(version));
    let mut out = Vec::with_capacity(body.len() + head.bytes.len() + 4);
    out.extend_from_slice(&(head.bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&head.bytes);
    out.extend_from_slice(&body);
    (out, left_out)
}

/// Where everything lies in packed bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packed {
    head: usize,
    providers: Table,
    ids: Table,
    models: Table,
    names: Table,
    aliases: Table,
}

impl Packed {
    /// Opens bytes made by [`pack`].
    pub(crate) fn open(bytes: &[u8]) -> Self {
        let head =
            bytes.get(..4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes) as usize;
        let (providers, at) = Table::at(bytes, 4 + head);
        let (ids, at) = Table::at(bytes, at);
        let (models, at) = Table::at(bytes, at);
        let (names, at) = Table::at(bytes, at);
        let (aliases, _) = Table::at(bytes, at);
        Packed { head: 4, providers, ids, models, names, aliases }
    }

    /// Day of the facts, and version.
    pub(crate) fn dates(self, bytes: &[u8]) -> (&str, &str) {
        let mut reader = Reader::new(bytes.get(self.head..).unwrap_or_default());
        (reader.take_text(), reader.take_text())
    }

    /// Number of providers.
    pub(crate) fn provider_count(self) -> usize {
        self.providers.len()
    }

    /// Number of models.
    pub(crate) fn model_count(self) -> usize {
        self.models.len()
    }

    /// Provider number `index`.
    pub(crate) fn provider(self, bytes: &[u8], index: usize) -> ProviderRow<'_> {
        let mut row = ProviderRow::default();
        row.fields(&mut Reader::new(self.providers.get(bytes, index)));
        row
    }

    /// Number of the provider with this id or alias.
    pub(crate) fn find_provider(self, bytes: &[u8], name: &str) -> Option<usize> {
        let own = self.providers.equal(bytes, |record| Reader::new(record).take_text().cmp(name));
        let alias = || {
            let found = self.ids.equal(bytes, |record| Reader::new(record).take_text().cmp(name));
            found.map(|at| self.goal(bytes, self.ids, at)).next()
        };
        own.into_iter().next().or_else(alias)
    }

    /// Model number `index`.
    pub(crate) fn model(self, bytes: &[u8], index: usize) -> ModelRow<'_> {
        let mut reader = Reader::new(self.models.get(bytes, index));
        let provider = usize::try_from(reader.take_number()).unwrap_or(usize::MAX);
        let id = Reader::new(self.providers.get(bytes, provider)).take_text();
        let mut row = ModelRow { provider: Cow::Borrowed(id), ..ModelRow::default() };
        row.fields(&mut reader);
        row
    }

    /// The models of provider number `provider`.
    pub(crate) fn models_of(self, bytes: &[u8], provider: usize) -> Range<usize> {
        self.models.equal(bytes, |record| Reader::new(record).take_number().cmp(&(provider as u64)))
    }

    /// The model of provider number `provider` with exactly this id.
    pub(crate) fn find_model(self, bytes: &[u8], provider: usize, id: &str) -> Option<usize> {
        let found = self.models.equal(bytes, |record| {
            let mut reader = Reader::new(record);
            reader.take_number().cmp(&(provider as u64)).then_with(|| reader.take_text().cmp(id))
        });
        found.into_iter().next()
    }

    /// All models with this id or row alias, by provider.
    pub(crate) fn named(self, bytes: &[u8], name: &str) -> impl Iterator<Item = usize> {
        let found = self.names.equal(bytes, |record| Reader::new(record).take_text().cmp(name));
        found.map(move |at| self.goal(bytes, self.names, at))
    }

    /// The model that this alias of the whole catalogue stands for.
    pub(crate) fn alias(self, bytes: &[u8], name: &str) -> Option<usize> {
        let found = self.aliases.equal(bytes, |record| Reader::new(record).take_text().cmp(name));
        found.map(|at| self.goal(bytes, self.aliases, at)).next()
    }

    /// All aliases of the whole catalogue with the models they stand for.
    pub(crate) fn aliases(self, bytes: &[u8]) -> impl Iterator<Item = (&str, usize)> {
        (0..self.aliases.len()).map(move |at| {
            let name = Reader::new(self.aliases.get(bytes, at)).take_text();
            (name, self.goal(bytes, self.aliases, at))
        })
    }

    fn goal(self, bytes: &[u8], table: Table, index: usize) -> usize {
        let mut reader = Reader::new(table.get(bytes, index));
        reader.take_text();
        usize::try_from(reader.take_number()).unwrap_or(usize::MAX)
    }
}

fn records<T>(out: &mut Vec<u8>, rows: impl IntoIterator<Item = T>, write: impl Fn(&mut T, &mut Writer)) {
    let mut table = TableWriter::default();
    for mut row in rows {
        let mut writer = Writer::default();
        write(&mut row, &mut writer);
        table.push(&writer.bytes);
    }
    table.finish(out);
}

fn pair((name, number): &mut (String, u64), writer: &mut Writer) {
    writer.text(&mut Cow::Borrowed(name));
    writer.number(number);
}

/// FNV-1a: tells versions apart, guards nothing.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
