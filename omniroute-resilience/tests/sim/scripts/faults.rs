//! What goes wrong in each script, and under which load.

use omniroute_resilience::{Class, Span as Length};

use crate::sim::dice::Dice;
use crate::sim::plan::{Event, Plan, Routing};
use crate::sim::world::{Trouble, World};

/// Longer than any run.
pub(crate) const EVER: i64 = 400 * 86_400_000;

pub(crate) const fn s(seconds: i64) -> i64 {
    seconds * 1_000
}

pub(crate) fn healthy(_: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 12_000;
}

pub(crate) fn down(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour) = (1_500, 16_000);
    world.vendor_trouble(0, (s(120), s(720)), Trouble::Down);
}

pub(crate) fn sheds(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 12_000;
    let phase = dice.between(0, 59);
    for minute in 1..15 {
        let from = s(minute * 60 + phase);
        world.vendor_trouble(0, (from, from + s(5)), Trouble::Down);
    }
}

pub(crate) fn throttled(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour) = (3_000, 9_000);
    world.classes[0] = Class::ApiKey;
    world.trouble(0, (s(60), EVER), Trouble::Throttled { says: false });
}

pub(crate) fn quotas(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour) = (14_400, 1_500);
    for account in 0..world.accounts.len() {
        let from = dice.between(s(60), s(7_200));
        let until = from + dice.between(s(600), s(10_800));
        world.trouble(account, (from, until), Trouble::Exhausted { until: Some(until) });
    }
}

pub(crate) fn week(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.only_first) = (7_200, 1_500, 50_000);
    world.trouble(0, (s(60), s(1_260)), Trouble::Exhausted { until: Some(s(60 + 7 * 86_400)) });
}

pub(crate) fn stampede(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.client_waits) = (300, 9_000, 200);
    plan.patience = (s(60), s(120));
    plan.routing = Routing::TwoChoices;
    plan.crowd = Some((s(165), 10_000));
    world.vendor_trouble(0, (s(60), s(180)), Trouble::Down);
}

pub(crate) fn flaps(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 10_000;
    world.all_trouble((s(30), EVER), Trouble::Flaps(300_000));
}

pub(crate) fn unplugged(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.measure_from) = (420, 20_000, 180);
    world.all_trouble((s(120), s(180)), Trouble::Unplugged);
}

pub(crate) fn silent(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.readiness) = (1_800, 12_000, s(20));
    plan.patience = (s(60), s(120));
    world.vendor_trouble(0, (s(120), s(1_020)), Trouble::Silent);
}

pub(crate) fn models(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour) = (3_600, 18_000);
    for vendor in 0..2 {
        let status = dice.pick(&[404, 403, 402]);
        let model = dice.below(3);
        world.vendor_trouble(vendor, (s(60), EVER), Trouble::Model { model, status });
    }
}

pub(crate) fn bans(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
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

pub(crate) fn capped(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    for account in &mut world.accounts {
        account.cap = usize::try_from(dice.between(1, 3)).ok();
    }
    let slots: usize = world.accounts.iter().filter_map(|account| account.cap).sum();
    // Six tenths of what the slots can do, at about 5.3 s for an answer.
    plan.per_hour = slots as u64 * 3_600 * 10 / 53 * 6 / 10;
    (plan.streams, plan.tell_caps, plan.others) = (0, true, 0);
    plan.bursts = (1..7).map(|at| (at * 120, at * 120 + 10, 5)).collect();
}

pub(crate) fn frozen_store(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.per_hour, plan.prompt) = (12_000, Some(60));
    some_bans(world, dice, 5);
    world.vendor_trouble(0, (s(200), s(400)), Trouble::Down);
    plan.events = vec![(s(300), Event::Freeze), (s(330), Event::Wipe), (s(330), Event::Thaw)];
}

pub(crate) fn kills(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.per_hour = 12_000;
    some_bans(world, dice, 5);
    some_leases(plan, 4);
    // Slots of the dead must come back.
    plan.tell_caps = true;
    world.accounts.iter_mut().for_each(|account| account.cap = Some(8));
    plan.events = (6..180).map(|at| (s(at * 5), Event::Kill(1 + dice.below(8)))).collect();
}

pub(crate) fn jumps(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
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

pub(crate) fn leases(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.others) = (1_800, 1, 0);
    some_leases(plan, 20);
    plan.client_waits = 3;
    for _ in 0..6 {
        let from = s(dice.between(60, 1_500));
        let until = from + s(dice.between(20, 120));
        world.trouble(dice.below(8), (from, until), Trouble::Throttled { says: true });
    }
}

