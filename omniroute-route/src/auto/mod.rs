//! The best by fifteen factors, or by what was learned from answers.

pub(crate) mod factors;
pub(crate) mod heal;
pub(crate) mod learned;
mod varied;
pub(crate) mod weights;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::route::{
    Candidates, DropReason, Feedback, Health, Layer, Mode, Note, Pick, Plan, Reason, RouteContext,
    RouteError, RoutingStrategy, Sequence, StateError, StrategyTraits, TaskClass, Why,
};
use omniroute_core::{Outcome, Purpose};

use factors::{Norms, sum};
use heal::{FLOOR, Heal, SMALLEST_POOL, Trust};
use learned::Learned;
use weights::{COUNT, Weights};

use crate::auto_name::AutoName;
use crate::options::OptionReader;
use crate::registry::StrategyEntry;
use crate::strategies::order::{depth, nothing, ranked};

/// Scores this close are equal.
const EQUAL: f32 = 1e-4;
/// Failed share at which a candidate is left out, once there are enough attempts.
const FAILED: f32 = 0.5;
/// Attempts that are enough.
const ENOUGH: f32 = 10.0;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "auto",
    summary: "the best by fifteen factors, or by what was learned from answers",
    aliases: &[],
    for_accounts: false,
    options: &[
        ("pack", "a named set of weights; default default"),
        ("weights", "weights by factor, over those of the pack; they are made to sum to one"),
        ("class", "the class of every request; default: told from the request"),
        ("router", "factors or adaptive; default factors"),
        (
            "exploration",
            "share of requests that try something out, 0 to 0.2, needs router = adaptive; default 0",
        ),
    ],
    build: |options| Arc::new(Auto::read(options)),
};

/// The strategy of an `auto` name, with the weights of the operator if there are any.
pub fn auto(name: &AutoName, weights: Option<Weights>) -> Arc<dyn RoutingStrategy> {
    Arc::new(Auto::new(Setup {
        mode: name.mode,
        weights: weights.unwrap_or_else(|| Weights::of(name.mode)),
        class: name.class,
        adaptive: name.adaptive,
        exploration: name.exploration,
    }))
}

/// How one `auto` is set up.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) mode: Mode,
    pub(crate) weights: Weights,
    pub(crate) class: Option<TaskClass>,
    pub(crate) adaptive: bool,
    pub(crate) exploration: f64,
}

/// The strategy behind every `auto` name.
#[derive(Debug)]
pub(crate) struct Auto {
    setup: Setup,
    heal: Mutex<Heal>,
    learned: Learned,
    varied: varied::Varied,
}

impl Auto {
    pub(crate) fn new(setup: Setup) -> Self {
        let learned = Learned::new(setup.mode, setup.exploration);
        Auto { setup, heal: Mutex::default(), learned, varied: varied::Varied::default() }
    }

    fn read(options: &mut OptionReader<'_>) -> Self {
        let name = options.text("pack").unwrap_or("default");
        let mode = weights::mode(name).unwrap_or_else(|| {
            options.wrong("pack", format!("is {name:?}, allowed is one of {}", weights::packs().join(", ")));
            Mode::Default
        });
        let base = Weights::of(mode);
        let map = options.map("weights");
        let own = map.and_then(|map| Weights::read(options, map, base));
        let class = options.text("class").and_then(|name| {
            let class = TaskClass::parse(name);
            if class.is_none() {
                let all = TaskClass::ALL.map(TaskClass::name).join(", ");
                options.wrong("class", format!("is {name:?}, allowed is one of {all}"));
            }
            class
        });
        let adaptive = options.word("router", 0, &["factors", "adaptive"]) == 1;
        let exploration = options.number("exploration", 0.0, 0.0, 0.2);
        if exploration > 0.0 && !adaptive {
            options.wrong("exploration", format!("is {exploration}, which needs router = \"adaptive\""));
        }
        Auto::new(Setup { mode, weights: own.unwrap_or(base), class, adaptive, exploration })
    }

