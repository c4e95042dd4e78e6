//! From a route to candidates: references, wildcards and accounts, each a line of the pool.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use omniroute_core::route::{Billing, Entry, OfferTier, Pool, Step};
use omniroute_core::{Capability, Target};

use crate::auto_name::{AutoName, Filter, Price};
use crate::combo::{Combo, Combos, StepConfig, split};
use crate::directory::{Connection, Directory};
use crate::fitness::Fitness;
use crate::last_good::LastGood;
use crate::nested::Child;

/// The candidates of a combo, in the order of its steps.
pub fn combo_pool(version: u64, combo: &Combo, combos: &Combos, directory: &dyn Directory) -> Pool {
    combo_levels(version, combo, combos, directory).0
}

/// The candidates of a combo, and the combos inside it that decide for themselves.
pub(crate) fn combo_levels(
    version: u64,
    combo: &Combo,
    combos: &Combos,
    directory: &dyn Directory,
) -> (Pool, Vec<Child>) {
    let mut lines = Lines { directory, entries: Vec::new(), steps: Vec::new() };
    let mut inside: Vec<(Range<u32>, &Combo)> = Vec::new();
    if combo.executes {
        for step in &combo.steps {
            let weight = step.weight.unwrap_or(1.0);
            let Some(child) = step.combo.as_deref().and_then(|name| combos.get(name)) else {
                lines.step(step, weight);
                continue;
            };
            let start = lines.next_rank();
            for (leaf, _) in shares(child, combos) {
                // Inside it its own weights count, and only the combo around it has prompts.
                let prompt = step.prompt.clone();
                let tags = leaf.tags.iter().chain(&step.tags).cloned().collect();
                let quota = leaf.only_on_quota_exhaustion || step.only_on_quota_exhaustion;
                let only_on_quota_exhaustion = quota;
                lines.step(&StepConfig { prompt, tags, only_on_quota_exhaustion, ..leaf.clone() }, weight);
            }
            inside.push((start..lines.next_rank(), child));
        }
    } else {
        for (step, share) in shares(combo, combos) {
            lines.step(step, share);
        }
    }
    if let Some(judge) = combo.judge.as_deref() {
        let first = lines.steps.len();
        lines.step(&StepConfig::model(judge), 0.0);
        lines.steps.iter_mut().skip(first).for_each(|step| step.judge = true);
    }
    let pool = Pool::new(version, lines.entries).with_steps(lines.steps);
    let children = inside.into_iter().map(|(range, child)| {
        let (own, mut children) = combo_levels(version, child, combos, directory);
        children.iter_mut().for_each(|child| moved(child, version, &pool, range.start));
        Child {
            pool: repooled(version, &pool, range.start, &own),
            range,
            strategy: child.strategy.clone(),
            accounts: child.accounts.clone(),
            tickets: Mutex::default(),
            last_good: LastGood::default(),
            children,
        }
    });
    let children = children.collect();
    (pool, children)
}

/// A combo inside a combo that is itself inside another one now, from this candidate on.
fn moved(child: &mut Child, version: u64, pool: &Pool, start: u32) {
    child.pool = repooled(version, pool, start, &child.pool);
    child.range = child.range.start + start..child.range.end + start;
    child.children.iter_mut().for_each(|child| moved(child, version, pool, start));
}

/// A pool with the weights of another one, whose candidates are a part of it.
fn repooled(version: u64, pool: &Pool, start: u32, own: &Pool) -> Pool {
    let mut entries = pool.entries().to_vec();
    for (entry, own) in entries.iter_mut().skip(start as usize).zip(own.entries()) {
        entry.weight = own.weight;
    }
    Pool::new(version, entries).with_steps(pool.steps().to_vec())
}

/// The candidates of an `auto` name: all models of all connections that may take part. The second number says how many
/// its filter left out.
pub fn auto_pool(version: u64, name: &AutoName, directory: &dyn Directory) -> (Pool, usize) {
    let mut lines = Lines { directory, entries: Vec::new(), steps: Vec::new() };
    let mut left_out = 0;
    for provider in directory.providers() {
        let connections =
            |connection: &&Connection| connection.provider == provider && !connection.only_named;
        let connections: Vec<&Connection> = directory.connections().iter().filter(connections).collect();
        if connections.is_empty() {
            continue;
        }
        for model in directory.models(&provider) {
            let step = lines.next_step(Step::default());
            let entries =
                connections.iter().map(|connection| lines.entry(connection, &model, step, 1.0, &[]));
            let (kept, out): (Vec<Entry>, Vec<Entry>) = entries.partition(|entry| takes_part(entry, name));
            left_out += out.len();
            kept.into_iter().for_each(|entry| lines.push(entry));
        }
    }
    (Pool::new(version, lines.entries).with_steps(lines.steps), left_out)
}

/// The candidates of one model at one provider.
pub fn model_pool(version: u64, provider: &str, model: &str, directory: &dyn Directory) -> Pool {
    let mut lines = Lines { directory, entries: Vec::new(), steps: Vec::new() };
    lines.model(provider, model, 1.0, &StepConfig::default());
    Pool::new(version, lines.entries).with_steps(lines.steps)
}

