//! One route's decisions: gates, strategy, what may still change the order, and the memory between requests.

use std::sync::{Arc, Mutex, PoisonError};

use omniroute_core::route::{
    Candidates, Columns, DropReason, Feedback, Layer, Note, Pick, Plan, Pool, Reason, RequestFacts,
    RouteContext, RouteError, RouteErrorKind, RouteOptions, RoutingStrategy, Scratch, Sequence, SessionFacts,
    StateError, Why, hash,
};
use omniroute_core::{Moment, Outcome, SessionId};

use crate::cost::estimate;
use crate::gates::{self, Gates};
use crate::last_good::LastGood;
use crate::layers;
use crate::nested::{self, Child};
use crate::strategies::order::best;

/// Memory for one plan at a time; keep one per thread, or a few.
#[derive(Debug, Default)]
pub struct Work {
    gates: Gates,
    scratch: Scratch,
}

impl Work {
    /// Who was dropped by the last decision and why, also if nobody was left; indices of its pool.
    pub fn drops(&self) -> impl Iterator<Item = (u32, DropReason)> + '_ {
        self.gates.drops()
    }
}

/// One request, as far as a decision needs it.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// What is known of the request.
    pub request: &'a RequestFacts,
    /// What is known of its conversation.
    pub session: Option<&'a SessionFacts>,
    /// What the caller asks for.
    pub options: &'a RouteOptions,
    /// When.
    pub now: Moment,
    /// Where its random numbers come from.
    pub seed: u64,
}

/// A decision, with everything that led to it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// Whom to ask.
    pub plan: Plan,
    /// The rule that decided about the first place.
    pub layer: Layer,
    /// The seed it was made with.
    pub seed: u64,
    /// The ticket it was made with.
    pub ticket: u64,
    /// Version of the pool whose indices the plan names.
    pub pool: u64,
    /// Who was dropped, and why.
    pub drops: Vec<(u32, DropReason)>,
    /// Of a panel: who stands behind a voice that is a combo, in order.
    pub behind: Vec<(u32, Vec<u32>)>,
}

/// Decides for one route: a strategy with what it remembers.
#[derive(Debug)]
pub struct Planner {
    name: Arc<str>,
    strategy: Arc<dyn RoutingStrategy>,
    accounts: Option<Arc<dyn RoutingStrategy>>,
    tickets: Mutex<Tickets>,
    last_good: LastGood,
    children: Vec<Child>,
}

/// Requests planned so far; for decks, since the set of candidates last changed.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    next: u64,
    base: u64,
    set: u64,
}

impl Tickets {
    /// The next ticket; `real`: it is taken. `set`: the candidates it is for, where they count.
    pub(crate) fn take(&mut self, set: Option<u64>, real: bool) -> u64 {
        let ticket = match set {
            Some(set) if set != self.set => {
                if real {
                    (self.set, self.base) = (set, self.next);
                }
                0
            }
            Some(_) => self.next - self.base,
            None => self.next,
        };
        self.next += u64::from(real);
        ticket
    }
}

impl Planner {
    /// A route of a name, which errors show, for instance `combo "daily"`.
    pub fn new(name: impl Into<Arc<str>>, strategy: Arc<dyn RoutingStrategy>) -> Self {
        Planner {
            name: name.into(),
            strategy,
            accounts: None,
            tickets: Mutex::default(),
            last_good: LastGood::default(),
            children: Vec::new(),
        }
    }

    /// The same, with a strategy of its own for the accounts of a step.
    #[must_use]
    pub fn with_accounts(mut self, accounts: Option<Arc<dyn RoutingStrategy>>) -> Self {
        self.accounts = accounts;
        self
    }

    /// The same, with combos inside that decide for themselves.
    pub(crate) fn with_children(mut self, children: Vec<Child>) -> Self {
        self.children = children;
        self
    }

    /// The strategy.
    pub fn strategy(&self) -> &Arc<dyn RoutingStrategy> {
        &self.strategy
    }

    /// Decides about a request that will be sent. Takes a ticket.
    ///
    /// # Errors
    /// If nobody may be used: which gates stood in the way, and when trying again makes sense.
    pub fn plan(
        &self,
        ask: Ask<'_>,
        pool: &Pool,
        columns: &Columns,
        work: &mut Work,
    ) -> Result<Decision, RouteError> {
        self.decide(ask, pool, columns, work, true)
    }

