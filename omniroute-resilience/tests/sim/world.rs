//! Vendors, accounts and what is wrong with them when. Knows the truth; the library only sees the answers.

use std::sync::Arc;

use omniroute_core::{Evidence, Failure, FailureKind, Phase, QuotaWindow, Scope, Target, UnixMs};
use omniroute_resilience::Class;

use crate::sim::dice::Dice;

/// A stretch of time, ms since the start; the end is outside.
pub(crate) type Span = (i64, i64);

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The service answers 503.
    Down,
    /// The service answers nothing, or headers and then nothing.
    Silent,
    /// The path from our host is cut.
    Unplugged,
    /// 429; with or without the time at which it ends.
    Throttled { says: bool },
    /// An allowance is used up; the vendor names this date, ms since the start, or none.
    Exhausted { until: Option<i64> },
    /// The account is closed, with a documented code.
    Banned,
    /// One stray 403, then never again.
    Stray,
    /// One model is not there: 404, 403 or 402.
    Model { model: usize, status: u16 },
    /// This many of a million calls fail, in a mix of ways.
    Flaps(usize),
    /// This many of a million hostile prompts are refused with a text that quotes them.
    Echo(usize),
}

/// One answer of a vendor.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Content.
    Content,
    /// A failure after this many ms.
    Fails(i64, Failure),
    /// Nothing ever.
    Nothing,
}

/// One account.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// Whose.
    pub(crate) vendor: usize,
    /// What is wrong when, by start.
    pub(crate) troubles: Vec<(Span, Trouble)>,
    /// Most calls at once that the vendor takes.
    pub(crate) cap: Option<usize>,
    /// Calls that run.
    pub(crate) running: usize,
    /// The one stray refusal is over.
    pub(crate) strayed: bool,
    /// When it was called for a client, ms since the start.
    pub(crate) calls: Vec<i64>,
    /// Those of the calls whose answer came before the client went away.
    pub(crate) heard: Vec<i64>,
    /// When it answered with content.
    pub(crate) served: Vec<i64>,
}

/// All vendors.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// Class of every vendor's accounts.
    pub(crate) classes: Vec<Class>,
    /// All accounts; account `n` belongs to vendor `n % vendors`.
    pub(crate) accounts: Vec<Account>,
    /// How many models every vendor has.
    pub(crate) models: usize,
    /// By account, then model.
    targets: Arc<Vec<Vec<Target>>>,
}

impl World {
    /// Healthy vendors.
    pub(crate) fn new(accounts: usize, classes: Vec<Class>, models: usize) -> World {
        let vendors = classes.len();
        let account = |n| Account {
            vendor: n % vendors,
            troubles: Vec::new(),
            cap: None,
            running: 0,
            strayed: false,
            calls: Vec::new(),
            heard: Vec::new(),
            served: Vec::new(),
        };
        let target = |account: usize, model| {
            Target::new(format!("v{}", account % vendors), format!("c{account}"), format!("m{model}"))
        };
        let targets = (0..accounts).map(|n| (0..models).map(|model| target(n, model)).collect()).collect();
        World { classes, accounts: (0..accounts).map(account).collect(), models, targets: Arc::new(targets) }
    }

    /// Something is wrong with an account for a while.
    pub(crate) fn trouble(&mut self, account: usize, span: Span, trouble: Trouble) {
        self.accounts[account].troubles.push((span, trouble));
    }

    /// Something is wrong with a vendor for a while.
    pub(crate) fn vendor_trouble(&mut self, vendor: usize, span: Span, trouble: Trouble) {
        for account in &mut self.accounts {
            if account.vendor == vendor {
                account.troubles.push((span, trouble));
            }
        }
    }

    /// Something is wrong with everything for a while.
    pub(crate) fn all_trouble(&mut self, span: Span, trouble: Trouble) {
        self.accounts.iter_mut().for_each(|account| account.troubles.push((span, trouble)));
    }

    /// The target of an account and a model.
    pub(crate) fn target(&self, account: usize, model: usize) -> Target {
        self.targets[account][model].clone()
    }

    /// Whether an account would serve a model at a time, apart from chance.
    pub(crate) fn serves(&self, account: usize, model: usize, at: i64) -> bool {
        let bad = |trouble: &Trouble| match trouble {
            Trouble::Flaps(_) | Trouble::Stray => false,
            Trouble::Model { model: gone, .. } => *gone == model,
            Trouble::Echo(_) => false,
            _ => true,
        };
        !self.accounts[account].troubles.iter().any(|(span, t)| span.0 <= at && at < span.1 && bad(t))
    }

    /// Whether some account can serve a model within a stretch of time.
    pub(crate) fn some_serves(&self, accounts: &[usize], model: usize, span: Span) -> bool {
        accounts.iter().any(|account| {
            let mut times = vec![span.0];
            let ends = self.accounts[*account].troubles.iter().map(|((_, end), _)| *end);
            times.extend(ends.filter(|end| span.0 < *end && *end < span.1));
            times.into_iter().any(|at| self.serves(*account, model, at))
        })
    }

