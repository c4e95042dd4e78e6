//! Promises about commits of several keys, time, scans and calls that are dropped.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use omniroute_core::{Change, Commit, Durability, Key, UnixMs};

use super::{On, Outcome, Run, World, checked, delete, later, put, put_until, record, want};

pub(super) const CASES: &[(&str, Run)] = &[
    ("nothing asked, nothing changed", |world, _| nothing(world).boxed()),
    ("get keeps the order, gaps and repeats", |world, _| order(world).boxed()),
    ("all changes of a commit share a version", |world, _| one_version(world).boxed()),
    ("one conflict stops all", |world, _| all_or_nothing(world).boxed()),
    ("every conflict is named", |world, _| every_conflict(world).boxed()),
    ("a failed check stops the rest", |world, _| checks_guard(world).boxed()),
    ("deletes and puts go together", |world, _| mixed(world).boxed()),
    ("versions grow over the whole store", |world, _| versions_grow(world).boxed()),
    ("a commit past its time is refused", |world, _| not_after(world).boxed()),
    ("time passes and is the same for all calls", |world, _| time_passes(world).boxed()),
    ("a record may end in the past or far away", |world, _| ends(world).boxed()),
    ("a new end counts", |world, _| new_end(world).boxed()),
    ("any bytes", |world, key| bytes(world, key).boxed()),
    ("a megabyte", |world, key| big(world, key).boxed()),
    ("a scan names each of many once", |world, _| scan_many(world).boxed()),
    ("a scan keeps to its prefix", |world, _| scan_prefix(world).boxed()),
    ("many keys at once", |world, _| many(world).boxed()),
    ("counters do not lose a step", |world, key| counters(world, key).boxed()),
    ("one of many wins a new key", |world, key| one_wins(world, key).boxed()),
    ("durable commits are kept", |world, key| durable(world, key).boxed()),
    ("a dropped commit is whole or not there", |world, _| dropped(world).boxed()),
    ("a dropped get or scan harms nobody", |world, key| dropped_reads(world, key).boxed()),
    ("closing keeps what was written", |world, key| closing(world, key).boxed()),
];

fn key(n: usize) -> Key {
    Key::Meta(format!("key {n:05}").into())
}

async fn nothing(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    want("records", &on.get_all(&[]).await?.0, &vec![])?;
    on.must(&[]).await?;
    want("a scan", &on.scan("").await?, &vec![])?;
    want("whether the store has a name", &on.0.traits().name.is_empty(), &false)
}

async fn order(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let version = on.must(&[put(&key(1), None, "1"), put(&key(2), None, "2")]).await?;
    let (found, _) = on.get_all(&[key(2), key(3), key(1), key(2)]).await?;
    let there = |value| Some(record(version, value, None));
    want("records", &found, &vec![there("2"), None, there("1"), there("2")])
}

async fn one_version(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let changes: Vec<Change> = (0..5).map(|n| put(&key(n), None, "v")).collect();
    let version = on.must(&changes).await?;
    for n in 0..5 {
        want("the record", &on.get(&key(n)).await?, &Some(record(version, "v", None)))?;
    }
    Ok(())
}

async fn all_or_nothing(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let version = on.must(&[put(&key(1), None, "old"), put(&key(2), None, "old")]).await?;
    let right = [put(&key(0), None, "new"), put(&key(1), Some(version), "new"), delete(&key(2), version)];
    for at in 0..=right.len() {
        for wrong in
            [put(&key(3), Some(version), "new"), delete(&key(3), version), checked(&key(3), Some(version))]
        {
            let mut changes = right.to_vec();
            changes.insert(at, wrong);
            let found = on.must_conflict(&changes).await?;
            want("conflicts", &found, &vec![(key(3), None)])?;
            let (records, _) = on.get_all(&[key(0), key(1), key(2), key(3)]).await?;
            let old = Some(record(version, "old", None));
            want("records after the conflict", &records, &vec![None, old.clone(), old, None])?;
        }
    }
    Ok(())
}

