//! What is believed about offerings, by class of task: a prior, what all classes say, what this class says.

use std::collections::BTreeMap;
use std::sync::Arc;

use omniroute_core::UnixMs;
use omniroute_core::route::StateError;
use serde::{Deserialize, Serialize};

use super::params::{Bucket, Params};

const VERSION: u32 = 1;
const HOUR: f64 = 3_600_000.0;
/// What is assumed of an offering that was judged before anybody met it.
const NO_OPINION: Prior = Prior { fit: 0.5, known: false };
/// Hope where nobody at all is known.
const HOPE: f64 = 0.6;

/// What is thought of an offering in a class before any answer was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// How good it is, 0..1.
    pub fit: f64,
    /// Somebody knows; otherwise it is a guess, from the name or from nothing.
    pub known: bool,
}

/// Beliefs about offerings.
#[derive(Debug, Clone)]
pub struct Learner {
    params: Params,
    cells: BTreeMap<Arc<str>, Cell>,
}

/// One offering. Sums of weights and of weighted rewards, for each class and over all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Cell {
    fit: [f64; 7],
    known: bool,
    at: i64,
    /// Weighted sum of rewards beyond the catalogue's opinion.
    beyond: f64,
    weight: f64,
    up: f64,
    down: f64,
    classes: [(f64, f64); 7],
}

impl Cell {
    fn new(fit: [f64; 7], known: bool) -> Cell {
        Cell { fit, known, at: 0, beyond: 0.0, weight: 0.0, up: 0.0, down: 0.0, classes: [(0.0, 0.0); 7] }
    }

    /// The same, as it counts at a later time.
    fn aged(&self, now: i64, params: &Params) -> Cell {
        let mut aged = *self;
        #[expect(clippy::cast_precision_loss, reason = "a share of a week")]
        let hours = (now.saturating_sub(self.at)).max(0) as f64 / HOUR;
        aged.scale(libm::exp2(-hours / params.half_life));
        aged
    }

    fn scale(&mut self, by: f64) {
        self.beyond *= by;
        self.weight *= by;
        for (sum, weight) in &mut self.classes {
            *sum *= by;
            *weight *= by;
        }
    }

    /// Mean and observations behind it.
    fn mean(&self, class: usize, prior: Prior, hope: f64, params: &Params) -> (f64, f64) {
        let (sum, weight) = self.classes[class];
        let (prior, n0) = if prior.known {
            (prior.fit + self.beyond / (params.n1 + self.weight), params.n0)
        } else {
            let doubt = params.n1 / (params.n1 + self.weight);
            let seen = if self.weight > 0.0 { prior.fit + self.beyond / self.weight } else { 0.0 };
            (doubt * hope + (1.0 - doubt) * seen, params.n0_unknown)
        };
        let n = n0 + weight;
        ((n0 * prior.clamp(0.0, 1.0) + sum) / n, n)
    }
}

impl Learner {
    /// Nothing learned yet.
    pub fn new(params: Params) -> Learner {
        Learner { params, cells: BTreeMap::new() }
    }

    /// Gets to know an offering, or a new opinion of it.
    pub fn meet(&mut self, offering: &Arc<str>, fit: [f64; 7], known: bool) {
        match self.cells.get_mut(offering) {
            Some(cell) => (cell.fit, cell.known) = (fit, known),
            None => {
                self.cells.insert(offering.clone(), Cell::new(fit, known));
            }
        }
    }

    /// Mean and spread of what is believed about an offering. `hope` is for those nobody knows.
    pub fn belief(&self, offering: &str, class: usize, prior: Prior, hope: f64, now: UnixMs) -> (f64, f64) {
        let fresh = Cell::new([prior.fit; 7], prior.known);
        let cell = self.cells.get(offering).unwrap_or(&fresh).aged(now.0, &self.params);
        let (mean, n) = cell.mean(class, prior, hope, &self.params);
        (mean, self.params.spread / libm::sqrt(n))
    }

    /// Whether an offering nobody knew has been judged too seldom to be known.
    pub fn newcomer(&self, offering: &str, now: UnixMs) -> bool {
        let weight = self.cells.get(offering).map_or(0.0, |cell| cell.aged(now.0, &self.params).weight);
        weight < self.params.newcomer_until
    }

