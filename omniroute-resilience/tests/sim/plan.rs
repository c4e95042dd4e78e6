//! What one run is made of: the load, and what is done to vendors, store, clocks and processes when.

use omniroute_resilience::Config;

use crate::sim::dice::Dice;
use crate::sim::world::World;

/// How the router in front orders accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Routing {
    /// Always the same order.
    Priority,
    /// One after the other.
    RoundRobin,
    /// Of two at random the less busy one first.
    TwoChoices,
}

/// Something that happens to the infrastructure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The store stops answering.
    Freeze,
    /// It answers again.
    Thaw,
    /// It comes back empty.
    Wipe,
    /// Every call of it takes this long, ms.
    Slow(i64),
    /// A process dies without a word; a new one takes its place.
    Kill(usize),
    /// A wall clock moves by ms; host 0 is the store's, none is every clock.
    Jump(Option<usize>, i64),
}

/// The figures that a script asks for, in millionths; none: no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    /// Median goodput, at least.
    pub(crate) goodput: Option<u64>,
    /// Goodput of the worst seed, at least.
    pub(crate) worst: Option<u64>,
    /// Median waste, at most.
    pub(crate) waste: Option<u64>,
}

/// What several runs of one script have in common, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// Median goodput.
    pub(crate) goodput: u64,
    /// The lowest goodput, and its seed.
    pub(crate) worst: (u64, u64),
    /// Median waste.
    pub(crate) waste: u64,
}

impl Summary {
    /// Of runs: seed, goodput, waste.
    pub(crate) fn of(runs: &[(u64, u64, u64)]) -> Summary {
        let mut goods: Vec<(u64, u64)> = runs.iter().map(|(seed, good, _)| (*good, *seed)).collect();
        let mut wastes: Vec<u64> = runs.iter().map(|(.., waste)| *waste).collect();
        goods.sort_unstable();
        wastes.sort_unstable();
        Summary {
            goodput: goods.get(goods.len() / 2).map_or(0, |(good, _)| *good),
            worst: goods.first().copied().unwrap_or_default(),
            waste: wastes.get(wastes.len() / 2).copied().unwrap_or(0),
        }
    }

    /// The figures that were asked for and not met.
    pub(crate) fn missed(&self, figures: &Figures) -> Vec<String> {
        let (worst, seed) = self.worst;
        let mut missed = Vec::new();
        if figures.goodput.is_some_and(|least| self.goodput < least) {
            missed.push(format!("median goodput {} of a million", self.goodput));
        }
        if figures.worst.is_some_and(|least| worst < least) {
            missed.push(format!("worst goodput {worst} of a million, at seed {seed}"));
        }
        if figures.waste.is_some_and(|most| self.waste > most) {
            missed.push(format!("median waste {} of a million", self.waste));
        }
        missed
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// How long requests arrive, s.
    pub(crate) seconds: i64,
    /// Requests in an hour, on average.
    pub(crate) per_hour: u64,
    /// Times at which more arrive: from, to (s), how many times as many.
    pub(crate) bursts: Vec<(i64, i64, u64)>,
    /// Goodput counts requests from here on, s.
    pub(crate) measure_from: i64,
    /// Processes.
    pub(crate) hosts: usize,
    pub(crate) routing: Routing,
    /// Targets offered to one admission, at most.
    pub(crate) offer: usize,
    /// A client's time, from and to, ms.
    pub(crate) patience: (i64, i64),
    /// The longest time from the first token to the end without streaming, ms.
    pub(crate) longest: i64,
    /// Until the first content must be there, ms.
    pub(crate) readiness: i64,
    /// How often a client comes back after a refusal with a date.
    pub(crate) client_waits: u32,
    /// Streams, in a million.
    pub(crate) streams: usize,
    /// Clients that hang up, in a million.
    pub(crate) cancels: usize,
    /// Probes for health, tests and usage, in a million.
    pub(crate) others: usize,
    /// Requests that want account 0 and no other, in a million.
    pub(crate) only_first: usize,
    /// Sessions that requests belong to; 0: none.
    pub(crate) sessions: usize,
    /// Consumers.
    pub(crate) consumers: usize,
    /// Consumer 0 asks this many times as often as another.
    pub(crate) noise: usize,
    /// Every second consumer's prompts are hostile.
    pub(crate) hostile: bool,
    /// What happens to the infrastructure, ms since the start.
    pub(crate) events: Vec<(i64, Event)>,
    /// A crowd that arrives at once: when (ms) and how many.
    pub(crate) crowd: Option<(i64, u64)>,
    /// Declared limit of calls at once, told to the library.
    pub(crate) tell_caps: bool,
    /// No admission takes longer, ms, whatever the store does: there is always somebody to serve it.
    pub(crate) prompt: Option<i64>,
    /// Owners of exclusive leases; 0: none.
    pub(crate) owners: usize,
    /// A newer version of the library writes more into its records on odd hosts.
    pub(crate) mixed: bool,
    pub(crate) config: Config,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            seconds: 900,
            per_hour: 6_000,
            bursts: Vec::new(),
            measure_from: 0,
            hosts: 4,
            routing: Routing::RoundRobin,
            offer: 24,
            patience: (10_000, 120_000),
            longest: 8_000,
            readiness: 80_000,
            client_waits: 0,
            streams: 300_000,
            cancels: 30_000,
            others: 5_000,
            only_first: 0,
            sessions: 0,
            consumers: 1,
            noise: 1,
            hostile: false,
            events: Vec::new(),
            crowd: None,
            tell_caps: false,
            prompt: None,
            owners: 0,
            mixed: false,
            config: Config::default(),
        }
    }
}

/// What a script asks for beyond figures; true if the run shows it. Gets the run's facts.
pub(crate) type Extra = fn(&World, &Plan, &crate::sim::run::Report) -> Option<String>;

/// One script of the specification.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    /// For instance `S-02`.
    pub(crate) id: &'static str,
    /// In a few words.
    pub(crate) title: &'static str,
    /// Accounts, vendors, processes.
    pub(crate) size: (usize, usize, usize),
    pub(crate) figures: Figures,
    /// Fills in world and plan for a seed.
    pub(crate) build: fn(&mut World, &mut Plan, &mut Dice),
    /// What must hold beyond figures.
    pub(crate) extra: Extra,
}