async fn every_conflict(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let version =
        on.must(&[put(&key(1), None, "v"), put(&key(2), None, "v"), put(&key(4), None, "v")]).await?;
    let found = on
        .must_conflict(&[
            put(&key(0), None, "x"),
            put(&key(1), None, "x"),
            checked(&key(2), Some(version + 1)),
            delete(&key(3), version),
            put(&key(4), Some(version), "x"),
        ])
        .await?;
    let there = Some(record(version, "v", None));
    want("conflicts", &found, &vec![(key(1), there.clone()), (key(2), there), (key(3), None)])
}

async fn checks_guard(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let version = on.must(&[put(&key(0), None, "guard")]).await?;
    on.must(&[checked(&key(0), Some(version)), put(&key(1), None, "v")]).await?;
    let moved = on.must(&[put(&key(0), Some(version), "guard")]).await?;
    on.must_conflict(&[checked(&key(0), Some(version)), put(&key(2), None, "v")]).await?;
    on.must_conflict(&[checked(&key(1), None), put(&key(2), None, "v")]).await?;
    want("the guarded record", &on.get(&key(2)).await?, &None)?;
    want("the guard", &on.get(&key(0)).await?, &Some(record(moved, "guard", None)))
}

async fn mixed(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let first = on.must(&[put(&key(0), None, "a"), put(&key(1), None, "b"), put(&key(2), None, "c")]).await?;
    let second = on
        .must(&[
            delete(&key(0), first),
            put(&key(1), Some(first), "B"),
            checked(&key(2), Some(first)),
            put(&key(3), None, "d"),
        ])
        .await?;
    let (records, _) = on.get_all(&[key(0), key(1), key(2), key(3)]).await?;
    let wanted = vec![
        None,
        Some(record(second, "B", None)),
        Some(record(first, "c", None)),
        Some(record(second, "d", None)),
    ];
    want("records", &records, &wanted)
}

async fn versions_grow(world: &dyn World) -> Outcome {
    let all = On::several(world, 2).await?;
    let mut last = 0;
    for n in 0..20 {
        let version = all[n % 2].must(&[put(&key(n), None, "v")]).await?;
        want(&format!("whether version {version} is above {last}"), &(version > last), &true)?;
        last = version;
    }
    Ok(())
}

async fn not_after(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let now = on.now().await?;
    let commit = async |n: usize, limit: UnixMs| {
        let done = on.0.commit(&[put(&key(n), None, "v")], Some(limit), Durability::Relaxed).await;
        done.map(|(commit, _)| commit).map_err(|error| error.to_string())
    };
    want("a commit at its limit", &matches!(commit(0, now).await?, Commit::Done(_)), &true)?;
    world.advance(Duration::from_millis(1));
    want("a commit a millisecond later", &commit(1, now).await?, &Commit::TooLate)?;
    want("the record", &on.get(&key(1)).await?, &None)?;
    want("a commit in time", &matches!(commit(1, later(now, 1)).await?, Commit::Done(_)), &true)
}

async fn time_passes(world: &dyn World) -> Outcome {
    let all = On::several(world, 2).await?;
    let mut last = all[0].now().await?;
    for step in [0_u32, 1, 999, 86_400_000, 0] {
        world.advance(Duration::from_millis(step.into()));
        let now = later(last, step.into());
        for on in &all {
            want("the time of get", &on.now().await?, &now)?;
            let done =
                on.0.commit(&[], None, Durability::Relaxed).await.map_err(|error| error.to_string())?;
            want("the time of commit", &done.1, &now)?;
            let scanned = on.0.scan("", &mut |_, _| {}).await.map_err(|error| error.to_string())?;
            want("the time of scan", &scanned, &now)?;
        }
        last = now;
    }
    Ok(())
}

