//! What seldom changes about candidates: names, ranks, abilities. Built once, shared by all requests until the
//! configuration changes.

use std::collections::HashMap;
use std::sync::Arc;

use super::request::Need;
use crate::model_facts::{Capability, ModelFact};
use crate::target::Target;

/// What an offer costs, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OfferTier {
    /// Nothing.
    Free,
    /// Up to one USD for a million tokens of input.
    Cheap,
    /// More.
    Premium,
}

/// What kind of account a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u8)]
pub enum AccountTier {
    /// A trial or a free plan.
    Free,
    /// The usual.
    #[default]
    Standard,
    /// A paid plan above it.
    Pro,
    /// The largest plan.
    Ultra,
}

/// How calls of a connection are paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u8)]
pub enum Billing {
    /// By the token.
    #[default]
    Metered,
    /// By the month; one more call costs nothing.
    Subscription,
    /// Not at all.
    Free,
}

/// One candidate as the configuration names it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Where it goes.
    pub target: Target,
    /// Its place in the operator's order, lowest first.
    pub rank: u32,
    /// Its step's share of the traffic, 0..100.
    pub weight: f32,
    /// Its step. Candidates of one step differ only in the connection.
    pub step: u32,
    /// Facts of the model.
    pub model: ModelFact,
    /// What the offer costs; none: told from the prices.
    pub tier: Option<OfferTier>,
    /// What kind of account it uses.
    pub account: AccountTier,
    /// How calls are paid.
    pub billing: Billing,
    /// Signed in as a person; sessions of others disturb.
    pub sign_in: bool,
    /// How good the model is at each class of task, 0..1, see [`crate::route::TaskClass`]; none: nobody knows.
    pub fitness: Option<[f32; 7]>,
    /// The fitness is a guess from the model's name.
    pub guessed: bool,
    /// Opens only when every step before it is out of quota.
    pub only_on_quota: bool,
    /// Switched off.
    pub disabled: bool,
    /// Left out by the operator.
    pub excluded: bool,
    /// It is known that there is no credential.
    pub no_credential: bool,
    /// What requests may ask for.
    pub tags: Vec<Arc<str>>,
}

impl Entry {
    /// A candidate with the defaults: rank and step 0, weight 1, nothing known.
    pub fn new(target: Target) -> Self {
        Entry {
            target,
            rank: 0,
            weight: 1.0,
            step: 0,
            model: ModelFact::default(),
            tier: None,
            account: AccountTier::Standard,
            billing: Billing::Metered,
            sign_in: false,
            fitness: None,
            guessed: false,
            only_on_quota: false,
            disabled: false,
            excluded: false,
            no_credential: false,
            tags: Vec::new(),
        }
    }
}

/// One step of a combo, for those who need more than its number.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Step {
    /// Name for people.
    pub label: Option<Arc<str>>,
    /// Extra system text; only chains use it.
    pub prompt: Option<Arc<str>>,
    /// Judges the answers of the others and gives none of its own; only panels use it.
    pub judge: bool,
}

impl Step {
    /// A step of a name, with or without a prompt.
    pub fn new(label: Option<Arc<str>>, prompt: Option<Arc<str>>) -> Self {
        Step { label, prompt, judge: false }
    }
}

/// All candidates of a route, in the order of their ranks.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    version: u64,
    entries: Vec<Entry>,
    keys: Vec<Arc<str>>,
    steps: Vec<Step>,
    window: Vec<u64>,
    can: Vec<u8>,
    cannot: Vec<u8>,
    provider: Vec<u32>,
    connection: Vec<u32>,
    offering: Vec<u32>,
    providers: Vec<Arc<str>>,
    connections: u32,
    offerings: Vec<u32>,
    offering_keys: Vec<Arc<str>>,
}

