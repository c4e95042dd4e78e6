//! The fault scripts S-01 to S-22: what goes wrong, and which figures and extra requirements belong to it.
//!
//! Where figures and invariants of one script contradict each other (S-06, S-07, S-13) the invariant is kept and
//! the figure only printed.

mod faults;
mod wants;

use crate::sim::dice::Dice;
use crate::sim::plan::{Figures, Plan, Script};
use crate::sim::scripts::faults::*;
use crate::sim::scripts::wants::*;
use crate::sim::world::World;

/// All scripts: what goes wrong, under how many accounts, vendors and processes; the least median and worst goodput
/// and the highest waste, in millionths; who builds it, and what it asks for beyond figures.
#[rustfmt::skip]
pub(crate) const SCRIPTS: [Script; 22] = [
    script("S-01", "no faults", (100, 10, 4), figures(999_000, 995_000, 1_000), healthy, untouched),
    script("S-02", "one vendor down for 10 min", (100, 10, 4), figures(995_000, 990_000, 5_000), down, back_in_use),
    script("S-03", "sheds 5 s every minute", (40, 4, 4), figures(990_000, 980_000, 20_000), sheds, seldom_open),
    script("S-04", "one account throttled for ever", (50, 1, 4), figures(998_000, 0, 5_000), throttled, left_alone),
    script("S-05", "5 h quotas with correct resets", (30, 3, 4), figures(980_000, 950_000, 10_000), quotas, nothing),
    script("S-06", "declared a week, over in 20 min", (10, 2, 2), printed(), week, verified),
    script("S-07", "10 000 wait for the recovery", (20, 1, 8), printed(), stampede, one_probe),
    script("S-08", "everything flaps, 30 % errors", (60, 6, 4), figures(930_000, 880_000, 400_000), flaps, never_shut),
    script("S-09", "our own network is off for a minute", (60, 6, 2), figures(990_000, 0, 1_000_000), unplugged, no_blame),
    script("S-10", "headers, then silence", (20, 2, 2), figures(980_000, 0, 20_000), silent, opened),
    script("S-11", "a fifth of the models is refused", (40, 4, 4), figures(995_000, 0, 10_000), models, no_account_touched),
    script("S-12", "a wave of bans, and stray refusals", (100, 5, 4), figures(995_000, 0, 5_000), bans, all_bans_found),
    script("S-13", "capped accounts, load times five", (12, 1, 4), printed(), capped, few_refusals),
    script("S-14", "store frozen, then back empty", (60, 6, 8), figures(990_000, 0, 20_000), frozen_store, bans_kept),
    script("S-15", "a process is killed every 5 s", (60, 6, 8), figures(985_000, 0, 10_000), kills, bans_kept),
    script("S-16", "clocks jump by an hour", (40, 4, 2), figures(980_000, 0, 20_000), jumps, nothing),
    script("S-17", "20 owners lease 8 accounts", (8, 2, 8), figures(990_000, 0, 10_000), leases, nothing),
    script("S-18", "one consumer asks 100 times as often", (1, 1, 2), waste_only(10_000), noisy, fair),
    script("S-19", "pinned sessions, 5 % of accounts die", (50, 5, 4), figures(990_000, 0, 7_000), pinned, stays),
    script("S-20", "vendors quote the prompt", (20, 5, 2), figures(999_000, 0, 1_000), quoted, none_terminal),
    script("S-21", "mixed versions, rolling restart", (60, 6, 8), figures(990_000, 0, 10_000), rolling, bans_kept),
    script("S-22", "all of it at random", (60, 6, 4), printed(), fuzz, nothing),
];

/// Why some scripts ask for no goodput, or for less than one might wish.
pub(crate) const REASONS: [(&str, &str); 6] = [
    (
        "S-03",
        "a reset of a minute meets sheds that come every minute: once in a thousand seeds two probes in a row go out \
         during the next shed, and what they reopen is counted apart from the 15 % that calls may cost",
    ),
    (
        "S-06",
        "a week that the provider declared is tried out after 15 minutes and then once an hour, and only when \
         nothing else could serve: the account is back 75 minutes after it was blocked, not earlier",
    ),
    (
        "S-07",
        "after the outage one probe goes first and the provider is spared for half a minute; a probe that went \
         out a second too early costs a whole reset time, and in such a seed most of the ten thousand run out of time",
    ),
    (
        "S-13",
        "bursts of five times the load meet declared limits: a queue has 20 places, and whoever finds it full is \
         told when to come back instead of being refused by the provider",
    ),
    (
        "S-18",
        "the noisy consumer asks for more than there is: what counts is that the quiet ones get alike, and nine \
         tenths of what they ask for; some of them hang up",
    ),
    ("S-22", "the faults are random: what must hold are the invariants"),
];

/// Loads that the scripts above do not have, for twins that need them: their rules are broken by what is rare.
pub(crate) const EXTRA: [Script; 2] = [
    script("X-01", "a crowd on two accounts that name dates", (2, 1, 2), printed(), crowded, nothing),
    script("X-02", "a crowd at a recovery over a slow store", (6, 1, 4), printed(), slow_recovery, nothing),
];

const fn script(
    id: &'static str,
    title: &'static str,
    size: (usize, usize, usize),
    figures: Figures,
    build: fn(&mut World, &mut Plan, &mut Dice),
    extra: crate::sim::plan::Extra,
) -> Script {
    Script { id, title, size, figures, build, extra }
}

const fn figures(goodput: u64, worst: u64, waste: u64) -> Figures {
    Figures { goodput: Some(goodput), worst: if worst == 0 { None } else { Some(worst) }, waste: Some(waste) }
}

const fn waste_only(waste: u64) -> Figures {
    Figures { goodput: None, worst: None, waste: Some(waste) }
}

const fn printed() -> Figures {
    Figures { goodput: None, worst: None, waste: None }
}
