//! What a script asks for beyond figures.

use omniroute_resilience::Span;

use crate::sim::plan::Plan;
use crate::sim::run::Report;
use crate::sim::scripts::faults::s;
use crate::sim::world::{Trouble, World};

fn ms(span: Span) -> i64 {
    i64::try_from(span.as_ms()).unwrap_or(i64::MAX)
}

pub(crate) fn nothing(_: &World, _: &Plan, _: &Report) -> Option<String> {
    None
}

pub(crate) fn untouched(_: &World, _: &Plan, report: &Report) -> Option<String> {
    let (changes, commits) = (report.counts.changes, report.layer_commits);
    (changes > 0 || commits > 0).then(|| format!("{changes} changes, {commits} commits without a fault"))
}

pub(crate) fn vendor_times(world: &World, vendor: usize, served: bool) -> Vec<i64> {
    let of = world.accounts.iter().filter(|account| account.vendor == vendor);
    let mut all: Vec<i64> =
        of.flat_map(|a| if served { a.served.clone() } else { a.calls.clone() }).collect();
    all.sort_unstable();
    all
}

pub(crate) fn back_in_use(world: &World, plan: &Plan, report: &Report) -> Option<String> {
    let (from, to) = (s(120), s(720));
    let class = plan.config.classes.of(world.classes[0]);
    let longest = ms(class.reset) * i64::from(class.max_multiplier) * 11 / 10;
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

/// What calls did is judged. A probe that goes out a minute later and meets the next five seconds says the truth too;
/// that this happens now and then is no fault, that it goes on is one.
pub(crate) fn seldom_open(_: &World, plan: &Plan, report: &Report) -> Option<String> {
    let ((open, again), run) = (report.open_ms, s(plan.seconds));
    (open * 100 > run * 15 || (open + again) * 100 > run * 30)
        .then(|| format!("open for {open} ms, and {again} ms more after probes"))
}

pub(crate) fn left_alone(world: &World, _: &Plan, report: &Report) -> Option<String> {
    let late: Vec<i64> = world.accounts[0].calls.iter().copied().filter(|at| *at > s(900)).collect();
    // Of a client that went away before the answer nobody learned anything.
    let heard = |at: i64| world.accounts[0].heard.contains(&at);
    let close = late.windows(2).find(|pair| pair[1] - pair[0] < s(96) && heard(pair[0]));
    if let Some(pair) = close {
        return Some(format!("calls at {} and {} ms", pair[0], pair[1]));
    }
    let others: Vec<usize> = report.punished.iter().copied().filter(|account| *account != 0).collect();
    (!others.is_empty()).then(|| format!("accounts {others:?} were punished too"))
}

/// Every look is due a while after the one before; the first request behind that which nobody else may serve is the
/// next look. A look whose client goes away early teaches nothing and is one all the same.
pub(crate) fn verified(world: &World, plan: &Plan, report: &Report) -> Option<String> {
    let account = &world.accounts[0];
    let back = |at: i64| at >= s(1_260) && account.heard.contains(&at);
    let mut looks = account.calls.iter().copied().filter(|at| *at >= s(60));
    let mut last = looks.find(|at| account.heard.contains(at))?;
    let mut wait = ms(plan.config.cooldown.verify_after);
    loop {
        // The wait begins anew with the answer, a moment after the call.
        let due = last + wait + s(1);
        let wanted = report.done.iter().filter(|done| done.only == Some(0) && done.arrives >= due);
        let first = wanted.map(|done| done.arrives).min()?;
        match looks.next() {
            Some(look) if look <= first + s(1) && back(look) => return None,
            Some(look) if look <= first + s(1) => last = look,
            other => return Some(format!("due at {due} ms, asked for at {first} ms, called at {other:?}")),
        }
        wait = ms(plan.config.cooldown.verify_every);
    }
}

pub(crate) fn one_probe(world: &World, _: &Plan, report: &Report) -> Option<String> {
    if report.counts.probes == 0 {
        return Some("no probe at all".to_owned());
    }
    vendor_times(world, 0, true).into_iter().all(|at| at < s(180)).then(|| "never back".to_owned())
}

pub(crate) fn never_shut(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.longest_shut > 2_000).then(|| format!("nothing eligible for {} ms", report.longest_shut))
}

pub(crate) fn no_blame(_: &World, _: &Plan, report: &Report) -> Option<String> {
    let (opened, punished) = (report.counts.opened, report.punished.len());
    (opened > 0 || punished > 0).then(|| format!("{opened} breakers opened, {punished} accounts rested"))
}

pub(crate) fn opened(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.counts.opened == 0).then(|| "the breaker never opened".to_owned())
}

pub(crate) fn no_account_touched(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (!report.punished.is_empty()).then(|| format!("accounts {:?} were punished", report.punished))
}

pub(crate) fn banned(world: &World) -> Vec<usize> {
    let has = |account: usize| world.accounts[account].troubles.iter().any(|(_, t)| *t == Trouble::Banned);
    (0..world.accounts.len()).filter(|account| has(*account)).collect()
}

pub(crate) fn all_bans_found(world: &World, _: &Plan, report: &Report) -> Option<String> {
    let banned = banned(world);
    (report.ended != banned).then(|| format!("ended are {:?}, banned {banned:?}", report.ended))
}

pub(crate) fn bans_kept(world: &World, plan: &Plan, report: &Report) -> Option<String> {
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

pub(crate) fn few_refusals(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (report.waste() > 5_000)
        .then(|| format!("{} refusals in a million calls with declared caps", report.waste()))
}

/// All but the noisy one ask for less than their share: they get it, and all alike. Some hang up, so nine tenths of
/// what they ask for are enough.
pub(crate) fn fair(_: &World, plan: &Plan, report: &Report) -> Option<String> {
    let mut served = vec![0_u64; plan.consumers];
    let mut asked = vec![0_u64; plan.consumers];
    for done in &report.done {
        asked[done.consumer] += 1;
        served[done.consumer] += u64::from(done.answered);
    }
    let (got, wanted) = (served[1..].iter().sum::<u64>(), asked[1..].iter().sum::<u64>());
    let quiet = (1..plan.consumers).filter(|consumer| asked[*consumer] > 0);
    let shares: Vec<u128> = quiet.map(|c| u128::from(served[c] * 1_000 / asked[c])).collect();
    let (sum, squares) =
        (shares.iter().sum::<u128>(), shares.iter().map(|share| share * share).sum::<u128>());
    let jain = sum * sum * 1_000 / (squares * shares.len() as u128).max(1);
    if jain < 980 {
        return Some(format!("Jain 0.{jain:03}"));
    }
    (got * 10 < wanted * 9).then(|| format!("quiet consumers got {got} of {wanted}"))
}

pub(crate) fn stays(world: &World, _: &Plan, report: &Report) -> Option<String> {
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

pub(crate) fn none_terminal(_: &World, _: &Plan, report: &Report) -> Option<String> {
    (!report.ended.is_empty()).then(|| format!("accounts {:?} ended", report.ended))
}
