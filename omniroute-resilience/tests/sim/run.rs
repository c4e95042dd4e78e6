//! Runs one script with one seed and reports what came of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use omniroute_core::Purpose;
use omniroute_resilience::layers::breaker;
use omniroute_resilience::{Class, Config};

use crate::sim::client::{Done, Request, Scene, Score};
use crate::sim::dice::Dice;
use crate::sim::facts::{Fact, What};
use crate::sim::invariants::{Counts, Numbers, Violation, Watch};
use crate::sim::log::Log;
use crate::sim::plan::{Event, Plan, Script};
use crate::sim::stage::Stage;
use crate::sim::time::{Executor, Time};
use crate::sim::world::World;

/// After the load has stopped everything has this long to come to rest, s.
const DRAIN: i64 = 400;

/// What came of a run.
pub(crate) struct Report {
    pub(crate) score: Score,
    pub(crate) counts: Counts,
    pub(crate) broken: u64,
    pub(crate) violations: Vec<Violation>,
    /// The hash of all facts.
    pub(crate) trace: u64,
    pub(crate) facts: u64,
    pub(crate) layer_commits: u64,
    pub(crate) reads: u64,
    /// Facts kept for people, none unless asked for.
    pub(crate) kept: Vec<Fact>,
    /// How long breakers let nobody through because of calls, and of probes, that failed, summed, ms.
    pub(crate) open_ms: (i64, i64),
    /// The longest time in which every admission was refused, ms.
    pub(crate) longest_shut: i64,
    /// Accounts whose rest or level ever grew.
    pub(crate) punished: Vec<usize>,
    /// Accounts that are terminal at the end.
    pub(crate) ended: Vec<usize>,
    pub(crate) done: Vec<Done>,
    pub(crate) world: World,
    pub(crate) plan: Plan,
    /// What the script asked for and did not get.
    pub(crate) missed: Option<String>,
}

impl Report {
    /// Answered of what was possible, in millionths.
    pub(crate) fn goodput(&self) -> u64 {
        (self.score.answered * 1_000_000).checked_div(self.score.possible).unwrap_or(1_000_000)
    }

    /// Failed attempts of all, in millionths.
    pub(crate) fn waste(&self) -> u64 {
        (self.score.failed * 1_000_000).checked_div(self.score.attempts).unwrap_or(0)
    }
}

/// Classes of `vendors` vendors: mostly keys, some accounts.
pub(crate) fn classes(vendors: usize, dice: &mut Dice) -> Vec<Class> {
    (0..vendors).map(|_| if dice.chance(300_000) { Class::OAuth } else { Class::ApiKey }).collect()
}

fn numbers(class: Class, config: &Config) -> Numbers {
    let class = config.classes.of(class);
    let rules = breaker::Rules::new(class, &config.breaker);
    let ceiling = i64::try_from(class.cooldown_ceiling.as_ms()).unwrap_or(0);
    Numbers {
        longest_open: rules.longest(),
        probe_lease: rules.probe_lease,
        max_level: u64::from(class.max_level),
        longest_rest: ceiling + ceiling / 4,
    }
}

/// What a stage is built from.
pub(crate) struct Props {
    pub(crate) seed: u64,
    pub(crate) log: Log,
    pub(crate) time: Time,
    pub(crate) plan: Plan,
    pub(crate) world: Arc<Mutex<World>>,
}

/// Runs a script. `stage` builds what is tested.
pub(crate) fn run(script: &Script, seed: u64, stage: &dyn Fn(&Props) -> Rc<dyn Stage>) -> Report {
    let mut dice = Dice::new(seed, 1);
    let (accounts, vendors, hosts) = script.size;
    let mut world = World::new(accounts, classes(vendors, &mut dice), 3);
    let mut plan = Plan { hosts, ..Plan::default() };
    (script.build)(&mut world, &mut plan, &mut dice);

    let mut executor = Executor::new();
    let time = executor.time.clone();
    let watch = Watch::new(
        world.classes.iter().map(|class| numbers(*class, &plan.config)).collect(),
        world.accounts.iter().map(|account| account.vendor).collect(),
    );
    let keep = if std::env::var_os("SIM_LOOK").is_some() { usize::MAX } else { 0 };
    let log = Log::new(time.clone(), watch, keep);
    let world = Arc::new(Mutex::new(world));
    let props =
        Props { seed, log: log.clone(), time: time.clone(), plan: plan.clone(), world: Arc::clone(&world) };
    let stage = stage(&props);
    let scene = Rc::new(Scene {
        subject: stage.subject(),
        world: Arc::clone(&world),
        log: log.clone(),
        time: time.clone(),
        plan: plan.clone(),
        seed,
        dice: RefCell::new(Dice::new(seed, 2)),
        turns: RefCell::new((0..=plan.hosts).map(|host| host * 7).collect()),
        score: RefCell::default(),
        done: RefCell::default(),
    });

    let killed: Rc<RefCell<Vec<usize>>> = Rc::default();
    arrivals(&executor, &scene, seed);
    infrastructure(&executor, &scene, &stage, &killed);
    stage.start(&executor.spawner, &scene);
    executor.run((plan.seconds + DRAIN) * 1_000, || std::mem::take(&mut *killed.borrow_mut()));
    let idle = stage.idle();
    executor.stop();

    let end = (plan.seconds + DRAIN) * 1_000;
    let kept = log.kept();
    let mut inner = log.lock();
    inner.watch.end(end);
    for (rule, text) in idle {
        inner.watch.broke(rule, end, text);
    }
    let (layer_commits, reads) = stage.traffic();
    let mut report = Report {
        score: *scene.score.borrow(),
        counts: inner.watch.counts,
        broken: inner.watch.broken,
        violations: std::mem::take(&mut inner.watch.violations),
        trace: std::hash::Hasher::finish(&inner.trace),
        facts: inner.facts,
        layer_commits,
        reads,
        kept,
        open_ms: (inner.watch.open_ms, inner.watch.reopened_ms),
        longest_shut: inner.watch.longest_shut,
        punished: inner.watch.punished.iter().copied().collect(),
        ended: inner.watch.ended(),
        done: scene.done.take(),
        world: world.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        plan,
        missed: None,
    };
    drop(inner);
    report.missed = (script.extra)(&report.world, &report.plan, &report);
    report
}