    fn heal(&self) -> MutexGuard<'_, Heal> {
        self.heal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The weights in force for a request.
    fn weights(&self, cx: &RouteContext<'_>) -> Weights {
        match cx.options.mode {
            Some(mode) if mode != self.setup.mode => Weights::of(mode),
            _ => self.setup.weights,
        }
    }
}

impl RoutingStrategy for Auto {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        if candidates.is_empty() {
            return Err(nothing(ENTRY.id));
        }
        let classed;
        let request = match self.setup.class {
            Some(class) if class != cx.request.class => {
                let mut request = cx.request.clone();
                request.class = class;
                classed = request;
                &classed
            }
            _ => cx.request,
        };
        let cx = &RouteContext { request, ..*cx };
        let mut sequence = if self.setup.adaptive {
            self.learned.plan(cx, candidates, self.heal().incident)
        } else {
            self.by_factors(cx, candidates)
        };
        stay(cx, candidates, &mut sequence);
        Ok(Plan::Sequence(sequence))
    }

    fn planned(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, plan: &Plan) {
        let (down, all) = providers_down(cx, candidates);
        self.heal().providers(down, all);
        if self.setup.adaptive {
            self.learned.planned(candidates, plan);
            return;
        }
        self.varied.look(cx, candidates, &self.weights(cx));
        if candidates.pool().offerings().len() >= SMALLEST_POOL
            && let Some(sequence) = plan.sequence()
        {
            let bad = sequence.picks.iter().filter(|pick| pick.score < FLOOR && pick.score > f32::MIN);
            let mut heal = self.heal();
            for pick in bad {
                let offering = candidates.pool().offering_of()[pick.candidate as usize] as usize;
                heal.exclude(&candidates.pool().offering_keys()[offering], cx.now.wall);
            }
        }
    }

    fn observe(&self, outcome: &Outcome) {
        if !matches!(outcome.purpose, Purpose::Production | Purpose::HealthProbe) {
            return;
        }
        let key = format!("{}/{}", outcome.target.provider, outcome.target.model);
        self.heal().observe(&key, outcome.failure.is_none(), outcome.at);
    }

    fn feedback(&self, feedback: &Feedback) {
        if self.setup.adaptive {
            self.learned.feedback(feedback);
        }
    }

    fn notes(&self) -> Vec<String> {
        let idle = if self.setup.adaptive { Vec::new() } else { self.varied.idle(&self.setup.weights) };
        let told =
            |name| format!("factor {name} has a weight and was the same for all candidates of 1000 plans");
        idle.into_iter().map(told).collect()
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.setup.adaptive.then(|| self.learned.save())
    }

    fn load(&self, state: &[u8]) -> Result<(), StateError> {
        if self.setup.adaptive { self.learned.load(state) } else { Ok(()) }
    }
}