    /// The same decision without consequences: no ticket is taken, nothing is remembered.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn explain(
        &self,
        ask: Ask<'_>,
        pool: &Pool,
        columns: &Columns,
        work: &mut Work,
    ) -> Result<Decision, RouteError> {
        self.decide(ask, pool, columns, work, false)
    }

    /// Whether anybody may be used at all; nobody is chosen.
    ///
    /// # Errors
    /// As [`Planner::plan`], but for those of the strategy.
    pub fn check(
        &self,
        ask: Ask<'_>,
        pool: &Pool,
        columns: &Columns,
        work: &mut Work,
    ) -> Result<(), RouteError> {
        good_budget(ask.options.budget)?;
        let gate = gates::Ask { request: ask.request, options: ask.options, now: ask.now };
        work.gates.run(gate, pool, columns);
        if work.gates.eligible.is_empty() {
            return Err(work.gates.error(&self.name, gate, pool, columns));
        }
        Ok(())
    }

    /// How an attempt of this route ended.
    pub fn observe(&self, session: Option<&SessionId>, outcome: &Outcome) {
        self.last_good.observe(session, outcome);
        match session {
            Some(session) => self.strategy.observe_in(session, outcome),
            None => self.strategy.observe(outcome),
        }
        if let Some(accounts) = &self.accounts {
            accounts.observe(outcome);
        }
    }

    /// [`Planner::observe`] for a candidate of the route's pool: the combo inside that it belongs to learns, too.
    pub(crate) fn observe_at(&self, candidate: u32, session: Option<&SessionId>, outcome: &Outcome) {
        self.observe(session, outcome);
        self.children.iter().for_each(|child| child.observe(candidate, session, outcome));
    }

    /// How good an answer of this route was.
    pub fn feedback(&self, feedback: &Feedback) {
        self.strategy.feedback(feedback);
        self.children.iter().for_each(|child| child.feedback(feedback));
    }

    /// What the strategy has learned.
    pub fn save(&self) -> Option<Vec<u8>> {
        nested::save(&self.strategy, &self.children)
    }

    /// Takes back what was saved.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn load(&self, state: &[u8]) -> Result<(), StateError> {
        nested::load(&self.strategy, &self.children, state)
    }

    fn decide(
        &self,
        ask: Ask<'_>,
        pool: &Pool,
        columns: &Columns,
        work: &mut Work,
        real: bool,
    ) -> Result<Decision, RouteError> {
        good_budget(ask.options.budget)?;
        let Work { gates, scratch } = work;
        let gate = gates::Ask { request: ask.request, options: ask.options, now: ask.now };
        gates.run(gate, pool, columns);
        if gates.eligible.is_empty() {
            let traits = self.strategy.traits();
            if pool.is_empty() && traits.many {
                // Panels and chains without members have errors of their own.
                let candidates = Candidates::new(pool, columns, &[]);
                let cx = context(ask, ask.options, 0, scratch);
                self.strategy.plan(&cx, &candidates)?;
            }
            return Err(gates.error(&self.name, gate, pool, columns));
        }
        let traits = self.strategy.traits();
        // What stands behind others may come from anywhere in the order, so all of it is needed.
        let all;
        let moves = !self.children.is_empty()
            || gates.some_full
            || gates.some_uncertain
            || self.accounts.is_some()
            || ask.session.is_some_and(|session| session.pin.is_some());
        let options = if moves && ask.options.depth < gates.eligible.len() {
            let mut whole = ask.options.clone();
            whole.depth = usize::MAX;
            all = whole;
            &all
        } else {
            ask.options
        };
        let (narrow, inners);
        let eligible: &[u32] = if self.children.is_empty() {
            inners = Vec::new();
            &gates.eligible
        } else {
            let cx = context(ask, options, 0, scratch);
            (narrow, inners) = nested::narrowed(&self.children, &cx, columns, &gates.eligible, gates)?;
            &narrow
        };
        let candidates = Candidates::new(pool, columns, eligible);
        let set = traits.by_set.then(|| nested::set(pool, eligible, &self.children));
        let ticket = self.ticket(set, real);
        let cx = context(ask, options, ticket, scratch);
        let mut plan = if gates.relaxed {
            Plan::Sequence(by_cost(&cx, &candidates))
        } else {
            self.strategy.plan(&cx, &candidates)?
        };
        sound(&mut plan, gates, self.strategy.id())?;
        let outer = (!inners.is_empty()).then(|| plan.clone());
        let mut behind = Vec::new();
        match &mut plan {
            Plan::Panel { members, judge, .. } => {
                let voices = members.iter().chain(judge.iter());
                behind = voices.filter_map(|pick| nested::behind(&inners, pick.candidate)).collect();
            }
            Plan::Chain(stages) => {
                stages.iter_mut().for_each(|stage| nested::expanded(&mut stage.sequence.picks, &inners));
            }
            _ => {}
        }
        if let Plan::Sequence(sequence) = &mut plan {
            if !gates.relaxed {
                if let Some(accounts) = &self.accounts {
                    inside_steps(&cx, &candidates, &**accounts, sequence)?;
                }
                layers::apply(&cx, &candidates, traits, &self.last_good, gates, sequence);
                self.strategy.settled(&cx, &candidates, sequence);
            }
            if !inners.is_empty() {
                nested::expanded(&mut sequence.picks, &inners);
            }
            shorten(sequence, ask.options.depth.max(1));
            for (set, note) in [
                (gates.relaxed, Note::BudgetRelaxed),
                (gates.tags_ignored, Note::TagsIgnored),
                (gates.tried_anyway, Note::TriedAnyway),
            ] {
                if set {
                    sequence.notes.push(note);
                }
            }
        }
        if real {
            self.strategy.planned(&cx, &candidates, outer.as_ref().unwrap_or(&plan));
            if let Some(first) = plan.first() {
                inners.iter().for_each(|inner| inner.planned(&cx, columns, first.candidate));
            }
        }
        let layer = plan.first().map_or(Layer::Strategy, |pick| pick.why.layer);
        let drops = gates.drops().collect();
        Ok(Decision { plan, layer, seed: ask.seed, ticket, pool: pool.version(), drops, behind })
    }

    fn ticket(&self, set: Option<u64>, real: bool) -> u64 {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner).take(set, real)
    }
}

