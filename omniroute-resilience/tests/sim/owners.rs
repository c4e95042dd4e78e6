//! Owners of exclusive leases: acquire, work, renew (not always), give back, and start again.

use std::cell::Cell;
use std::rc::Rc;

use futures::channel::oneshot;
use omniroute_core::Purpose;
use omniroute_resilience::{AcquireLease, Acquired, EndReason, OwnerHash, OwnerToken, Renewed, Status};

use crate::sim::client::{Request, Scene};
use crate::sim::dice::Dice;
use crate::sim::facts::What;
use crate::sim::library::{Library, consumer};
use crate::sim::peek::number;
use crate::sim::time::Spawner;

/// Starts the owners that the plan asks for.
pub(crate) fn start(library: &Rc<Library>, spawner: &Spawner, scene: &Rc<Scene>) {
    let acquired = Rc::new(Cell::new(0));
    for owner in 0..scene.plan.owners {
        let (library, scene) = (Rc::clone(library), Rc::clone(scene));
        let (inner, acquired) = (spawner.clone(), Rc::clone(&acquired));
        let mut dice = Dice::new(scene.seed, 100 + owner as u64);
        spawner.spawn(0, async move {
            let end = scene.plan.seconds * 1_000;
            scene.time.sleep(dice.between(0, 5_000)).await;
            while scene.time.ms() < end {
                session(&library, &scene, &inner, &acquired, owner, &mut dice).await;
                scene.time.sleep(dice.between(500, 20_000)).await;
            }
        });
    }
}

/// One session of an owner, on a random host for each call, as behind a load balancer.
async fn session(
    library: &Rc<Library>,
    scene: &Rc<Scene>,
    spawner: &Spawner,
    acquired: &Cell<u64>,
    owner: usize,
    dice: &mut Dice,
) {
    let hash = token(owner);
    let consumer = consumer(owner);
    let model = dice.below(3);
    let mut host = 1 + dice.below(scene.plan.hosts);
    let candidates = {
        let process = library.on(host);
        let mut accounts: Vec<usize> = (0..scene.accounts()).collect();
        dice.shuffle(&mut accounts);
        accounts.into_iter().map(|account| process.handle(&scene.target(account, model))).collect()
    };
    let mut ask = AcquireLease { owner: hash, consumer: consumer.clone(), candidates, ttl: None };
    // The date that a refusal named, and how many leases had been acquired by then.
    let mut promise: Option<(i64, u64)> = None;
    let generation = loop {
        if scene.time.ms() >= scene.plan.seconds * 1_000 {
            return;
        }
        match library.on(host).library.leases().acquire(&ask).await {
            Ok(Acquired::Acquired(view) | Acquired::Reused(view) | Acquired::Transitioned(view)) => {
                acquired.set(acquired.get() + 1);
                break view.generation;
            }
            Ok(Acquired::CapacityUnavailable { retry_at, .. }) => {
                let wall = scene.time.moment(0).wall.0;
                let (at, before) = *promise.get_or_insert((retry_at.0, acquired.get()));
                if at != retry_at.0 || before != acquired.get() {
                    // The lease was renewed, or others were faster: with more owners than accounts that happens.
                    promise = Some((retry_at.0, acquired.get()));
                } else if wall > at + 5_000 && scene.plan.events.is_empty() {
                    let text = format!("owner {owner} was promised a lease at {at} and nobody got one since");
                    scene.log.lock().watch.broke("lease wait", scene.time.ms(), text);
                }
                let wait = (retry_at.0 - wall).clamp(200, 5_000);
                scene.time.sleep(wait).await;
            }
            Ok(_) | Err(_) => {
                promise = None;
                scene.time.sleep(1_000).await;
            }
        }
        let next = 1 + dice.below(scene.plan.hosts);
        if next != host {
            // Handles belong to a process.
            host = next;
            let process = library.on(host);
            let mut accounts: Vec<usize> = (0..scene.accounts()).collect();
            dice.shuffle(&mut accounts);
            ask.candidates =
                accounts.into_iter().map(|account| process.handle(&scene.target(account, model))).collect();
        }
    };
    let turns = dice.between(1, 40);
    let mut renewed_at = scene.time.ms();
    for turn in 0..turns {
        if scene.time.ms() >= scene.plan.seconds * 1_000 {
            break;
        }
        if scene.time.ms() - renewed_at > 40_000 {
            renewed_at = scene.time.ms();
            let lost = dice.chance(50_000);
            let host = 1 + dice.below(scene.plan.hosts);
            let leases = library.on(host).library.leases();
            if !lost && leases.renew(hash, &consumer, generation, None).await == Ok(Renewed::Stale) {
                scene.log.note(What::Unleased { owner });
                return;
            }
        }
        let Some(account) = held(library, scene, owner, host, generation).await else {
            scene.log.note(What::Unleased { owner });
            return;
        };
        let now = scene.time.ms();
        let number =
            1_000_000 + owner as u64 * 100_000 + u64::try_from(turn).unwrap_or(0) + (generation << 40);
        let mut request = Request {
            number,
            host: 1 + dice.below(scene.plan.hosts),
            model,
            consumer: owner,
            session: None,
            hostile: false,
            lease: Some((hash, generation)),
            possible: None,
            purpose: Purpose::Production,
            only: None,
            arrives: now,
            deadline: now + 60_000,
            cancels: None,
            first_token: dice.first_token(),
            rest: dice.between(0, 4_000),
            stream: false,
        };
        // The oracle knows that this owner has this account and no other.
        request.possible = Some(scene.serves_within(account, &request));
        let (served, done) = oneshot::channel();
        let scene_there = Rc::clone(scene);
        spawner.spawn(request.host, async move {
            scene_there.serve(request).await;
            // The owner may have gone.
            let _told = served.send(());
        });
        // If its process is killed nobody answers, and the owner goes on.
        let _answered = done.await;
        scene.time.sleep(dice.between(100, 15_000)).await;
    }
    let host = 1 + dice.below(scene.plan.hosts);
    let leases = library.on(host).library.leases();
    scene.log.note(What::Unleased { owner });
    let _released = leases.release(hash, &consumer, generation, EndReason::OwnerExit).await;
}

/// The account of the owner's lease, if it still has one; notes it.
async fn held(
    library: &Rc<Library>,
    scene: &Rc<Scene>,
    owner: usize,
    host: usize,
    generation: u64,
) -> Option<usize> {
    let leases = library.on(host).library.leases();
    match leases.status(token(owner), &consumer(owner), generation).await {
        Ok(Status::Active(view, _, connection)) => {
            let account = number(connection.as_str());
            scene.log.note(What::Leased {
                owner,
                account,
                generation: view.generation,
                until: view.expires_at.0,
            });
            Some(account)
        }
        _ => None,
    }
}

fn token(owner: usize) -> OwnerHash {
    let mut bytes = [7_u8; 32];
    bytes[0] = u8::try_from(owner).unwrap_or(0);
    OwnerToken::from_entropy(bytes).hash()
}