pub(crate) fn noisy(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    world.accounts[0].cap = Some(4);
    (plan.consumers, plan.noise, plan.tell_caps, plan.streams) = (20, 100, true, 0);
    (plan.seconds, plan.per_hour, plan.others, plan.longest) = (1_800, 8_000, 0, 2_000);
    plan.patience = (s(60), s(120));
    // With the default of 20 places the noisy one takes them all, and the others are refused, not unfairly served.
    plan.config.slots.queue_size = 1_000;
}

pub(crate) fn pinned(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.per_hour, plan.sessions) = (24_000, 600);
    plan.config.affinity.ttl = Length::minutes(30);
    some_bans(world, dice, 3);
}

pub(crate) fn quoted(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    plan.per_hour = 12_000;
    (plan.consumers, plan.noise, plan.hostile) = (2, 9, true);
    world.all_trouble((0, EVER), Trouble::Echo(900_000));
}

pub(crate) fn rolling(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    (plan.per_hour, plan.mixed) = (12_000, true);
    some_bans(world, dice, 5);
    some_leases(plan, 4);
    world.vendor_trouble(0, (s(200), s(400)), Trouble::Down);
    plan.events =
        (0..8).map(|host| (s(120 + 60 * i64::from(host)), Event::Kill(host as usize + 1))).collect();
}

pub(crate) fn fuzz(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
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
    random_load(world, plan, dice);
    for _ in 0..dice.below(30) {
        random_trouble(world, dice);
    }
    for _ in 0..dice.below(8) {
        random_event(plan, dice);
    }
}

fn random_load(world: &mut World, plan: &mut Plan, dice: &mut Dice) {
    plan.mixed = dice.chance(200_000);
    if dice.chance(300_000) {
        plan.tell_caps = dice.chance(700_000);
        world.accounts.iter_mut().for_each(|account| account.cap = Some(1 + dice.below(8)));
    }
    if dice.chance(300_000) {
        plan.sessions = 10 + dice.below(500);
        plan.config.affinity.ttl = Length::minutes(dice.pick(&[1, 5, 30]));
    }
    if dice.chance(200_000) {
        (plan.consumers, plan.noise, plan.hostile) = (2 + dice.below(5), 1 + dice.below(20), true);
        world.all_trouble((0, EVER), Trouble::Echo(dice.below(900_000)));
    }
    if dice.chance(200_000) {
        some_leases(plan, 1 + dice.below(world.accounts.len().min(12)));
    }
}

fn random_event(plan: &mut Plan, dice: &mut Dice) {
    let at = s(dice.between(10, 600));
    let event = match dice.below(4) {
        0 => Event::Kill(1 + dice.below(plan.hosts)),
        1 => Event::Slow(dice.between(0, 40)),
        2 => {
            let host = dice.chance(300_000).then(|| dice.below(plan.hosts + 1));
            Event::Jump(host, dice.between(-3_600_000, 3_600_000))
        }
        _ => {
            let back = at + s(dice.between(1, 60));
            // Fences cannot go on where nothing is remembered.
            if plan.owners == 0 && dice.chance(300_000) {
                plan.events.push((back, Event::Wipe));
            }
            plan.events.push((back, Event::Thaw));
            Event::Freeze
        }
    };
    plan.events.push((at, event));
}

/// Owners of leases among the others.
fn some_leases(plan: &mut Plan, owners: usize) {
    plan.owners = owners;
    plan.config.lease.enabled = true;
}

pub(crate) fn random_trouble(world: &mut World, dice: &mut Dice) {
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

/// Several processes read, think and write at the same time when the outage ends.
pub(crate) fn slow_recovery(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour, plan.client_waits) = (240, 4_000, 20);
    plan.patience = (s(60), s(120));
    plan.crowd = Some((s(110), 200));
    plan.events = vec![(s(1), Event::Slow(20))];
    world.vendor_trouble(0, (s(30), s(120)), Trouble::Down);
}

/// Many calls are under way when the first one is throttled: the answers name about the same date again and again.
pub(crate) fn crowded(world: &mut World, plan: &mut Plan, _: &mut Dice) {
    (plan.seconds, plan.per_hour) = (300, 20_000);
    world.classes[0] = Class::ApiKey;
    for minute in 0..5 {
        let from = s(20 + minute * 60);
        world.vendor_trouble(0, (from, from + s(25)), Trouble::Throttled { says: true });
    }
}

pub(crate) fn some_bans(world: &mut World, dice: &mut Dice, many: usize) {
    let mut accounts: Vec<usize> = (0..world.accounts.len()).collect();
    dice.shuffle(&mut accounts);
    for account in accounts.into_iter().take(many) {
        world.trouble(account, (dice.between(s(20), s(250)), EVER), Trouble::Banned);
    }
}
