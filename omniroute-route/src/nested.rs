//! Combos inside combos that decide for themselves: each is one candidate of the combo around it, and makes an order of its
//! own behind that.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use omniroute_core::route::{
    Candidates, Columns, Feedback, Pick, Plan, Pool, RouteContext, RouteError, RoutingStrategy, Sequence,
    StateError, hash,
};
use omniroute_core::{Outcome, SessionId};

use crate::gates::Gates;
use crate::last_good::LastGood;
use crate::layers;
use crate::planner::{Tickets, inside_steps, set_of};

/// A combo inside another one, with what it remembers.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its candidates among those of the combo around it.
    pub(crate) range: Range<u32>,
    /// The same candidates with its own weights, under the same indices.
    pub(crate) pool: Pool,
    pub(crate) strategy: Arc<dyn RoutingStrategy>,
    pub(crate) accounts: Option<Arc<dyn RoutingStrategy>>,
    pub(crate) tickets: Mutex<Tickets>,
    pub(crate) last_good: LastGood,
    pub(crate) children: Vec<Child>,
}

/// What a combo inside another one would do.
#[derive(Debug)]
pub(crate) struct Inner<'a> {
    child: &'a Child,
    /// Those of its candidates that its strategy chose among.
    members: Vec<u32>,
    inside: Vec<Inner<'a>>,
    /// Its order before those inside it take their places.
    sequence: Sequence,
    /// The whole order; the first stands for all of it.
    pub(crate) picks: Vec<Pick>,
}

/// The candidates that a strategy chooses among, and what stands behind some of them: of each combo inside there is only
/// the one that would be asked first.
///
/// # Errors
/// If a combo inside cannot make an order.
pub(crate) fn narrowed<'a>(
    children: &'a [Child],
    cx: &RouteContext<'_>,
    columns: &Columns,
    eligible: &[u32],
    gates: &Gates,
) -> Result<(Vec<u32>, Vec<Inner<'a>>), RouteError> {
    let mut inners = Vec::new();
    for child in children {
        let members: Vec<u32> =
            eligible.iter().copied().filter(|index| child.range.contains(index)).collect();
        if !members.is_empty() {
            inners.push(child.order(cx, columns, &members, gates)?);
        }
    }
    let stands = |index: &u32| {
        !children.iter().any(|child| child.range.contains(index))
            || inners.iter().any(|inner| inner.picks.first().is_some_and(|pick| pick.candidate == *index))
    };
    Ok((eligible.iter().copied().filter(stands).collect(), inners))
}

