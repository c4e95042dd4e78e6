//! How much each factor counts: named sets, and sets of the operator's own.

use omniroute_core::route::Mode;

use super::factors::FACTORS;
use crate::options::{OptionMap, OptionReader, OptionValue};

/// Number of factors.
pub(crate) const COUNT: usize = FACTORS.len();

/// A weight for every factor, in the order of [`FACTORS`]. They sum to one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights([f32; 15]);

const DEFAULT: [f32; COUNT] = [
    0.1429, 0.1605, 0.1429, 0.1143, 0.0762, 0.0476, 0.0476, 0.0476, 0.0476, 0.0476, 0.0476, 0.0476, 0.0, 0.0,
    0.03,
];

// Without a weight for the tracked quality: it gets its usual one when the set is made.
const SHIP_FAST: [f32; COUNT] =
    [0.1333, 0.2667, 0.0476, 0.3048, 0.0952, 0.0, 0.0476, 0.0, 0.0, 0.0095, 0.0476, 0.0476, 0.0, 0.0, 0.0];
const COST_SAVER: [f32; COUNT] =
    [0.1333, 0.1810, 0.3524, 0.0476, 0.0952, 0.0476, 0.0476, 0.0, 0.0, 0.0, 0.0476, 0.0476, 0.0, 0.0, 0.0];
const QUALITY_FIRST: [f32; COUNT] =
    [0.0952, 0.1714, 0.0476, 0.0476, 0.3524, 0.1429, 0.0476, 0.0, 0.0, 0.0, 0.0476, 0.0476, 0.0, 0.0, 0.0];
const OFFLINE_FRIENDLY: [f32; COUNT] =
    [0.3524, 0.2667, 0.0952, 0.0476, 0.0, 0.0952, 0.0476, 0.0, 0.0, 0.0, 0.0476, 0.0476, 0.0, 0.0, 0.0];
const RELIABILITY_FIRST: [f32; COUNT] =
    [0.1333, 0.3524, 0.0381, 0.0476, 0.0952, 0.1905, 0.0476, 0.0, 0.0, 0.0, 0.0476, 0.0476, 0.0, 0.0, 0.0];

/// The named sets: name, mode, weights as published.
const PACKS: [(&str, Mode, &[f32; COUNT]); 6] = [
    ("default", Mode::Default, &DEFAULT),
    ("ship-fast", Mode::ShipFast, &SHIP_FAST),
    ("cost-saver", Mode::CostSaver, &COST_SAVER),
    ("quality-first", Mode::QualityFirst, &QUALITY_FIRST),
    ("offline-friendly", Mode::OfflineFriendly, &OFFLINE_FRIENDLY),
    ("reliability-first", Mode::ReliabilityFirst, &RELIABILITY_FIRST),
];

/// The tracked quality's weight where a set has none of its own; the others make room for it.
const QUALITY: f32 = 0.03;

impl Weights {
    /// The set of a mode.
    pub fn of(mode: Mode) -> Weights {
        let (_, _, pack) = PACKS.iter().find(|pack| pack.1 == mode).unwrap_or(&PACKS[0]);
        let mut weights = **pack;
        if mode != Mode::Default {
            weights.iter_mut().for_each(|weight| *weight *= 1.0 - QUALITY);
            weights[COUNT - 1] = QUALITY;
        }
        Weights(normal(weights))
    }

    /// The weights, in the order of [`FACTORS`].
    pub fn values(&self) -> &[f32; 15] {
        &self.0
    }

