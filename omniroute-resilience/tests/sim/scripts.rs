//! The fault scripts S-01 to S-22: what goes wrong, and which figures and extra requirements belong to it.
//!
//! Where figures and invariants of one script contradict each other (S-06, S-07, S-13) the invariant is kept and
//! the figure only printed.

use omniroute_resilience::{Class, Span as Length};

use crate::sim::dice::Dice;
use crate::sim::plan::{Event, Figures, Plan, Routing, Script};
use crate::sim::run::Report;
use crate::sim::world::{Trouble, World};

/// All scripts.
pub(crate) const SCRIPTS: [Script; 22] = [
    script("S-01", "no faults", (100, 10, 4), figures(999_000, 995_000, 1_000), healthy, untouched),
    script(
        "S-02",
        "one vendor down for 10 min",
        (100, 10, 4),
        figures(995_000, 990_000, 5_000),
        down,
        back_in_use,
    ),
    script(
        "S-03",
        "sheds 5 s every minute",
        (40, 4, 4),
        figures(990_000, 980_000, 20_000),
        sheds,
        seldom_open,
    ),
    script(
        "S-04",
        "one account throttled for ever",
        (50, 1, 4),
        figures(998_000, 0, 5_000),
        throttled,
        left_alone,
    ),
    script(
        "S-05",
        "5 h quotas with correct resets",
        (30, 3, 4),
        figures(980_000, 950_000, 10_000),
        quotas,
        nothing,
    ),
    script("S-06", "declared a week, over in 20 min", (10, 2, 2), printed(), week, verified),
    script("S-07", "10 000 wait for the recovery", (20, 1, 8), printed(), stampede, one_probe),
    script(
        "S-08",
        "everything flaps, 30 % errors",
        (60, 6, 4),
        figures(930_000, 880_000, 400_000),
        flaps,
        never_shut,
    ),
    script(
        "S-09",
        "our own network is off for a minute",
        (60, 6, 2),
        figures(990_000, 0, 1_000_000),
        unplugged,
        no_blame,
    ),
    script("S-10", "headers, then silence", (20, 2, 2), figures(980_000, 0, 20_000), silent, opened),
    script(
        "S-11",
        "a fifth of the models is refused",
        (40, 4, 4),
        figures(995_000, 0, 10_000),
        models,
        no_account_touched,
    ),
    script(
        "S-12",
        "a wave of bans, and stray refusals",
        (100, 5, 4),
        figures(995_000, 0, 5_000),
        bans,
        all_bans_found,
    ),
    script("S-13", "capped accounts, load times five", (12, 1, 4), printed(), capped, few_refusals),
    script(
        "S-14",
        "store frozen, then back empty",
        (60, 6, 8),
        figures(990_000, 0, 20_000),
        frozen_store,
        bans_kept,
    ),
    script(
        "S-15",
        "a process is killed every 5 s",
        (60, 6, 8),
        figures(985_000, 0, 10_000),
        kills,
        bans_kept,
    ),
    script("S-16", "clocks jump by an hour", (40, 4, 2), figures(980_000, 0, 20_000), jumps, nothing),
    script("S-17", "20 owners lease 8 accounts", (8, 2, 8), figures(990_000, 0, 10_000), leases, nothing),
    script("S-18", "one consumer asks 100 times as often", (1, 1, 2), waste_only(10_000), noisy, fair),
    script(
        "S-19",
        "pinned sessions, 5 % of accounts die",
        (50, 5, 4),
        figures(990_000, 0, 7_000),
        pinned,
        stays,
    ),
    script("S-20", "vendors quote the prompt", (20, 5, 2), figures(999_000, 0, 1_000), quoted, none_terminal),
    script(
        "S-21",
        "mixed versions, rolling restart",
        (60, 6, 8),
        figures(990_000, 0, 10_000),
        rolling,
        bans_kept,
    ),
    script("S-22", "all of it at random", (60, 6, 4), printed(), fuzz, nothing),
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

/// Longer than any run.
const EVER: i64 = 400 * 86_400_000;

const fn s(seconds: i64) -> i64 {
    seconds * 1_000
}

fn healthy(_: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 12_000;
}

fn down(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour) = (1_500, 16_000);
    world.vendor_trouble(0, (s(120), s(720)), Trouble::Down);
}