    /// What three quarters of the known offerings are at most worth in a class.
    pub fn upper_quartile<'a>(
        &self,
        class: usize,
        offers: impl Iterator<Item = (&'a str, Prior)>,
        now: UnixMs,
    ) -> f64 {
        let mut means: Vec<f64> = offers
            .filter_map(|(offering, prior)| {
                let fresh = Cell::new([prior.fit; 7], prior.known);
                let cell = self.cells.get(offering).unwrap_or(&fresh).aged(now.0, &self.params);
                let known = prior.known || cell.weight >= self.params.newcomer_until;
                // Whoever was judged often enough counts as if it had been known all along; hope would go in circles.
                let prior = Prior { known: true, ..prior };
                known.then(|| cell.mean(class, prior, HOPE, &self.params).0)
            })
            .collect();
        quartile(&mut means)
    }

    /// A judgement, perhaps in place of an earlier one of the same request.
    pub fn judge(
        &mut self,
        offering: &str,
        class: usize,
        (reward, weight): (f64, f64),
        replaces: Option<(f64, f64)>,
        now: UnixMs,
    ) {
        let hope = self.hope(class, now);
        let params = self.params;
        let cell = self
            .cells
            .entry(offering.into())
            .or_insert_with(|| Cell::new([NO_OPINION.fit; 7], NO_OPINION.known));
        let mut aged = cell.aged(now.0.max(cell.at), &params);
        aged.at = now.0.max(cell.at);
        let prior = aged.prior(class);
        let base = prior.fit;
        let surprise = reward - aged.mean(class, prior, hope, &params).0;
        let (old_reward, old_weight) = replaces.unwrap_or((0.0, 0.0));
        aged.beyond += weight * (reward - base) - old_weight * (old_reward - base);
        aged.weight = (aged.weight + weight - old_weight).max(0.0);
        let (sum, count) = &mut aged.classes[class];
        *sum = (*sum + weight * reward - old_weight * old_reward).max(0.0);
        *count = (*count + weight - old_weight).max(0.0);
        if replaces.is_none() {
            aged.up = (aged.up + surprise - params.drift).max(0.0);
            aged.down = (aged.down - surprise - params.drift).max(0.0);
            if aged.up > params.alarm || aged.down > params.alarm {
                aged.scale(params.kept);
                (aged.up, aged.down) = (0.0, 0.0);
            }
        }
        *cell = aged;
    }

    /// Everything learned and the trials that may still be made, as JSON with a version. No text of requests.
    pub fn save(&self, bucket: &Bucket) -> Vec<u8> {
        let cells = self.cells.iter().map(|(key, cell)| (key.to_string(), *cell)).collect();
        serde_json::to_vec(&Saved { version: VERSION, cells, trials: Some(*bucket) }).unwrap_or_default()
    }

    /// Takes back what [`Learner::save`] gave. A state without a budget of trials gets a new one.
    ///
    /// # Errors
    /// Another version, or bytes that are no saved state.
    pub fn load(params: Params, bytes: &[u8]) -> Result<(Learner, Bucket), StateError> {
        let corrupt = |error: serde_json::Error| StateError::Corrupt(error.to_string());
        let version: VersionOnly = serde_json::from_slice(bytes).map_err(corrupt)?;
        if version.version != VERSION {
            return Err(StateError::Version(version.version));
        }
        let saved: Saved = serde_json::from_slice(bytes).map_err(corrupt)?;
        let odd = saved.cells.iter().find(|(_, cell)| !cell.sound());
        if let Some((key, _)) = odd {
            return Err(StateError::Corrupt(format!("the numbers of {key:?} are out of range")));
        }
        let bucket = saved.trials.map_or_else(|| Bucket::new(&params), |bucket| bucket.within(&params));
        let cells = saved.cells.into_iter().map(|(key, cell)| (key.into(), cell)).collect();
        Ok((Learner { params, cells }, bucket))
    }

    fn hope(&self, class: usize, now: UnixMs) -> f64 {
        let offers = self.cells.iter().map(|(key, cell)| (&**key, cell.prior(class)));
        self.upper_quartile(class, offers, now)
    }
}

impl Cell {
    fn prior(&self, class: usize) -> Prior {
        Prior { fit: self.fit[class], known: self.known }
    }