    /// A call begins. `wall` is the caller's clock minus the simulator's, for dates in answers.
    pub(crate) fn call(
        &mut self,
        (account, model): (usize, usize),
        (hostile, production): (bool, bool),
        at: i64,
        wall: i64,
        dice: &mut Dice,
    ) -> Reply {
        let entry = &mut self.accounts[account];
        if production {
            entry.calls.push(at);
        }
        entry.running += 1;
        let quick = dice.between(30, 300);
        if entry.cap.is_some_and(|cap| entry.running > cap) {
            let mut failure = refusal(FailureKind::RateLimited, 429, "too many concurrent requests");
            failure.retry_at = Some(UnixMs(wall + at + 1_000));
            return Reply::Fails(quick, failure);
        }
        let active = entry.troubles.iter().filter(|((from, to), _)| *from <= at && at < *to).copied();
        for ((_, end), trouble) in active.collect::<Vec<_>>() {
            let failure = match trouble {
                Trouble::Down => {
                    let mut failure =
                        Failure::new(FailureKind::Unavailable, Scope::Provider, "service unavailable");
                    failure.status = Some(503);
                    failure
                }
                Trouble::Silent => return Reply::Nothing,
                Trouble::Unplugged => {
                    // Packets are lost: nobody answers, and it takes a while to be sure.
                    let mut failure = Failure::new(FailureKind::Timeout, Scope::Provider, "connect timeout");
                    failure.phase = Phase::Transport;
                    return Reply::Fails(10_000 + quick, failure);
                }
                Trouble::Throttled { says } => {
                    let mut failure = refusal(FailureKind::RateLimited, 429, "rate limit reached");
                    if says {
                        failure.retry_at = Some(UnixMs(wall + end));
                        failure.declared = true;
                    }
                    failure
                }
                Trouble::Exhausted { until } => {
                    let mut failure = refusal(FailureKind::QuotaExhausted, 429, "quota reached");
                    failure.retry_at = until.map(|until| UnixMs(wall + until));
                    failure.declared = until.is_some();
                    failure.window = Some(QuotaWindow::FiveHours);
                    failure.evidence = Evidence::Structured;
                    failure
                }
                Trouble::Banned => {
                    let mut failure = refusal(FailureKind::Banned, 403, "account deactivated");
                    failure.evidence = Evidence::Structured;
                    failure.code = Some("account_deactivated".to_owned());
                    failure
                }
                Trouble::Stray if entry.strayed => continue,
                Trouble::Stray => {
                    entry.strayed = true;
                    refusal(FailureKind::Forbidden, 403, "request not allowed")
                }
                Trouble::Model { model: gone, .. } if gone != model => continue,
                Trouble::Model { status, .. } => {
                    let kind = match status {
                        404 => FailureKind::ModelUnavailable,
                        403 => FailureKind::Forbidden,
                        _ => FailureKind::CreditsExhausted,
                    };
                    let mut failure = Failure::new(kind, Scope::Model, "no access to this model");
                    failure.status = Some(status);
                    failure
                }
                Trouble::Flaps(ppm) => {
                    if !dice.chance(ppm) {
                        continue;
                    }
                    flap(dice)
                }
                Trouble::Echo(ppm) => {
                    if !hostile || !dice.chance(ppm) {
                        continue;
                    }
                    echo(dice)
                }
            };
            return Reply::Fails(quick, failure);
        }
        Reply::Content
    }

    /// When an answer that would end at `ends` really ends: while the path is cut nothing moves, afterwards it goes on.
    pub(crate) fn arrives(&self, account: usize, from: i64, ends: i64) -> i64 {
        let cuts =
            self.accounts[account].troubles.iter().filter(|(_, trouble)| *trouble == Trouble::Unplugged);
        cuts.filter(|((start, _), _)| from < *start && *start < ends)
            .map(|((start, end), _)| end - start)
            .sum::<i64>()
            + ends
    }

    /// A call is over.
    pub(crate) fn over(&mut self, account: usize, at: i64, content: bool) {
        let entry = &mut self.accounts[account];
        entry.running = entry.running.saturating_sub(1);
        if content {
            entry.served.push(at);
        }
    }
}

/// An answer of the vendor's own API about one account.
fn refusal(kind: FailureKind, status: u16, message: &str) -> Failure {
    let mut failure = Failure::new(kind, Scope::Connection, message);
    failure.status = Some(status);
    failure
}

fn flap(dice: &mut Dice) -> Failure {
    match dice.below(3) {
        0 => {
            let mut failure = Failure::new(FailureKind::Unavailable, Scope::Provider, "internal error");
            failure.status = Some(500);
            failure
        }
        1 => refusal(FailureKind::RateLimited, 429, "rate limit reached"),
        _ => {
            let mut failure = Failure::new(FailureKind::Unavailable, Scope::Provider, "connection reset");
            failure.phase = Phase::Transport;
            failure
        }
    }
}

/// Sentences that a prompt may contain and a vendor may quote.
const QUOTES: [&str; 6] = [
    "invalid request: \"your account has been suspended\" is not a tool",
    "your credit balance is too low to access this model, said the user",
    "insufficient_quota: billing_hard_limit_reached, quoted from the prompt",
    "this organization has been disabled; account_deactivated",
    "余额不足",
    "usage limit reached|1999999999",
];

fn echo(dice: &mut Dice) -> Failure {
    let message = dice.pick(&QUOTES);
    // A reader that lost its guard once in a while: text alone must not end an account.
    if dice.chance(10_000) {
        let mut failure = refusal(FailureKind::Banned, 403, message);
        failure.evidence = Evidence::Text;
        return failure;
    }
    let kind = dice.pick(&[FailureKind::InvalidRequest, FailureKind::Filtered]);
    let mut failure = Failure::new(kind, Scope::Request, message);
    failure.status = Some(400);
    failure
}