fn sheds(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 12_000;
    let phase = dice.between(0, 59);
    for minute in 1..15 {
        let from = s(minute * 60 + phase);
        world.vendor_trouble(0, (from, from + s(5)), Trouble::Down);
    }
}

fn throttled(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour) = (3_000, 9_000);
    world.classes[0] = Class::ApiKey;
    world.trouble(0, (s(60), EVER), Trouble::Throttled { says: false });
}

fn quotas(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour) = (14_400, 1_500);
    for account in 0..world.accounts.len() {
        let from = dice.between(s(60), s(7_200));
        let until = from + dice.between(s(600), s(10_800));
        world.trouble(account, (from, until), Trouble::Exhausted { until: Some(until) });
    }
}

fn week(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.only_first) = (7_200, 1_500, 50_000);
    world.trouble(0, (s(60), s(1_260)), Trouble::Exhausted { until: Some(s(60 + 7 * 86_400)) });
}

fn stampede(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.client_waits) = (300, 9_000, 200);
    plan.patience = (s(60), s(120));
    plan.routing = Routing::TwoChoices;
    plan.crowd = Some((s(165), 10_000));
    world.vendor_trouble(0, (s(60), s(180)), Trouble::Down);
}

fn flaps(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 10_000;
    world.all_trouble((s(30), EVER), Trouble::Flaps(300_000));
}

fn unplugged(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.measure_from) = (420, 20_000, 180);
    world.all_trouble((s(120), s(180)), Trouble::Unplugged);
}

fn silent(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.readiness) = (1_800, 12_000, s(20));
    plan.patience = (s(60), s(120));
    world.vendor_trouble(0, (s(120), s(1_020)), Trouble::Silent);
}

fn models(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour) = (3_600, 18_000);
    for vendor in 0..2 {
        let status = dice.pick(&[404, 403, 402]);
        let model = dice.below(3);
        world.vendor_trouble(vendor, (s(60), EVER), Trouble::Model { model, status });
    }
}

fn bans(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 24_000;
    let mut accounts: Vec<usize> = (0..world.accounts.len()).collect();
    dice.shuffle(&mut accounts);
    let tenth = accounts.len() / 10;
    for account in accounts.iter().take(tenth) {
        world.trouble(*account, (dice.between(s(30), s(600)), EVER), Trouble::Banned);
    }
    for account in accounts.iter().skip(tenth).take(tenth) {
        world.trouble(*account, (dice.between(s(30), s(600)), EVER), Trouble::Stray);
    }
}

fn capped(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    for account in &mut world.accounts {
        account.cap = usize::try_from(dice.between(1, 3)).ok();
    }
    let slots: usize = world.accounts.iter().filter_map(|account| account.cap).sum();
    // Six tenths of what the slots can do, at about 5.3 s for an answer.
    plan.per_hour = slots as u64 * 3_600 * 10 / 53 * 6 / 10;
    (plan.streams, plan.tell_caps, plan.others) = (0, true, 0);
    plan.bursts = (1..7).map(|at| (at * 120, at * 120 + 10, 5)).collect();
}

fn frozen_store(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 12_000;
    some_bans(world, dice, 5);
    world.vendor_trouble(0, (s(200), s(400)), Trouble::Down);
    plan.events = vec![(s(300), Event::Freeze), (s(330), Event::Wipe), (s(330), Event::Thaw)];
}

fn kills(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 12_000;
    some_bans(world, dice, 5);
    plan.events = (6..180).map(|at| (s(at * 5), Event::Kill(1 + dice.below(8)))).collect();
}

