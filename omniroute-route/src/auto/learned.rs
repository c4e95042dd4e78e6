//! What was learned from judged answers, and how it chooses.

use std::sync::{Mutex, MutexGuard, PoisonError};

use omniroute_core::UnixMs;
use omniroute_core::route::{
    Candidates, Feedback, Mode, Note, Pick, Plan, Pool, Reason, RouteContext, Salt, Sequence, StateError,
    Why, Window, hash, unit,
};

use crate::cost::estimate;
use crate::learn::{Bucket, Learner, Params, Prior, shadow};
use crate::strategies::order::{known, ranked};

/// Failed share above which nothing is tried out.
const TOO_RISKY: f32 = 0.2;

/// Beliefs about offerings, and the budget of trials.
#[derive(Debug)]
pub(crate) struct Learned {
    params: Params,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    learner: Learner,
    bucket: Bucket,
}

impl Learned {
    pub(crate) fn new(mode: Mode, exploration: f64) -> Self {
        let params = Params { rate: exploration, ..Params::of(mode) };
        Learned {
            params,
            state: Mutex::new(State { learner: Learner::new(params), bucket: Bucket::new(&params) }),
        }
    }

    /// The order by what is believed; now and then something promising is first.
    pub(crate) fn plan(
        &self,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        incident: bool,
    ) -> Sequence {
        let state = self.state();
        let mut indexes = std::mem::take(&mut *cx.scratch.scores.borrow_mut());
        indexes.clear();
        let middle = self.middle(&state.learner, cx, candidates);
        for index in candidates.indices() {
            let mean = self.mean(&state.learner, cx, candidates, *index, middle);
            #[expect(clippy::cast_possible_truncation, reason = "a score")]
            let score = (mean.0 - self.penalties(cx, candidates, *index as usize)) as f32;
            indexes.push(score);
        }
        let greedy = best(&indexes);
        let trial = self.trial(&state, cx, candidates, incident, middle, &indexes, greedy);
        drop(state);
        let why = |_, _| Why::strategy(Reason::Score);
        let mut sequence = ranked(cx, candidates, &indexes, why, |best| best, false);
        // What is as good as the best and knows the conversation stays first.
        let top = indexes[greedy];
        let warm = super::warm(cx, candidates, |position| indexes[position] >= top - super::EQUAL);
        if let Some(at) = warm.and_then(|position| {
            sequence.picks.iter().position(|pick| pick.candidate == candidates.indices()[position])
        }) {
            sequence.picks[..=at].rotate_right(1);
        }
        if let Some(position) = trial {
            let first = candidates.indices()[position];
            match sequence.picks.iter().position(|pick| pick.candidate == first) {
                Some(at) => drop(sequence.picks.remove(at)),
                None => drop(sequence.picks.pop()),
            }
            let why = Why::strategy(Reason::Explored);
            sequence.picks.insert(0, Pick::scored(first, indexes[position], why));
            sequence.notes.push(Note::Explored);
        }
        if incident {
            sequence.notes.push(Note::Incident);
        }
        *cx.scratch.scores.borrow_mut() = indexes;
        sequence
    }

    /// Spends and refills the budget of trials, and gets to know new offerings.
    pub(crate) fn planned(&self, candidates: &Candidates<'_>, plan: &Plan) {
        let mut state = self.state();
        let pool = candidates.pool();
        for (number, index) in pool.offerings().iter().enumerate() {
            let entry = &pool.entries()[*index as usize];
            let fit = entry.fitness.map_or([0.5; 7], |fit| fit.map(f64::from));
            state.learner.meet(&pool.offering_keys()[number], fit, entry.fitness.is_some() && !entry.guessed);
        }
        let explored = plan.first().is_some_and(|pick| pick.why.reason == Reason::Explored);
        if explored {
            state.bucket.spend();
        }
        state.bucket.refill(&self.params);
    }