/// Puts the whole order of a combo behind the candidate that stands for it.
pub(crate) fn expanded(picks: &mut Vec<Pick>, inners: &[Inner<'_>]) {
    let mut all = Vec::with_capacity(picks.len());
    for pick in picks.drain(..) {
        all.push(pick);
        let inner = inners.iter().find(|inner| inner.picks[0].candidate == pick.candidate);
        all.extend(inner.iter().flat_map(|inner| &inner.picks[1..]));
    }
    *picks = all;
}

/// Who stands behind a candidate that stands for a combo.
pub(crate) fn behind(inners: &[Inner<'_>], candidate: u32) -> Option<(u32, Vec<u32>)> {
    let inner = inners.iter().find(|inner| inner.picks[0].candidate == candidate)?;
    Some((candidate, inner.picks[1..].iter().map(|pick| pick.candidate).collect()))
}

/// A number for a set of candidates in which a combo counts as the same, whoever stands for it.
pub(crate) fn set(pool: &Pool, eligible: &[u32], children: &[Child]) -> u64 {
    let named = |index: &u32| {
        children.iter().find(|child| child.range.contains(index)).map_or(*index, |child| child.range.start)
    };
    set_of(pool, eligible.iter().map(named))
}

impl Child {
    fn cx<'c>(&self, cx: &RouteContext<'c>, ticket: u64) -> RouteContext<'c> {
        // Draws of its own: those of the combo around it would always fall the same way.
        let seed = hash(cx.seed, &[u64::from(self.range.start), 1]);
        RouteContext { seed, ticket, ..*cx }
    }

    fn ticket(&self, members: &[u32], real: bool) -> u64 {
        let by_set = self.strategy.traits().by_set;
        let set = by_set.then(|| set(&self.pool, members, &self.children));
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner).take(set, real)
    }

    fn order(
        &self,
        cx: &RouteContext<'_>,
        columns: &Columns,
        eligible: &[u32],
        gates: &Gates,
    ) -> Result<Inner<'_>, RouteError> {
        let (members, inside) = narrowed(&self.children, &self.cx(cx, 0), columns, eligible, gates)?;
        let cx = self.cx(cx, self.ticket(&members, false));
        let candidates = Candidates::new(&self.pool, columns, &members);
        let mut sequence = match self.strategy.plan(&cx, &candidates)? {
            Plan::Sequence(sequence) => sequence,
            // Loading refuses these; a strategy of the host's own may still make one.
            _ => Sequence::new(Vec::new(), 0),
        };
        sequence.picks.retain(|pick| members.contains(&pick.candidate));
        if let Some(accounts) = &self.accounts {
            inside_steps(&cx, &candidates, &**accounts, &mut sequence)?;
        }
        layers::apply(&cx, &candidates, self.strategy.traits(), &self.last_good, gates, &mut sequence);
        self.strategy.settled(&cx, &candidates, &mut sequence);
        let mut picks = sequence.picks.clone();
        if picks.is_empty() {
            let why = omniroute_core::route::Why::strategy(omniroute_core::route::Reason::Rank);
            picks = members.iter().map(|index| Pick::new(*index, why)).collect();
        }
        expanded(&mut picks, &inside);
        Ok(Inner { child: self, members, inside, sequence, picks })
    }

    /// An attempt at one of its candidates has ended.
    pub(crate) fn observe(&self, candidate: u32, session: Option<&SessionId>, outcome: &Outcome) {
        if !self.range.contains(&candidate) {
            return;
        }
        self.last_good.observe(session, outcome);
        match session {
            Some(session) => self.strategy.observe_in(session, outcome),
            None => self.strategy.observe(outcome),
        }
        if let Some(accounts) = &self.accounts {
            accounts.observe(outcome);
        }
        self.children.iter().for_each(|child| child.observe(candidate, session, outcome));
    }

    pub(crate) fn feedback(&self, feedback: &Feedback) {
        let mut entries = self.pool.entries().iter().zip(0_u32..);
        if entries.any(|(entry, at)| self.range.contains(&at) && entry.target == feedback.target) {
            self.strategy.feedback(feedback);
            self.children.iter().for_each(|child| child.feedback(feedback));
        }
    }

    /// Its strategy and those inside it, each after the one around it.
    fn strategies<'a>(&'a self, out: &mut Vec<&'a Arc<dyn RoutingStrategy>>) {
        out.push(&self.strategy);
        self.children.iter().for_each(|child| child.strategies(out));
    }
}

impl Inner<'_> {
    /// The plan around it will be used. Only whoever stands first takes a turn; else turns of two levels would keep step
    /// and somebody would never have one.
    pub(crate) fn planned(&self, cx: &RouteContext<'_>, columns: &Columns, first: u32) {
        if self.picks[0].candidate != first {
            return;
        }
        let cx = self.child.cx(cx, self.child.ticket(&self.members, true));
        let candidates = Candidates::new(&self.child.pool, columns, &self.members);
        self.child.strategy.planned(&cx, &candidates, &Plan::Sequence(self.sequence.clone()));
        self.inside.iter().for_each(|inner| inner.planned(&cx, columns, first));
    }
}

/// What a strategy and those inside it have learned: the state alone if there is nobody inside.
pub(crate) fn save(outer: &Arc<dyn RoutingStrategy>, children: &[Child]) -> Option<Vec<u8>> {
    if children.is_empty() {
        return outer.save();
    }
    let states: Vec<Option<Vec<u8>>> = all(outer, children).iter().map(|strategy| strategy.save()).collect();
    states.iter().any(Option::is_some).then(|| serde_json::to_vec(&states).unwrap_or_default())
}

/// Takes back what [`save`] gave.
///
/// # Errors
/// If it cannot be read, or belongs to another number of combos.
pub(crate) fn load(
    outer: &Arc<dyn RoutingStrategy>,
    children: &[Child],
    state: &[u8],
) -> Result<(), StateError> {
    if children.is_empty() {
        return outer.load(state);
    }
    let states: Vec<Option<Vec<u8>>> =
        serde_json::from_slice(state).map_err(|error| StateError::Corrupt(error.to_string()))?;
    let strategies = all(outer, children);
    if states.len() != strategies.len() {
        let message = format!("{} states for {} combos", states.len(), strategies.len());
        return Err(StateError::Corrupt(message));
    }
    for (strategy, state) in strategies.iter().zip(&states) {
        state.as_deref().map_or(Ok(()), |state| strategy.load(state))?;
    }
    Ok(())
}

fn all<'a>(outer: &'a Arc<dyn RoutingStrategy>, children: &'a [Child]) -> Vec<&'a Arc<dyn RoutingStrategy>> {
    let mut all = vec![outer];
    children.iter().for_each(|child| child.strategies(&mut all));
    all
}