fn jumps(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour) = (3_600, 5_000);
    some_bans(world, dice, 2);
    world.vendor_trouble(0, (s(1_100), s(1_300)), Trouble::Down);
    world.trouble(1, (s(100), s(3_000)), Trouble::Throttled { says: false });
    for at in 1..6 {
        let by = if dice.chance(500_000) { 3_600_000 } else { -3_600_000 };
        let host = if dice.chance(500_000) { None } else { Some(dice.below(3)) };
        plan.events.push((s(at * 600), Event::Jump(host, by)));
    }
    plan.events.push((s(dice.between(1_900, 2_300)), Event::Jump(None, 8 * 3_600_000)));
}

fn leases(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.owners, plan.others) = (1_800, 1, 20, 0);
    plan.config.lease.enabled = true;
    plan.client_waits = 3;
    for _ in 0..6 {
        let from = s(dice.between(60, 1_500));
        let until = from + s(dice.between(20, 120));
        world.trouble(dice.below(8), (from, until), Trouble::Throttled { says: true });
    }
}

fn noisy(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    world.accounts[0].cap = Some(4);
    (plan.consumers, plan.noise, plan.tell_caps, plan.streams) = (20, 100, true, 0);
    (plan.seconds, plan.per_hour, plan.others, plan.longest) = (1_800, 8_000, 0, 2_000);
    plan.patience = (s(60), s(120));
    // With the default of 20 places the noisy one takes them all, and the others are refused, not unfairly served.
    plan.config.slots.queue_size = 1_000;
}

fn pinned(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.per_hour, plan.sessions) = (24_000, 600);
    plan.config.affinity.ttl = Length::minutes(30);
    some_bans(world, dice, 2);
}

fn quoted(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 12_000;
    (plan.consumers, plan.noise, plan.hostile) = (2, 9, true);
    world.all_trouble((0, EVER), Trouble::Echo(900_000));
}

fn rolling(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.per_hour, plan.mixed) = (12_000, true);
    some_bans(world, dice, 5);
    world.vendor_trouble(0, (s(200), s(400)), Trouble::Down);
    plan.events =
        (0..8).map(|host| (s(120 + 60 * i64::from(host)), Event::Kill(host as usize + 1))).collect();
}

fn fuzz(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    let vendors = 1 + dice.below(20);
    let accounts = (1 + dice.below(200)).max(vendors);
    *world = World::new(accounts, crate::sim::run::classes(vendors, dice), 3);
    for class in &mut world.classes {
        if dice.chance(200_000) {
            *class = dice.pick(&Class::ALL);
        }
    }
    plan.hosts = 1 + dice.below(8);
    plan.routing = dice.pick(&[Routing::Priority, Routing::RoundRobin, Routing::TwoChoices]);
    (plan.seconds, plan.per_hour) = (600, 1_000 + dice.below(9_000) as u64);
    plan.client_waits = u32::try_from(dice.below(4)).unwrap_or(0);
    plan.readiness = s(dice.between(5, 80));
    plan.offer = 1 + dice.below(40);
    for _ in 0..dice.below(30) {
        random_trouble(world, dice);
    }
    for _ in 0..dice.below(8) {
        let at = s(dice.between(10, 600));
        let event = match dice.below(4) {
            0 => Event::Kill(1 + dice.below(plan.hosts)),
            1 => Event::Slow(dice.between(0, 40)),
            2 => Event::Jump(None, dice.between(-3_600_000, 3_600_000)),
            _ => {
                plan.events.push((at + s(dice.between(1, 60)), Event::Thaw));
                Event::Freeze
            }
        };
        plan.events.push((at, event));
    }
}

fn random_trouble(world: &mut World, dice: &mut Dice) {
    let from = s(dice.between(0, 500));
    let until = from + s(dice.between(1, 400));
    let account = dice.below(world.accounts.len());
    let vendor = dice.below(world.classes.len());
    match dice.below(10) {
        0 => world.vendor_trouble(vendor, (from, until), Trouble::Down),
        1 => world.vendor_trouble(vendor, (from, until), Trouble::Silent),
        2 => world.all_trouble((from, until.min(from + s(60))), Trouble::Unplugged),
        3 => world.trouble(account, (from, until), Trouble::Throttled { says: dice.chance(500_000) }),
        4 => {
            let says = dice.chance(700_000).then(|| until + dice.between(-60_000, 600_000));
            world.trouble(account, (from, until), Trouble::Exhausted { until: says });
        }
        5 => world.trouble(account, (from, EVER), Trouble::Banned),
        6 => world.trouble(account, (from, EVER), Trouble::Stray),
        7 => {
            let status = dice.pick(&[404, 403, 402]);
            world.vendor_trouble(vendor, (from, until), Trouble::Model { model: dice.below(3), status });
        }
        8 => world.vendor_trouble(vendor, (from, until), Trouble::Flaps(dice.below(800_000))),
        _ => world.trouble(account, (from, until), Trouble::Flaps(dice.below(1_000_000))),
    }
}