impl Auto {
    fn by_factors(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Sequence {
        let weights = self.weights(cx);
        let norms = Norms::new(cx, candidates, &weights);
        let mut scores = std::mem::take(&mut *cx.scratch.scores.borrow_mut());
        scores.clear();
        let mut notes = Notes::default();
        let floor = floor(cx.request.class);
        let fitness = |index: u32| {
            let fitness = candidates.pool().entries()[index as usize].fitness;
            fitness.map_or(0.5, |fitness| fitness[cx.request.class as usize])
        };
        let reachable =
            candidates.indices().iter().any(|index| fitness(*index) >= floor && !failing(candidates, *index));
        notes.floor = !reachable;
        let heal = self.heal();
        notes.incident = heal.incident;
        let healing = !heal.is_empty() && candidates.pool().offerings().len() >= SMALLEST_POOL;
        // Whoever is in the middle of a conversation has a warm cache to lose.
        let probes = Heal::probes(cx.ticket) && !in_session(cx) && cx.request.connection.is_none();
        let mut usable = 0_usize;
        for index in candidates.indices() {
            let values = norms.values(cx, candidates, *index as usize);
            let score = sum(&weights, &values);
            let trust = if healing {
                let offering = candidates.pool().offering_of()[*index as usize] as usize;
                heal.trust(&candidates.pool().offering_keys()[offering], score, cx.now.wall)
            } else {
                Trust::Full
            };
            let out =
                trust == Trust::Out || failing(candidates, *index) || (reachable && fitness(*index) < floor);
            usable += usize::from(!out);
            scores.push(match (out, trust) {
                (true, _) => score - OUT,
                (false, Trust::Trial) => score + if probes { OUT } else { -TRIAL },
                (false, _) => score,
            });
        }
        drop(heal);
        let sequence = self.listed(cx, candidates, &mut scores, usable, &weights, &norms, notes);
        *cx.scratch.scores.borrow_mut() = scores;
        sequence
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one computation")]
    fn listed(
        &self,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        scores: &mut [f32],
        usable: usize,
        weights: &Weights,
        norms: &Norms,
        notes: Notes,
    ) -> Sequence {
        let everyone = usable == 0;
        let listed = if everyone { candidates.len() } else { usable };
        if everyone {
            scores.iter_mut().for_each(|score| *score += OUT);
        }
        let winner = winner(cx, candidates, scores);
        let mut sequence =
            ranked(cx, candidates, scores, |_, _| Why::strategy(Reason::Score), |best| best, false);
        sequence.picks.truncate(listed);
        sequence.unlisted = u32::try_from(listed.saturating_sub(sequence.picks.len())).unwrap_or(u32::MAX);
        let first = candidates.indices()[winner];
        match sequence.picks.iter().position(|pick| pick.candidate == first) {
            Some(at) => sequence.picks[..=at].rotate_right(1),
            None => {
                let depth = depth(cx, candidates);
                sequence.picks.insert(0, Pick::scored(first, scores[winner], Why::strategy(Reason::Score)));
                sequence.picks.truncate(depth);
            }
        }
        for pick in &mut sequence.picks {
            pick.score = own(pick.score);
            let values = norms.values(cx, candidates, pick.candidate as usize);
            pick.why = Why { top: top(weights, &values), ..Why::strategy(Reason::Score) };
        }
        for (set, note) in [
            (notes.floor, Note::FloorIgnored),
            (notes.incident, Note::Incident),
            (everyone, Note::ExclusionIgnored),
        ] {
            if set {
                sequence.notes.push(note);
            }
        }
        sequence
    }
}

/// Added to or taken from scores, which are below one, so that groups stay apart.
const OUT: f32 = 16.0;
const TRIAL: f32 = 4.0;

/// The score itself, without what keeps groups apart.
fn own(score: f32) -> f32 {
    if score > OUT / 2.0 {
        score - OUT
    } else if score < -OUT / 2.0 {
        score + OUT
    } else if score < -TRIAL / 2.0 {
        score + TRIAL
    } else {
        score
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Notes {
    floor: bool,
    incident: bool,
}

/// Whether a request goes on with a conversation: its beginning is in somebody's cache, which costs more to fill anew than
/// any trial can tell.
pub(crate) fn in_session(cx: &RouteContext<'_>) -> bool {
    cx.session.is_some_and(|session| session.turns > 0 || session.tool_result_tail)
}

/// The result of a tool goes back to whoever asked for it: ids and signed thoughts are theirs.
fn stay(cx: &RouteContext<'_>, candidates: &Candidates<'_>, sequence: &mut Sequence) {
    let Some(last) = cx.session.filter(|session| session.tool_result_tail).and_then(|s| s.last.as_ref())
    else {
        return;
    };
    let entries = candidates.pool().entries();
    let at = sequence.picks.iter().position(|pick| entries[pick.candidate as usize].target == *last);
    if let Some(at) = at.filter(|at| *at > 0) {
        sequence.picks[..=at].rotate_right(1);
        let pick = &mut sequence.picks[0];
        pick.why = Why { top: pick.why.top, ..Why::of(Layer::Session, Reason::Named) };
    }
}

/// Where a conversation was answered last, if that is as good as the best.
fn warm(cx: &RouteContext<'_>, candidates: &Candidates<'_>, leads: impl Fn(usize) -> bool) -> Option<usize> {
    let last = cx.session.filter(|_| in_session(cx))?.last.as_ref()?;
    let entries = candidates.pool().entries();
    let here = |position: &usize| entries[candidates.indices()[*position] as usize].target == *last;
    (0..candidates.len()).find(|position| here(position) && leads(*position))
}

/// Among the offerings whose best account scores as the best of all, each has its turn; then among their accounts.
fn winner(cx: &RouteContext<'_>, candidates: &Candidates<'_>, scores: &[f32]) -> usize {
    let offering = candidates.pool().offering_of();
    let best = scores.iter().copied().fold(f32::MIN, f32::max);
    let leads = |position: usize| scores[position] >= best - EQUAL;
    if let Some(position) = warm(cx, candidates, leads) {
        return position;
    }
    let mut order = cx.scratch.order.borrow_mut();
    // Offerings among the leaders, in the order of ranks; usually one.
    order.clear();
    let mut first = 0;
    for position in (0..scores.len()).filter(|position| leads(*position)) {
        let number = offering[candidates.indices()[position] as usize];
        if order.is_empty() {
            first = position;
        }
        if order.last() != Some(&number) && !order.contains(&number) {
            order.push(number);
        }
        if order.len() >= MOST_LEADERS {
            break;
        }
    }
    if order.is_empty() {
        return first;
    }
    let count = order.len() as u64;
    let turn = usize::try_from(cx.ticket % count).unwrap_or(0);
    let chosen = order[turn];
    drop(order);
    let members = || {
        (0..scores.len()).filter(|position| {
            leads(*position) && offering[candidates.indices()[*position] as usize] == chosen
        })
    };
    let accounts = members().count().max(1) as u64;
    let account = usize::try_from(cx.ticket / count % accounts).unwrap_or(0);
    members().nth(account).unwrap_or(first)
}

/// Offerings that take turns at most; looking for more of them would cost too much.
const MOST_LEADERS: usize = 32;

/// The three largest contributions.
fn top(weights: &Weights, values: &[f32; COUNT]) -> [(u8, f32); 3] {
    let mut top = [(255, 0.0); 3];
    for (number, (weight, value)) in (0_u8..).zip(weights.values().iter().zip(values)) {
        let added = weight * value;
        if let Some(at) = top.iter().position(|(_, other)| added > *other) {
            top[at..].rotate_right(1);
            top[at] = (number, added);
        }
    }
    top
}

fn failing(candidates: &Candidates<'_>, index: u32) -> bool {
    let columns = candidates.columns();
    let index = index as usize;
    columns.error_rate[index] >= FAILED && columns.samples[index] >= ENOUGH
}

/// How good a model has to be at a class of tasks.
pub(crate) fn floor(class: TaskClass) -> f32 {
    match class {
        TaskClass::Default | TaskClass::Documentation => 0.45,
        TaskClass::Coding => 0.65,
        TaskClass::Analysis | TaskClass::Planning | TaskClass::Review | TaskClass::Debugging => 0.70,
    }
}

/// Providers whose breaker is open, and all providers of the pool.
fn providers_down(cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> (usize, usize) {
    let (pool, columns) = (candidates.pool(), candidates.columns());
    let mut counts = cx.scratch.counts.borrow_mut();
    let down = &mut counts[0];
    down.clear();
    down.resize(pool.providers().len(), 0);
    for (index, provider) in pool.provider_of().iter().enumerate() {
        if columns.health[index] == Health::Open || columns.blocked[index] == Some(DropReason::BreakerOpen) {
            down[*provider as usize] = 1;
        }
    }
    (down.iter().filter(|down| **down == 1).count(), down.len())
}