async fn ends(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let now = on.now().await?;
    // Year 9999, and 1970.
    let far = UnixMs(253_370_764_800_000);
    for (n, expires, there) in [
        (0, now, false),
        (1, later(now, -1), false),
        (2, UnixMs(0), false),
        (3, later(now, 1), true),
        (4, far, true),
    ] {
        let version = on.must(&[put_until(&key(n), None, "v", Some(expires))]).await?;
        let wanted = there.then(|| record(version, "v", Some(expires)));
        want(&format!("a record that ends at {expires:?}"), &on.get(&key(n)).await?, &wanted)?;
        on.must(&[checked(&key(n), wanted.map(|record| record.version))]).await?;
    }
    Ok(())
}

async fn new_end(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let now = on.now().await?;
    let first = on
        .must(&[
            put_until(&key(0), None, "v", Some(later(now, 10))),
            put_until(&key(1), None, "v", Some(later(now, 10_000))),
            put_until(&key(2), None, "v", Some(later(now, 10))),
        ])
        .await?;
    let second = on
        .must(&[
            put_until(&key(0), Some(first), "v", Some(later(now, 10_000))),
            put_until(&key(1), Some(first), "v", Some(later(now, 10))),
            put(&key(2), Some(first), "v"),
        ])
        .await?;
    world.advance(Duration::from_millis(10));
    let (records, _) = on.get_all(&[key(0), key(1), key(2)]).await?;
    let wanted =
        vec![Some(record(second, "v", Some(later(now, 10_000)))), None, Some(record(second, "v", None))];
    want("records", &records, &wanted)
}

async fn bytes(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let all: Vec<u8> = (0..=255).collect();
    let mut expected = None;
    for value in [&all[..], b"", b"\0", b"\r\n", b" - ", b"1 - v", &all[128..]] {
        let value = Bytes::copy_from_slice(value);
        let put = Change::Put { key: key.clone(), expected, value: value.clone(), expires: None };
        expected = Some(on.must(&[put]).await?);
        want("the bytes", &on.get(&key).await?.map(|record| record.value), &Some(value))?;
    }
    Ok(())
}

async fn big(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let value = Bytes::from(vec![b'x'; 1 << 20]);
    on.must(&[Change::Put { key: key.clone(), expected: None, value: value.clone(), expires: None }]).await?;
    let found = on.get(&key).await?.map(|record| record.value);
    want("whether all of it came back", &(found == Some(value)), &true)
}

async fn scan_many(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let now = on.now().await?;
    let mut wanted = BTreeSet::new();
    for part in 0..15 {
        let changes: Vec<Change> = (0..100)
            .map(|n| {
                let n = part * 100 + n;
                put_until(&key(n), None, "v", (n % 5 == 0).then(|| later(now, 10)))
            })
            .collect();
        on.must(&changes).await?;
    }
    wanted.extend((0..1_500).filter(|n| n % 5 > 0).map(key));
    world.advance(Duration::from_millis(10));
    let found = on.scan("me/").await?;
    want("records named", &found.len(), &wanted.len())?;
    want("different ones", &found.into_iter().map(|(key, _)| key).collect(), &wanted)
}

async fn scan_prefix(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let named = |name: &str| Key::Meta(name.into());
    let names = ["a", "a*", "a[b]", "ab", "a\u{10ffff}", "b", "a?", "a\\", "A"];
    let changes: Vec<Change> = names.iter().map(|name| put(&named(name), None, "v")).collect();
    on.must(&changes).await?;
    for prefix in ["", "m", "me/", "me/a", "me/a*", "me/a[", "me/ab", "me/a?", "me/a\\", "me/c", "br/"] {
        let mut wanted: Vec<Key> =
            names.iter().map(|name| named(name)).filter(|key| key.encode().starts_with(prefix)).collect();
        wanted.sort();
        let found: Vec<Key> = on.scan(prefix).await?.into_iter().map(|(key, _)| key).collect();
        want(&format!("a scan of {prefix:?}"), &found, &wanted)?;
    }
    Ok(())
}

async fn many(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    let keys: Vec<Key> = (0..1_000).map(key).collect();
    let changes: Vec<Change> = keys.iter().map(|key| put(key, None, "v")).collect();
    let version = on.must(&changes).await?;
    let twice: Vec<Key> = keys.iter().chain(&keys).cloned().collect();
    let (records, _) = on.get_all(&twice).await?;
    want("records", &records.iter().flatten().filter(|record| record.version == version).count(), &2_000)
}