fn some_bans(world: &mut World, dice: &mut Dice, many: usize) {
    let mut accounts: Vec<usize> = (0..world.accounts.len()).collect();
    dice.shuffle(&mut accounts);
    for account in accounts.into_iter().take(many) {
        world.trouble(account, (dice.between(s(20), s(250)), EVER), Trouble::Banned);
    }
}

// What must hold beyond figures.

fn nothing(_: &World, _: &Plan, _: &Report) -> Option<String> {
    None
}

fn untouched(_: &World, _: &Plan, report: &Report) -> Option<String> {
    let (changes, commits) = (report.counts.changes, report.layer_commits);
    (changes > 0 || commits > 0).then(|| format!("{changes} changes, {commits} commits without a fault"))
}

fn vendor_times(world: &World, vendor: usize, served: bool) -> Vec<i64> {
    let of = world.accounts.iter().filter(|account| account.vendor == vendor);
    let mut all: Vec<i64> =
        of.flat_map(|a| if served { a.served.clone() } else { a.calls.clone() }).collect();
    all.sort_unstable();
    all
}

fn back_in_use(world: &World, plan: &Plan, report: &Report) -> Option<String> {
    let (from, to) = (s(120), s(720));
    let class = plan.config.classes.of(world.classes[0]);
    let longest = i64::try_from(class.reset.as_ms()).unwrap_or(0) * i64::from(class.max_multiplier) * 11 / 10;
    let calls = vendor_times(world, 0, false).into_iter().filter(|at| from <= *at && *at < to).count() as u64;
    // The failures that open it, one call of each process that is under way, the probes.
    let allowed = u64::from(class.opens_at) + plan.hosts as u64 * 2 + report.counts.probes;
    if calls > allowed {
        return Some(format!("{calls} calls while it was down, {allowed} allowed"));
    }
    let back = vendor_times(world, 0, true).into_iter().find(|at| *at >= to);
    match back {
        Some(at) if at - to <= longest + s(35) => None,
        Some(at) => Some(format!("back after {} ms", at - to)),
        None => Some("never back".to_owned()),
    }
}

fn seldom_open(_: &World, plan: &Plan, report: &Report) -> Option<String> {
    let open = report.open_ms;
    (open * 100 > s(plan.seconds) * 15).then(|| format!("open for {open} ms"))
}

fn left_alone(world: &World, _: &Plan, report: &Report) -> Option<String> {
    let late: Vec<i64> = world.accounts[0].calls.iter().copied().filter(|at| *at > s(900)).collect();
    let close = late.windows(2).find(|pair| pair[1] - pair[0] < s(96));
    if let Some(pair) = close {
        return Some(format!("calls at {} and {} ms", pair[0], pair[1]));
    }
    let others: Vec<usize> = report.punished.iter().copied().filter(|account| *account != 0).collect();
    (!others.is_empty()).then(|| format!("accounts {others:?} were punished too"))
}

fn verified(world: &World, _: &Plan, _: &Report) -> Option<String> {
    // 65 min cannot be had with a first look after 15 min and one an hour from then on: 75 min and a request.
    let back = world.accounts[0].served.iter().find(|at| **at >= s(1_260));
    match back {
        Some(at) if *at <= s(60 + 80 * 60) => None,
        Some(at) => Some(format!("back after {} min", (at - s(60)) / 60_000)),
        None => Some("never back".to_owned()),
    }
}