    /// Weights of the operator's own over the default ones: what is left out keeps its default, then all are made to sum
    /// to one. `None`: something was wrong and is noted.
    pub(crate) fn read(reader: &mut OptionReader<'_>, map: &OptionMap, base: Weights) -> Option<Weights> {
        let mut weights = base.0;
        let mut fine = true;
        let mut wrong = |reader: &mut OptionReader<'_>, key: &str, message: String| {
            reader.wrong(&format!("weights.{key}"), message);
            fine = false;
        };
        for (key, value) in map {
            let Some(at) = FACTORS.iter().position(|factor| factor.name == key) else {
                let near = crate::names::nearest(key, FACTORS.iter().map(|factor| factor.name), 1);
                let hint = near.first().map_or_else(String::new, |name| format!("; did you mean {name:?}"));
                wrong(reader, key, format!("is no known factor{hint}"));
                continue;
            };
            match value {
                OptionValue::Number(number) if number.is_finite() && (0.0..=1_000.0).contains(number) => {
                    #[expect(clippy::cast_possible_truncation, reason = "a weight")]
                    let weight = *number as f32;
                    weights[at] = weight;
                }
                OptionValue::Number(number) => {
                    wrong(reader, key, format!("is {number}, allowed is 0 to 1000"));
                }
                _ => wrong(reader, key, "has to be a number from 0 to 1000".to_owned()),
            }
        }
        if fine && weights.iter().sum::<f32>() <= 0.0 {
            reader.wrong("weights", "are all 0, one has to be more");
            fine = false;
        }
        fine.then(|| Weights(normal(weights)))
    }
}

/// Names of the sets.
pub(crate) fn packs() -> [&'static str; 6] {
    PACKS.map(|(name, ..)| name)
}

/// The mode of a name: a set, or a word that is used for it. Case does not count.
pub fn mode(name: &str) -> Option<Mode> {
    let name = name.trim().to_ascii_lowercase();
    let pack = match name.as_str() {
        "fast" | "fastest" | "speed" => "ship-fast",
        "quality" | "best" => "quality-first",
        "cheap" | "cost" | "saver" => "cost-saver",
        "reliable" => "reliability-first",
        "offline" => "offline-friendly",
        "balanced" => "default",
        other => other,
    };
    PACKS.iter().find(|(known, ..)| *known == pack).map(|(_, mode, _)| *mode)
}

fn normal(mut weights: [f32; COUNT]) -> [f32; COUNT] {
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

#[cfg(test)]
pub(crate) const AS_PUBLISHED: [(&[f32; COUNT], &str); 2] =
    [(&DEFAULT, "default"), (&SHIP_FAST, "ship-fast")];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, f64)]) -> Result<Weights, Vec<String>> {
        let map: OptionMap =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), OptionValue::Number(*value))).collect();
        let empty = OptionMap::new();
        let mut reader = OptionReader::new("auto", &empty);
        let weights = Weights::read(&mut reader, &map, Weights::of(Mode::Default));
        match reader.finish() {
            Ok(()) => Ok(weights.unwrap()),
            Err(errors) => {
                assert!(weights.is_none());
                Err(errors.iter().map(ToString::to_string).collect())
            }
        }
    }

    #[test]
    fn every_set_sums_to_one_and_knows_quality() {
        for (name, mode_of, pack) in PACKS {
            let weights = Weights::of(mode_of);
            assert!((weights.0.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{name}");
            assert!((weights.0[COUNT - 1] - 0.03).abs() < 1e-4, "{name}");
            assert!((pack.iter().sum::<f32>() - 1.0).abs() < 2e-4, "{name}");
            assert_eq!(mode(name), Some(mode_of));
        }
        assert_eq!(mode("FASTEST"), Some(Mode::ShipFast));
        assert_eq!(mode("turbo"), None);
    }

    #[test]
    fn what_is_left_out_keeps_its_default() {
        let weights = read(&[("latencyInv", 0.5)]).unwrap();
        let sum = 1.0 - 0.1143 + 0.5;
        assert!((weights.0.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((weights.0[3] - 0.5 / sum).abs() < 1e-4);
        assert!((weights.0[0] - 0.1429 / sum).abs() < 1e-4);
        assert!((weights.0[COUNT - 1] - 0.03 / sum).abs() < 1e-4);
    }

    #[test]
    fn mistakes_name_key_value_and_range() {
        let said = |pairs| read(pairs).unwrap_err().join("; ");
        assert_eq!(said(&[("quota", -0.1)]), "auto.weights.quota is -0.1, allowed is 0 to 1000");
        assert_eq!(said(&[("quota", f64::NAN)]), "auto.weights.quota is NaN, allowed is 0 to 1000");
        assert_eq!(
            said(&[("latencyInf", 0.1)]),
            "auto.weights.latencyInf is no known factor; did you mean \"latencyInv\""
        );
        let zero: Vec<(&str, f64)> = FACTORS.iter().map(|factor| (factor.name, 0.0)).collect();
        assert_eq!(said(&zero), "auto.weights are all 0, one has to be more");
    }
}