async fn counters(world: &dyn World, key: Key) -> Outcome {
    let all = On::several(world, 4).await?;
    let count = async |on: &On| -> Outcome {
        for _ in 0..12 {
            let mut old = on.get(&key).await?;
            loop {
                let n: u32 = match &old {
                    None => 0,
                    Some(record) => {
                        std::str::from_utf8(&record.value).ok().and_then(|t| t.parse().ok()).unwrap_or(0)
                    }
                };
                let change = put(&key, old.map(|record| record.version), &(n + 1).to_string());
                match on.commit(&[change]).await? {
                    Commit::Done(_) => break,
                    Commit::Conflict(mut found) if found.len() == 1 => old = found.remove(0).1,
                    other => return Err(format!("{other:?}")),
                }
            }
        }
        Ok(())
    };
    for outcome in join_all(all.iter().map(count)).await {
        outcome?;
    }
    let end = all[0].get(&key).await?.map(|record| record.value);
    want("the count", &end, &Some(Bytes::from("48")))
}

async fn one_wins(world: &dyn World, key: Key) -> Outcome {
    let all = On::several(world, 4).await?;
    let tries = all.iter().map(async |on| on.commit(&[put(&key, None, "mine")]).await);
    let mut won = 0;
    for outcome in join_all(tries).await {
        won += usize::from(matches!(outcome?, Commit::Done(_)));
    }
    want("winners", &won, &1)
}

async fn durable(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let done = on.0.commit(&[put(&key, None, "v")], None, Durability::Durable).await;
    let Commit::Done(version) = done.map_err(|error| error.to_string())?.0 else {
        return Err("not done".to_owned());
    };
    want("the record", &on.get(&key).await?, &Some(record(version, "v", None)))
}

/// Polls a future at most so many times, then drops it.
fn poll_and_drop(future: impl Future, polls: usize) -> bool {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..polls).any(|_| matches!(future.as_mut().poll(&mut context), Poll::Ready(_)))
}

async fn dropped(world: &dyn World) -> Outcome {
    let on = On::one(world).await?;
    for polls in 0..12 {
        let (a, b) = (key(2 * polls), key(2 * polls + 1));
        let changes = [put(&a, None, "v"), put(&b, None, "v")];
        let _ = poll_and_drop(on.0.commit(&changes, None, Durability::Durable), polls);
        // Both by one commit: whoever comes second conflicts with both keys or none.
        match on.commit(&changes).await? {
            Commit::Done(_) => {}
            Commit::Conflict(found) if found.len() == 2 && found[0].1 == record_of(&found[1].1) => {}
            other => return Err(format!("after {polls} polls half of it is there: {other:?}")),
        }
        let (records, _) = on.get_all(&[a, b]).await?;
        want("records", &records.iter().flatten().count(), &2)?;
        want("records of one commit", &records[0], &record_of(&records[1]))?;
    }
    Ok(())
}

fn record_of(record: &Option<omniroute_core::Record>) -> Option<omniroute_core::Record> {
    record.clone()
}

async fn dropped_reads(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let version = on.must(&[put(&key, None, "v")]).await?;
    for polls in 0..6 {
        let keys = [key.clone()];
        let _ = poll_and_drop(on.0.get(&keys), polls);
        let _ = poll_and_drop(on.0.scan("", &mut |_, _| {}), polls);
        want("the record", &on.get(&key).await?, &Some(record(version, "v", None)))?;
    }
    Ok(())
}

async fn closing(world: &dyn World, key: Key) -> Outcome {
    let all = On::several(world, 2).await?;
    let version = all[0].must(&[put(&key, None, "v")]).await?;
    all[1].0.close().await.map_err(|error| format!("close: {error}"))?;
    want("the record", &all[0].get(&key).await?, &Some(record(version, "v", None)))
}