    fn sound(&self) -> bool {
        let sums = [self.beyond, self.weight, self.up, self.down];
        sums.iter().all(|sum| sum.is_finite())
            && self.weight >= 0.0
            && self
                .classes
                .iter()
                .all(|(sum, weight)| sum.is_finite() && *weight >= 0.0 && weight.is_finite())
            && self.fit.iter().all(|fit| fit.is_finite())
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    cells: BTreeMap<String, Cell>,
    #[serde(default)]
    trials: Option<Bucket>,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// The value at three quarters of the list, nearest rank, halves up.
fn quartile(means: &mut [f64]) -> f64 {
    if means.is_empty() {
        return HOPE;
    }
    means.sort_unstable_by(f64::total_cmp);
    let at = ((means.len() - 1) * 3 + 2) / 4;
    means[at]
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::Mode;

    use super::*;

    fn learner() -> Learner {
        Learner::new(Params::of(Mode::Default))
    }

    fn known(learner: &mut Learner, offering: &str, fit: f64) {
        learner.meet(&offering.into(), [fit; 7], true);
    }

    #[test]
    fn the_reference_posterior() {
        let mut learner = learner();
        known(&mut learner, "a/m", 0.65);
        for i in 0..16 {
            learner.judge("a/m", 0, (if i < 14 { 1.0 } else { 0.0 }, 1.0), None, UnixMs(0));
        }
        let (mean, spread) = learner.belief("a/m", 0, Prior { fit: 0.65, known: true }, 0.6, UnixMs(0));
        assert!((mean - 0.86).abs() < 1e-9, "{mean}");
        assert!((spread - 0.030_619).abs() < 1e-6, "{spread}");
    }

    #[test]
    fn the_reference_alarm() {
        // A reward that is always .52 below the belief.
        let params = Params::of(Mode::Default);
        let mut down = 0.0_f64;
        let mut at = 0;
        while down <= params.alarm {
            down = (down + 0.52 - params.drift).max(0.0);
            at += 1;
        }
        assert_eq!(at, 29);
        assert!((down - 12.18).abs() < 1e-9);
    }

    #[test]
    fn an_overrated_offering_falls_soon() {
        let mut learner = learner();
        known(&mut learner, "good/m", 0.80);
        known(&mut learner, "bad/m", 0.95);
        let mut judged = 0;
        let mean = |learner: &Learner, name: &str, fit| {
            learner.belief(name, 0, Prior { fit, known: true }, 0.6, UnixMs(0)).0
        };
        while mean(&learner, "bad/m", 0.95) >= mean(&learner, "good/m", 0.80) {
            learner.judge("bad/m", 0, (if judged % 10 == 0 { 1.0 } else { 0.0 }, 1.0), None, UnixMs(0));
            judged += 1;
        }
        assert!(judged < 60, "{judged}");
    }

    #[test]
    fn evidence_halves_in_a_week_and_replacing_keeps_the_difference() {
        let mut learner = learner();
        known(&mut learner, "a/m", 0.5);
        learner.judge("a/m", 2, (1.0, 1.0), None, UnixMs(0));
        let week = UnixMs(168 * 3_600_000);
        let aged = learner.cells["a/m"].aged(week.0, &learner.params);
        assert!((aged.classes[2].1 - 0.5).abs() < 1e-12 && (aged.weight - 0.5).abs() < 1e-12);
        let mut other = learner.clone();
        other.judge("a/m", 2, (0.0, 1.0), Some((1.0, 1.0)), UnixMs(0));
        assert_eq!(other.cells["a/m"].classes[2], (0.0, 1.0));
    }

    #[test]
    fn saved_state_comes_back_and_nothing_else_does() {
        let mut learner = learner();
        known(&mut learner, "a/m", 0.7);
        learner.judge("b/n", 1, (0.25, 0.5), None, UnixMs(77));
        let mut bucket = Bucket::new(&Params { rate: 0.1, ..learner.params });
        bucket.spend();
        let params = Params { rate: 0.1, ..learner.params };
        let bytes = learner.save(&bucket);
        let (again, left) = Learner::load(params, &bytes).unwrap();
        assert_eq!(again.cells, learner.cells);
        assert_eq!((left, again.save(&left)), (bucket, bytes.clone()));
        let before = br#"{"version":1,"cells":{}}"#;
        assert_eq!(
            Learner::load(params, before).unwrap().1,
            Bucket::new(&params),
            "a state without a budget"
        );
        let params = learner.params;
        assert_eq!(
            Learner::load(params, br#"{"version":9,"cells":[]}"#).unwrap_err(),
            StateError::Version(9)
        );
        for end in 0..bytes.len() {
            assert!(Learner::load(params, &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn the_upper_quartile_is_the_nearest_rank() {
        for (means, expected) in
            [(vec![], 0.6), (vec![0.3], 0.3), (vec![0.1, 0.9], 0.9), (vec![0.4, 0.1, 0.3, 0.2, 0.5], 0.4)]
        {
            assert_eq!(quartile(&mut means.clone()), expected, "{means:?}");
        }
    }
}