/// A combo's steps, references replaced by the steps they lead to; with each its weight.
fn shares<'a>(combo: &'a Combo, combos: &'a Combos) -> Vec<(&'a StepConfig, f64)> {
    let mut found = Vec::new();
    for step in &combo.steps {
        let weight = step.weight.unwrap_or(1.0);
        match step.combo.as_deref().and_then(|name| combos.get(name)) {
            None => found.push((step, weight)),
            Some(child) => {
                let inner = shares(child, combos);
                let sum: f64 = inner.iter().map(|(_, weight)| weight).sum();
                let scale = if sum > 0.0 { weight / sum } else { 0.0 };
                found.extend(inner.into_iter().map(|(step, inner)| (step, inner * scale)));
            }
        }
    }
    found
}

fn takes_part(entry: &Entry, name: &AutoName) -> bool {
    let can = |capability| entry.model.capabilities.get(capability) == Some(true);
    let model = entry.target.model.as_str().to_ascii_lowercase();
    let by_filter = match name.filter {
        Filter::All => true,
        Filter::Vision => can(Capability::ImageInput),
        Filter::Reasoning => can(Capability::Reasoning),
        Filter::Family(family) => model.contains(family),
        Filter::Provider(provider) => entry.target.provider.as_str() == provider,
    };
    let by_price = match name.price {
        Price::Any => true,
        Price::Free => entry.tier == Some(OfferTier::Free),
        Price::Premium => entry.tier == Some(OfferTier::Premium),
    };
    by_filter && by_price
}

struct Lines<'a> {
    directory: &'a dyn Directory,
    entries: Vec<Entry>,
    steps: Vec<Step>,
}

impl Lines<'_> {
    fn step(&mut self, step: &StepConfig, weight: f64) {
        // A step that leads nowhere is skipped; the others still serve.
        let Some(text) = step.model.as_deref() else { return };
        let Ok((provider, model)) = split(text, self.directory) else { return };
        if &*model == "*" {
            let models = self.directory.models(&provider);
            #[expect(clippy::cast_precision_loss, reason = "numbers of models are small")]
            let each = weight / models.len().max(1) as f64;
            models.iter().for_each(|model| self.model(&provider, model, each, step));
        } else {
            self.model(&provider, &model, weight, step);
        }
    }

    fn model(&mut self, provider: &str, model: &str, weight: f64, config: &StepConfig) {
        let text = |text: &Option<String>| text.as_deref().map(Arc::<str>::from);
        let step = self.next_step(Step::new(text(&config.label), text(&config.prompt)));
        let tags: Vec<Arc<str>> = config.tags.iter().map(|tag| tag.as_str().into()).collect();
        let allowed = |connection: &&Connection| {
            *connection.provider == *provider
                && config
                    .accounts
                    .as_ref()
                    .is_none_or(|accounts| accounts.iter().any(|id| **id == *connection.id))
        };
        let connections: Vec<Connection> =
            self.directory.connections().iter().filter(allowed).cloned().collect();
        for connection in &connections {
            let mut entry = self.entry(connection, model, step, weight, &tags);
            entry.only_on_quota = config.only_on_quota_exhaustion;
            self.push(entry);
        }
    }

    fn next_rank(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    fn next_step(&mut self, step: Step) -> u32 {
        self.steps.push(step);
        u32::try_from(self.steps.len() - 1).unwrap_or(u32::MAX)
    }

    fn push(&mut self, mut entry: Entry) {
        entry.rank = self.next_rank();
        self.entries.push(entry);
    }

    fn entry(
        &self,
        connection: &Connection,
        model: &str,
        step: u32,
        weight: f64,
        tags: &[Arc<str>],
    ) -> Entry {
        let provider = &*connection.provider;
        let facts = self.directory.facts(provider, model);
        let mut entry = Entry::new(Target::new(provider, &*connection.id, model));
        entry.step = step;
        #[expect(clippy::cast_possible_truncation, reason = "a weight")]
        let weight = weight as f32;
        entry.weight = weight;
        entry.account = connection.account;
        entry.billing = connection.billing;
        entry.sign_in = connection.sign_in;
        entry.disabled = connection.disabled;
        entry.no_credential = connection.no_credential;
        entry.tags = tags.to_vec();
        entry.tier = self.directory.tier(provider, model).or_else(|| facts.as_ref().and_then(tier));
        let table = Fitness::built_in();
        entry.fitness =
            self.directory.fitness(provider, model).or_else(|| table.rated(model, facts.as_ref()));
        if entry.fitness.is_none() {
            entry.fitness = table.guessed(model);
            entry.guessed = true;
        }
        if facts.as_ref().is_some_and(|facts| facts.free) && entry.billing == Billing::Metered {
            entry.billing = Billing::Free;
        }
        entry.model = facts.unwrap_or_default();
        entry
    }
}

/// What an offer costs, by the catalogue's prices.
fn tier(facts: &omniroute_core::ModelFact) -> Option<OfferTier> {
    const ONE_USD_A_MILLION: u64 = 1_000_000;
    if facts.free {
        return Some(OfferTier::Free);
    }
    Some(match facts.input_price? {
        0 => OfferTier::Free,
        price if price <= ONE_USD_A_MILLION => OfferTier::Cheap,
        _ => OfferTier::Premium,
    })
}