impl Pool {
    /// Takes candidates in any order. They are kept by rank; equal ranks keep the order given.
    pub fn new(version: u64, mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| entry.rank);
        let mut pool = Pool { version, ..Pool::default() };
        let mut providers: HashMap<Arc<str>, u32> = HashMap::new();
        let mut connections: HashMap<(u32, Arc<str>), u32> = HashMap::new();
        let mut offerings: HashMap<(u32, Arc<str>), u32> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let target = &entry.target;
            let name: Arc<str> = target.provider.as_str().into();
            let provider = *providers.entry(name.clone()).or_insert_with(|| {
                pool.providers.push(name);
                number(pool.providers.len() - 1)
            });
            let next = number(connections.len());
            let connection =
                *connections.entry((provider, target.connection.as_str().into())).or_insert(next);
            let offering = *offerings.entry((provider, target.model.as_str().into())).or_insert_with(|| {
                pool.offerings.push(number(index));
                pool.offering_keys.push(format!("{}/{}", target.provider, target.model).into());
                number(pool.offerings.len() - 1)
            });
            pool.provider.push(provider);
            pool.connection.push(connection);
            pool.offering.push(offering);
            pool.keys.push(target.to_string().into());
            pool.window.push(entry.model.context_window.unwrap_or(0));
            let (can, cannot) = abilities(&entry.model);
            pool.can.push(can);
            pool.cannot.push(cannot);
        }
        pool.connections = number(connections.len());
        pool.entries = entries;
        pool
    }

    /// The pool with names and prompts of its steps.
    #[must_use]
    pub fn with_steps(mut self, steps: Vec<Step>) -> Self {
        self.steps = steps;
        self
    }

    /// Changes when the candidates change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without candidates.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All candidates, by index.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The steps, by number; may be shorter than there are steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Stable text of a candidate: provider, connection and model.
    pub fn key(&self, index: usize) -> &Arc<str> {
        &self.keys[index]
    }

    /// Windows in tokens, 0 for unknown, by candidate.
    pub fn windows(&self) -> &[u64] {
        &self.window
    }

    /// Needs that a candidate surely meets, as bits, by candidate.
    pub fn can(&self) -> &[u8] {
        &self.can
    }

    /// Needs that a candidate surely does not meet, as bits, by candidate.
    pub fn cannot(&self) -> &[u8] {
        &self.cannot
    }

    /// Numbers of providers, by candidate.
    pub fn provider_of(&self) -> &[u32] {
        &self.provider
    }

    /// Numbers of connections, by candidate.
    pub fn connection_of(&self) -> &[u32] {
        &self.connection
    }

    /// Numbers of offerings (model at a provider, whatever the connection), by candidate.
    pub fn offering_of(&self) -> &[u32] {
        &self.offering
    }

    /// Names of providers, by number.
    pub fn providers(&self) -> &[Arc<str>] {
        &self.providers
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.connections as usize
    }

    /// The first candidate of each offering, by number.
    pub fn offerings(&self) -> &[u32] {
        &self.offerings
    }

    /// Stable text of an offering, by number: provider and model.
    pub fn offering_keys(&self) -> &[Arc<str>] {
        &self.offering_keys
    }

    /// Where a target is among the candidates.
    pub fn position(&self, target: &Target) -> Option<usize> {
        self.entries.iter().position(|entry| entry.target == *target)
    }
}

fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn abilities(model: &ModelFact) -> (u8, u8) {
    let capability = |need| match need {
        Need::Tools => Capability::Tools,
        Need::Vision => Capability::ImageInput,
        Need::AudioIn => Capability::AudioInput,
        Need::AudioOut => Capability::AudioOutput,
        Need::Video => Capability::VideoInput,
        Need::Document => Capability::PdfInput,
        Need::Structured => Capability::JsonSchema,
    };
    Need::ALL.iter().fold((0, 0), |(can, cannot), need| match model.capabilities.get(capability(*need)) {
        Some(true) => (can | need.bit(), cannot),
        Some(false) => (can, cannot | need.bit()),
        None => (can, cannot),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_kept_by_rank_and_numbered() {
        let entry = |provider: &str, connection: &str, model: &str, rank| {
            let mut entry = Entry::new(Target::new(provider, connection, model));
            entry.rank = rank;
            entry
        };
        let entries = vec![entry("b", "1", "m", 2), entry("a", "1", "m", 0), entry("a", "2", "m", 1)];
        let pool = Pool::new(1, entries);
        let keys: Vec<&str> = (0..3).map(|i| &**pool.key(i)).collect();
        assert_eq!(keys, ["a/1/m", "a/2/m", "b/1/m"]);
        assert_eq!(pool.provider_of(), [0, 0, 1]);
        assert_eq!(pool.connection_of(), [0, 1, 2]);
        assert_eq!(pool.offering_of(), [0, 0, 1]);
        assert_eq!(pool.offerings(), [0, 2]);
        assert_eq!(pool.position(&Target::new("b", "1", "m")), Some(2));
    }
}