/// The open loop: requests arrive whatever becomes of them.
fn arrivals(executor: &Executor, scene: &Rc<Scene>, seed: u64) {
    let spawner = executor.spawner.clone();
    let scene = Rc::clone(scene);
    executor.spawner.spawn(0, async move {
        let mut dice = Dice::new(seed, 3);
        let plan = scene.plan.clone();
        let mut at_us = 0_u64;
        let mut number = 0;
        let mut crowd = plan.crowd;
        let mut slots = plan.tell_caps.then(|| Slots::new(&scene.world));
        loop {
            let second = i64::try_from(at_us / 1_000_000).unwrap_or(i64::MAX);
            let factor =
                plan.bursts.iter().find(|(from, to, _)| *from <= second && second < *to).map_or(1, |b| b.2);
            at_us += dice.gap_us(plan.per_hour * factor);
            let at = i64::try_from(at_us / 1_000).unwrap_or(i64::MAX);
            if let Some((when, many)) = crowd
                && at >= when
            {
                crowd = None;
                scene.time.sleep_until(when).await;
                for _ in 0..many {
                    number += 1;
                    let request = request(&mut dice, &plan, number, when);
                    spawner.spawn(request.host, Rc::clone(&scene).serve(request));
                }
            }
            if at >= plan.seconds * 1_000 {
                return;
            }
            scene.time.sleep_until(at).await;
            number += 1;
            let mut request = request(&mut dice, &plan, number, at);
            request.possible = slots.as_mut().map(|slots| slots.serve(&request));
            spawner.spawn(request.host, Rc::clone(&scene).serve(request));
        }
    });
}

/// The oracle where capacity matters: one queue before all slots there are, first come first served.
struct Slots(std::collections::BinaryHeap<std::cmp::Reverse<i64>>);

impl Slots {
    fn new(world: &Arc<Mutex<World>>) -> Slots {
        let world = world.lock().unwrap_or_else(PoisonError::into_inner);
        let slots: usize = world.accounts.iter().filter_map(|account| account.cap).sum();
        Slots((0..slots).map(|_| std::cmp::Reverse(0)).collect())
    }

    fn serve(&mut self, request: &Request) -> bool {
        let Some(std::cmp::Reverse(free)) = self.0.pop() else { return false };
        let end = free.max(request.arrives) + request.service();
        let possible = end <= request.deadline;
        self.0.push(std::cmp::Reverse(if possible { end } else { free }));
        possible
    }
}

fn request(dice: &mut Dice, plan: &Plan, number: u64, at: i64) -> Request {
    let stream = dice.chance(plan.streams);
    let first_token = dice.first_token();
    let rest = if stream { dice.between(1_000, 60_000) } else { dice.between(0, plan.longest) };
    let patience = dice.between(plan.patience.0, plan.patience.1);
    let purpose = if dice.chance(plan.others) {
        dice.pick(&[
            Purpose::HealthProbe,
            Purpose::QuotaFetch,
            Purpose::OperatorTest { clear_on_success: false },
        ])
    } else {
        Purpose::Production
    };
    let shares = plan.consumers - 1 + plan.noise;
    let consumer = dice.below(shares).saturating_sub(plan.noise - 1);
    Request {
        number,
        host: 1 + dice.below(plan.hosts),
        model: dice.below(3),
        consumer,
        session: (plan.sessions > 0).then(|| dice.below(plan.sessions) as u64),
        hostile: plan.hostile && consumer % 2 == 1,
        lease: None,
        possible: None,
        purpose,
        only: dice.chance(plan.only_first).then_some(0),
        arrives: at,
        deadline: at + patience,
        cancels: dice.chance(plan.cancels).then(|| at + dice.between(50, 20_000)),
        first_token,
        rest,
        stream,
    }
}

/// Freezes, kills and jumps when the plan says so.
fn infrastructure(
    executor: &Executor,
    scene: &Rc<Scene>,
    stage: &Rc<dyn Stage>,
    killed: &Rc<RefCell<Vec<usize>>>,
) {
    let mut events = scene.plan.events.clone();
    events.sort_by_key(|(at, _)| *at);
    let (scene, stage, killed) = (Rc::clone(scene), Rc::clone(stage), Rc::clone(killed));
    executor.spawner.spawn(0, async move {
        for (at, event) in events {
            scene.time.sleep_until(at).await;
            match event {
                Event::Freeze => scene.log.note(What::Store { up: false }),
                Event::Thaw => scene.log.note(What::Store { up: true }),
                Event::Wipe => scene.log.note(What::Wiped),
                Event::Slow(_) => {}
                Event::Kill(host) => killed.borrow_mut().push(host),
                Event::Jump(host, by) => {
                    let hosts = match host {
                        Some(host) => host..host + 1,
                        None => 0..scene.plan.hosts + 1,
                    };
                    for host in hosts {
                        scene.time.jump(host, by);
                        scene.log.note(What::Jumped { host, by });
                    }
                }
            }
            stage.event(event);
            if let Event::Kill(host) = event {
                // The tasks of the host die right after this step.
                scene.time.sleep(1).await;
                scene.log.note(What::Killed { host });
            }
        }
    });
}
