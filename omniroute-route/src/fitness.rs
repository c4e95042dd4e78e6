//! How good a model is at a class of task before anybody has judged its answers: a dated table, then rough tiers, then
//! hints in the name. A prior, not a verdict.

use std::sync::OnceLock;

use omniroute_core::{Capability, ModelFact};
use serde::Deserialize;

const NEUTRAL: f32 = 0.5;
/// Window from which a model with tools counts as a standard one.
const STANDARD_WINDOW: u64 = 128_000;

/// The built-in table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitness {
    as_of: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test compares it"))]
    classes: Vec<String>,
    tiers: Tiers,
    models: Vec<Row>,
    hints: Vec<Hint>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tiers {
    premium: [f32; 7],
    standard: [f32; 7],
    fast: [f32; 7],
    budget: [f32; 7],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    fit: [Option<f32>; 7],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hint {
    name: String,
    add: [f32; 7],
}

impl Fitness {
    /// The table that is built in; read at first use.
    pub fn built_in() -> &'static Fitness {
        static TABLE: OnceLock<Fitness> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut table: Fitness = serde_json::from_str(include_str!("../data/fitness.json"))
                .expect("a test reads the file that is built in");
            table.models.sort_by_key(|row| std::cmp::Reverse(row.name.len()));
            table
        })
    }

    /// The day of the table.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// How good a model is at each class, in the order of [`omniroute_core::route::TaskClass::ALL`]; none: nobody knows.
    /// The longest name in the table that the model's name contains is used, class by class; what it does not say is told
    /// by the model's abilities, or by hints in its name.
    pub fn of(&self, model: &str, facts: Option<&ModelFact>) -> Option<[f32; 7]> {
        self.rated(model, facts).or_else(|| self.guessed(model))
    }

    /// The same, without guesses from the name.
    pub fn rated(&self, model: &str, facts: Option<&ModelFact>) -> Option<[f32; 7]> {
        let name = model.to_ascii_lowercase();
        let rows: Vec<&Row> = self.models.iter().filter(|row| contains(&name, &row.name)).collect();
        let tier = facts.and_then(|facts| self.tier(facts));
        if rows.is_empty() && tier.is_none() {
            return None;
        }
        let mut fit = [NEUTRAL; 7];
        for (class, value) in fit.iter_mut().enumerate() {
            let listed = rows.iter().find_map(|row| row.fit[class]);
            *value = listed.or_else(|| tier.map(|tier| tier[class])).unwrap_or(NEUTRAL);
        }
        Some(fit)
    }

    fn tier(&self, facts: &ModelFact) -> Option<&[f32; 7]> {
        let tools = facts.capabilities.get(Capability::Tools);
        match (facts.capabilities.get(Capability::Reasoning), tools, facts.context_window) {
            (Some(true), ..) => Some(&self.tiers.premium),
            (_, Some(true), Some(window)) if window >= STANDARD_WINDOW => Some(&self.tiers.standard),
            (_, Some(true), _) => Some(&self.tiers.fast),
            (_, Some(false), _) => Some(&self.tiers.budget),
            _ => None,
        }
    }

    /// What the name of a model lets one guess.
    pub fn guessed(&self, model: &str) -> Option<[f32; 7]> {
        let name = model.to_ascii_lowercase();
        let mut fit = [NEUTRAL; 7];
        let mut some = false;
        for hint in self.hints.iter().filter(|hint| name.contains(&hint.name)) {
            some = true;
            fit.iter_mut().zip(hint.add).for_each(|(fit, add)| *fit = fit.max(NEUTRAL + add));
        }
        some.then_some(fit)
    }
}

/// Whether a name contains another; short ones only between borders, or `foo1` would be an `o1`.
fn contains(name: &str, part: &str) -> bool {
    let border = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'/' | b'-' | b'.'));
    let bytes = name.as_bytes();
    name.match_indices(part).any(|(at, _)| {
        part.len() > 3
            || (border(at.checked_sub(1).and_then(|before| bytes.get(before)))
                && border(bytes.get(at + part.len())))
    })
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::TaskClass;

    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_classes() {
        let names: Vec<&str> = TaskClass::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(Fitness::built_in().classes, names);
        assert_eq!(Fitness::built_in().as_of().len(), 10);
    }

    #[test]
    fn the_longest_name_wins_class_by_class() {
        let of = |model| Fitness::built_in().of(model, None).unwrap();
        assert_eq!(of("gpt-4o-mini-2024")[0], 0.80);
        assert_eq!(
            of("gpt-4o-mini-2024")[2],
            0.88,
            "what the longer name does not say, the shorter one does"
        );
        assert_eq!(of("Claude-Opus-4-5")[1], 0.95);
        assert_eq!(of("o1-preview")[0], 0.93);
        assert_eq!(of("openai/o1")[0], 0.93);
        assert_eq!(Fitness::built_in().of("foo1", None), None);
    }

    #[test]
    fn abilities_and_hints_fill_the_gaps() {
        let table = Fitness::built_in();
        let mut facts = ModelFact::default();
        assert_eq!(table.of("unheard-of", Some(&facts)), None);
        facts.capabilities.set(Capability::Tools, Some(true));
        assert_eq!(table.of("unheard-of", Some(&facts)).unwrap()[0], 0.78);
        facts.context_window = Some(128_000);
        assert_eq!(table.of("unheard-of", Some(&facts)).unwrap()[0], 0.85);
        facts.capabilities.set(Capability::Reasoning, Some(true));
        assert_eq!(table.of("unheard-of", Some(&facts)).unwrap()[3], 0.95);
        assert_eq!(table.of("claude-haiku-4-5", Some(&facts)).unwrap()[..3], [0.78, 0.70, 0.94]);
        assert_eq!(table.of("my-coder", None).unwrap()[0], 0.65);
        assert_eq!(table.of("slow-thinking", None).unwrap()[3], 0.60);
    }
}