    pub(crate) fn feedback(&self, feedback: &Feedback) {
        let key = format!("{}/{}", feedback.target.provider, feedback.target.model);
        let (reward, weight) = (f64::from(feedback.reward), f64::from(feedback.weight));
        if !reward.is_finite() || !weight.is_finite() {
            return;
        }
        let before = feedback.replaces.map(|(reward, weight)| (f64::from(reward), f64::from(weight)));
        let class = feedback.class as usize;
        let judged = (reward.clamp(0.0, 1.0), weight.clamp(0.0, 1.0));
        self.state().learner.judge(&key, class, judged, before, feedback.at);
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        let state = self.state();
        state.learner.save(&state.bucket)
    }

    pub(crate) fn load(&self, bytes: &[u8]) -> Result<(), StateError> {
        let (learner, bucket) = Learner::load(self.params, bytes)?;
        *self.state() = State { learner, bucket };
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a good offering of this class is usually worth; the hope for those nobody knows.
    fn middle(&self, learner: &Learner, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> f64 {
        let (pool, class) = (candidates.pool(), cx.request.class as usize);
        // Of those that may be used, each offering once.
        let mut counts = cx.scratch.counts.borrow_mut();
        let seen = &mut counts[0];
        seen.clear();
        seen.resize(pool.offerings().len(), 0);
        let offers = candidates.indices().iter().filter_map(|index| {
            let number = pool.offering_of()[*index as usize] as usize;
            let first = std::mem::replace(&mut seen[number], 1) == 0;
            first.then(|| (&*pool.offering_keys()[number], prior(pool, *index as usize, class)))
        });
        learner.upper_quartile(class, offers, cx.now.wall)
    }

    /// Mean and spread of the belief about a candidate's offering.
    fn mean(
        &self,
        learner: &Learner,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        index: u32,
        middle: f64,
    ) -> (f64, f64) {
        let pool = candidates.pool();
        let key = &pool.offering_keys()[pool.offering_of()[index as usize] as usize];
        let class = cx.request.class as usize;
        learner.belief(key, class, prior(pool, index as usize, class), middle, cx.now.wall)
    }

    fn penalties(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, index: usize) -> f64 {
        let columns = candidates.columns();
        let cost = f64::from(known(estimate(cx.request, candidates.pool(), columns, index), 0.05));
        let latency = expected_seconds(cx, candidates, index);
        let fails = f64::from(known(columns.error_rate[index], 0.05));
        self.params.penalties(cost, latency, fails) + pressure(candidates, index, cx.now.wall)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one computation")]
    fn trial(
        &self,
        state: &State,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        incident: bool,
        middle: f64,
        indexes: &[f32],
        greedy: usize,
    ) -> Option<usize> {
        if self.params.rate <= 0.0 || incident || !may_explore(cx) {
            return None;
        }
        let mut rng = cx.rng(Salt::EXPLORE);
        let key = rng.bits();
        let drawn = |position: usize| {
            let (mean, spread) =
                self.mean(&state.learner, cx, candidates, candidates.indices()[position], middle);
            let z = normal(key, candidates.indices()[position]);
            #[expect(clippy::cast_possible_truncation, reason = "a score")]
            let moved = ((mean + spread * z).clamp(0.0, 1.0) - mean) as f32;
            indexes[position] + moved
        };
        let mut choice = greedy;
        if state.bucket.has_token() {
            let least = promising(cx, indexes);
            let mut top = drawn(greedy);
            for position in (0..indexes.len()).filter(|position| indexes[*position] >= least) {
                let value = drawn(position);
                if value > top {
                    (top, choice) = (value, position);
                }
            }
        }
        let (coin, pick) = (rng.unit(), rng.unit());
        if coin < self.params.newcomers && !state.bucket.deep_in_debt() {
            let newcomers: Vec<usize> = (0..indexes.len())
                .filter(|position| {
                    let pool = candidates.pool();
                    let index = candidates.indices()[*position] as usize;
                    let key = &pool.offering_keys()[pool.offering_of()[index] as usize];
                    !prior(pool, index, 0).known && state.learner.newcomer(key, cx.now.wall)
                })
                .collect();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index"
            )]
            let at = (pick * newcomers.len() as f64) as usize;
            choice = newcomers.get(at).copied().unwrap_or(choice);
        }
        (choice != greedy && self.harmless(cx, candidates, choice, greedy)).then_some(choice)
    }

    /// Neither likely to fail nor much dearer than what would be used.
    fn harmless(
        &self,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        choice: usize,
        greedy: usize,
    ) -> bool {
        let (columns, pool) = (candidates.columns(), candidates.pool());
        let at = |position: usize| candidates.indices()[position] as usize;
        let cost = |position| known(estimate(cx.request, pool, columns, at(position)), 0.05);
        known(columns.error_rate[at(choice)], 0.05) <= TOO_RISKY && cost(choice) <= 2.0 * cost(greedy) + 0.01
    }
}

/// What is thought of a candidate's offering before any answer was judged.
fn prior(pool: &Pool, index: usize, class: usize) -> Prior {
    let entry = &pool.entries()[index];
    let fit = entry.fitness.map_or(0.5, |fit| f64::from(fit[class]));
    Prior { fit, known: entry.fitness.is_some() && !entry.guessed }
}

/// Whether a request may be used to try something out.
fn may_explore(cx: &RouteContext<'_>) -> bool {
    cx.options.explore
        && !super::in_session(cx)
        && !cx.options.budget_strict
        && cx.request.connection.is_none()
}

/// Of many candidates only the best are drawn for: the index they need.
fn promising(cx: &RouteContext<'_>, indexes: &[f32]) -> f32 {
    const MANY: usize = 256;
    const DRAWN: usize = 64;
    if indexes.len() <= MANY {
        return f32::MIN;
    }
    let mut floats = cx.scratch.floats.borrow_mut();
    let sorted = &mut floats[1];
    sorted.clear();
    sorted.extend_from_slice(indexes);
    *sorted.select_nth_unstable_by(DRAWN - 1, |a, b| b.total_cmp(a)).1
}

fn best(indexes: &[f32]) -> usize {
    let mut best = 0;
    for (position, index) in indexes.iter().enumerate() {
        if *index > indexes[best] {
            best = position;
        }
    }
    best
}

/// Seconds until the whole answer is there.
fn expected_seconds(cx: &RouteContext<'_>, candidates: &Candidates<'_>, index: usize) -> f64 {
    let columns = candidates.columns();
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let tokens = cx.request.output_tokens() as f64;
    let (first, speed) = (f64::from(columns.ttft_ms[index]), f64::from(columns.tokens_per_s[index]));
    if first.is_finite() && speed > 0.0 {
        return first / 1_000.0 + tokens / speed;
    }
    f64::from(known(columns.mean_ms[index], 1_500.0)) / 1_000.0
}

/// What the use of an allowance ahead of time costs.
fn pressure(candidates: &Candidates<'_>, index: usize, now: UnixMs) -> f64 {
    let columns = candidates.columns();
    let windows = Window::ALL.into_iter().filter_map(|window| {
        let used = columns.used[window as usize][index];
        let until = columns.until_reset(window, index, now)?;
        #[expect(clippy::cast_precision_loss, reason = "a share of a window")]
        let elapsed = 1.0 - (until as f64 / window.millis() as f64).clamp(0.0, 1.0);
        used.is_finite().then_some((elapsed, f64::from(used)))
    });
    shadow(windows)
}

/// A number of the normal distribution for a candidate.
fn normal(key: u64, index: u32) -> f64 {
    let u = |field: u64| unit(hash(key, &[u64::from(index), field]));
    libm::sqrt(-2.0 * libm::log(1.0 - u(101))) * libm::cos(2.0 * std::f64::consts::PI * u(102))
}