fn one_probe(world: &World, _: &Plan, report: &Report) -> Option<String> {
    if report.counts.probes == 0 {
        return Some("no probe at all".to_owned());
    }
    vendor_times(world, 0, true).into_iter().all(|at| at < s(180)).then(|| "never back".to_owned())
}

fn never_shut(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.longest_shut > 2_000).then(|| format!("nothing eligible for {} ms", report.longest_shut))
}

fn no_blame(_: &World, plan: &Plan, report: &Report) -> Option<String> {
    // A process needs failures of three vendors before it suspects its own network: the first two still count.
    let (opened, punished) = (report.counts.opened, report.punished.len());
    (opened > 0 || punished > 2 * plan.hosts)
        .then(|| format!("{opened} breakers opened, {punished} accounts rested"))
}

fn opened(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.counts.opened == 0).then(|| "the breaker never opened".to_owned())
}

fn no_account_touched(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (!report.punished.is_empty()).then(|| format!("accounts {:?} were punished", report.punished))
}

fn banned(world: &World) -> Vec<usize> {
    let has = |account: usize| world.accounts[account].troubles.iter().any(|(_, t)| *t == Trouble::Banned);
    (0..world.accounts.len()).filter(|account| has(*account)).collect()
}

fn all_bans_found(world: &World, _: &Plan, report: &Report) -> Option<String> {
    let banned = banned(world);
    (report.ended != banned).then(|| format!("ended are {:?}, banned {banned:?}", report.ended))
}

fn bans_kept(world: &World, plan: &Plan, report: &Report) -> Option<String> {
    if let Some(missed) = all_bans_found(world, plan, report) {
        return Some(missed);
    }
    // Every process may have one call under way.
    let limit = plan.hosts + 1;
    let often = banned(world).into_iter().find(|account| {
        let from = world.accounts[*account]
            .troubles
            .iter()
            .find(|(_, t)| *t == Trouble::Banned)
            .map_or(0, |t| t.0.0);
        world.accounts[*account].calls.iter().filter(|at| **at >= from).count() > limit
    });
    often.map(|account| format!("banned account {account} was called more than {limit} times"))
}

fn few_refusals(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.waste() > 5_000)
        .then(|| format!("{} refusals in a million calls with declared caps", report.waste()))
}

fn fair(_: &World, plan: &Plan, report: &Report) -> Option<String> {
    let mut served = vec![0_u64; plan.consumers];
    let mut asked = vec![0_u64; plan.consumers];
    for done in &report.done {
        asked[done.consumer] += 1;
        served[done.consumer] += u64::from(done.answered);
    }
    // All but the noisy one ask for less than their share: they get it, and all alike.
    let quiet = 1..plan.consumers;
    let (got, wanted): (u64, u64) = (served[1..].iter().sum(), asked[1..].iter().sum());
    let shares: Vec<u128> =
        quiet.filter(|c| asked[*c] > 0).map(|c| u128::from(served[c] * 1_000 / asked[c])).collect();
    let (sum, squares) =
        (shares.iter().sum::<u128>(), shares.iter().map(|share| share * share).sum::<u128>());
    let jain = sum * sum * 1_000 / (squares * shares.len() as u128).max(1);
    (got * 100 < wanted * 98 || jain < 980)
        .then(|| format!("quiet consumers got {got} of {wanted}, Jain 0.{jain:03}"))
}

fn stays(world: &World, _: &Plan, report: &Report) -> Option<String> {
    let mut last = std::collections::HashMap::new();
    let (mut turns, mut kept) = (0_u64, 0_u64);
    let mut done = report.done.clone();
    done.sort_by_key(|done| done.arrives);
    for done in &done {
        let (Some(session), Some(account)) = (done.session, done.account) else { continue };
        if let Some(before) = last.insert(session, account)
            && world.serves(before, 0, done.arrives)
        {
            turns += 1;
            kept += u64::from(before == account);
        }
    }
    (kept * 100 < turns * 97).then(|| format!("{kept} of {turns} turns stayed"))
}

fn none_terminal(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (!report.ended.is_empty()).then(|| format!("accounts {:?} ended", report.ended))
}