fn good_budget(budget: Option<f64>) -> Result<(), RouteError> {
    match budget {
        Some(budget) if !(budget > 0.0 && budget.is_finite()) => {
            let message = format!("the budget is {budget}, it has to be a positive number of USD");
            Err(RouteError::new(RouteErrorKind::BadBudget, message))
        }
        _ => Ok(()),
    }
}

fn context<'a>(
    ask: Ask<'a>,
    options: &'a RouteOptions,
    ticket: u64,
    scratch: &'a Scratch,
) -> RouteContext<'a> {
    RouteContext {
        request: ask.request,
        session: ask.session,
        options,
        now: ask.now,
        seed: ask.seed,
        ticket,
        scratch,
    }
}

/// Orders the accounts of each step among the places that the step has.
pub(crate) fn inside_steps(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    accounts: &dyn RoutingStrategy,
    sequence: &mut Sequence,
) -> Result<(), RouteError> {
    let entries = candidates.pool().entries();
    let step = |index: u32| entries[index as usize].step;
    let mut done: Vec<u32> = Vec::new();
    for at in 0..sequence.picks.len() {
        let this = step(sequence.picks[at].candidate);
        if done.contains(&this) {
            continue;
        }
        done.push(this);
        let places: Vec<usize> =
            (at..sequence.picks.len()).filter(|at| step(sequence.picks[*at].candidate) == this).collect();
        if places.len() < 2 {
            continue;
        }
        let mut members: Vec<u32> = places.iter().map(|at| sequence.picks[*at].candidate).collect();
        members.sort_unstable();
        let Plan::Sequence(order) = accounts.plan(cx, &candidates.narrowed(&members))? else { continue };
        for (place, pick) in places.iter().zip(order.picks) {
            sequence.picks[*place] = pick;
        }
    }
    Ok(())
}

fn by_cost(cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Sequence {
    let mut sequence = best(cx, candidates, Reason::BudgetRelaxed, |index| {
        -estimate(cx.request, candidates.pool(), candidates.columns(), index)
    });
    for pick in &mut sequence.picks {
        pick.why = Why::of(Layer::Request, Reason::BudgetRelaxed);
    }
    sequence
}

/// Takes out what is no candidate: a strategy of the host may answer anything.
fn sound(plan: &mut Plan, gates: &Gates, strategy: &str) -> Result<(), RouteError> {
    let fits = |pick: &Pick| gates.reasons.get(pick.candidate as usize).is_some_and(Option::is_none);
    let clean = |sequence: &mut Sequence| {
        let before = sequence.picks.len();
        sequence.picks.retain(fits);
        if sequence.picks.len() < before {
            sequence.notes.push(Note::StrategyError);
        }
        sequence.picks.is_empty()
    };
    let empty = match plan {
        Plan::Sequence(sequence) => clean(sequence),
        Plan::Panel { members, judge, .. } => {
            members.retain(fits);
            *judge = judge.filter(fits);
            members.is_empty()
        }
        Plan::Chain(stages) => {
            let mut empty = stages.is_empty();
            for stage in stages {
                empty |= clean(&mut stage.sequence);
            }
            empty
        }
        _ => false,
    };
    if empty {
        let message = format!("strategy {strategy:?} names no candidate that may be used");
        return Err(RouteError::new(RouteErrorKind::StrategyError, message));
    }
    Ok(())
}

fn shorten(sequence: &mut Sequence, depth: usize) {
    if sequence.picks.len() > depth {
        let more = u32::try_from(sequence.picks.len() - depth).unwrap_or(u32::MAX);
        sequence.unlisted = sequence.unlisted.saturating_add(more);
        sequence.picks.truncate(depth);
    }
}

/// A number for a set of candidates.
pub(crate) fn set_of(pool: &Pool, eligible: impl Iterator<Item = u32>) -> u64 {
    eligible.fold(hash(pool.version(), &[]), |set, index| hash(set, &[u64::from(index)]))
}
