//! Promises about one key, checked for every kind of key.

use std::time::Duration;

use futures::FutureExt;
use omniroute_core::{ConnectionId, Key, LockScope, ModelId, ProviderId, QuotaWindow, Unit};

use super::{On, Outcome, Run, World, checked, delete, later, put, put_until, record, want};

pub(super) const LAWS: &[(&str, Run)] = &[
    ("what is put is what is read", |world, key| kept(world, key).boxed()),
    ("a wrong version changes nothing", |world, key| guarded(world, key).boxed()),
    ("what is deleted is gone", |world, key| deleted(world, key).boxed()),
    ("a check writes nothing", |world, key| only_checked(world, key).boxed()),
    ("it ends at the very millisecond", |world, key| ends(world, key).boxed()),
    ("an ended record is absent to a commit", |world, key| ended_is_absent(world, key).boxed()),
    ("a version never comes back", |world, key| no_version_twice(world, key).boxed()),
    ("a scan finds it by its name", |world, key| scanned(world, key).boxed()),
    ("other handles see it at once", |world, key| seen_by_others(world, key).boxed()),
];

/// A key of each kind, with names that need escaping.
pub(super) fn every_kind() -> Vec<(&'static str, Key)> {
    let provider = || ProviderId::new("open/ai%*");
    let connection = || ConnectionId::new("acc [1] ü");
    let model = || ModelId::new("m-1?");
    vec![
        ("breaker", Key::Breaker { provider: provider(), origin: None }),
        ("breaker of an origin", Key::Breaker { provider: provider(), origin: Some("https://h:1".into()) }),
        ("connection", Key::Connection(provider(), connection())),
        (
            "lockout",
            Key::Lockout {
                provider: provider(),
                connection: Some(connection()),
                scope: LockScope::Model(model()),
            },
        ),
        (
            "lockout everywhere",
            Key::Lockout {
                provider: provider(),
                connection: None,
                scope: LockScope::Quota("five hours".into()),
            },
        ),
        ("slots", Key::Slots { provider: None, connection: None }),
        ("rate", Key::Rate { provider: provider(), connection: connection(), scope: None }),
        (
            "quota",
            Key::Quota {
                pool: "p".into(),
                unit: Unit::Tokens,
                window: QuotaWindow::Day,
                model: Some(model()),
            },
        ),
        ("affinity", Key::Affinity([0; 32])),
        ("lease owner", Key::LeaseOwner([255; 32])),
        ("lease connection", Key::LeaseConnection(provider(), connection())),
        ("lease generation", Key::LeaseGeneration([7; 32])),
        ("lease fence", Key::LeaseFence),
        ("ended lease", Key::LeaseEnded([9; 32], u64::MAX)),
        ("refresh", Key::Refresh("a\nb".into())),
        ("last resort", Key::LastResort(provider(), model())),
        ("meta", Key::Meta("".into())),
    ]
}

async fn kept(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    want("a record at the start", &on.get(&key).await?, &None)?;
    let expires = Some(later(on.now().await?, 60_000));
    let first = on.must(&[put_until(&key, None, "first", expires)]).await?;
    want("the record", &on.get(&key).await?, &Some(record(first, "first", expires)))?;
    let second = on.must(&[put(&key, Some(first), "second")]).await?;
    want("the record put over it", &on.get(&key).await?, &Some(record(second, "second", None)))
}

async fn guarded(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let found = on.must_conflict(&[put(&key, Some(1), "x")]).await?;
    want("what is there", &found, &vec![(key.clone(), None)])?;
    let version = on.must(&[put(&key, None, "v")]).await?;
    let there = vec![(key.clone(), Some(record(version, "v", None)))];
    for expected in [None, Some(version + 1), Some(version.wrapping_sub(1)), Some(0), Some(u64::MAX)] {
        let found = on.must_conflict(&[put(&key, expected, "x")]).await?;
        want(&format!("what is there instead of {expected:?}"), &found, &there)?;
        want("the record", &on.get(&key).await?, &there[0].1)?;
    }
    Ok(())
}

async fn deleted(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let found = on.must_conflict(&[delete(&key, 1)]).await?;
    want("what is there", &found, &vec![(key.clone(), None)])?;
    let version = on.must(&[put(&key, None, "v")]).await?;
    on.must_conflict(&[delete(&key, version + 1)]).await?;
    want("the record", &on.get(&key).await?, &Some(record(version, "v", None)))?;
    on.must(&[delete(&key, version)]).await?;
    want("the record after delete", &on.get(&key).await?, &None)?;
    on.must_conflict(&[delete(&key, version)]).await.map(|_| ())
}

async fn only_checked(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    on.must(&[checked(&key, None)]).await?;
    want("the record", &on.get(&key).await?, &None)?;
    let version = on.must(&[put(&key, None, "v")]).await?;
    on.must(&[checked(&key, Some(version))]).await?;
    want("the record", &on.get(&key).await?, &Some(record(version, "v", None)))?;
    on.must_conflict(&[checked(&key, None)]).await?;
    on.must_conflict(&[checked(&key, Some(version + 1))]).await.map(|_| ())
}

async fn ends(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let end = later(on.now().await?, 1_000);
    let version = on.must(&[put_until(&key, None, "v", Some(end))]).await?;
    world.advance(Duration::from_millis(999));
    let there = Some(record(version, "v", Some(end)));
    want("the record a millisecond before its end", &on.get(&key).await?, &there)?;
    world.advance(Duration::from_millis(1));
    want("the time", &on.now().await?, &end)?;
    want("the record at its end", &on.get(&key).await?, &None)?;
    want("a scan at its end", &on.scan("").await?, &vec![])
}

async fn ended_is_absent(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let end = later(on.now().await?, 10);
    let old = on.must(&[put_until(&key, None, "old", Some(end))]).await?;
    world.advance(Duration::from_millis(10));
    let absent = vec![(key.clone(), None)];
    want("what is there for a put", &on.must_conflict(&[put(&key, Some(old), "x")]).await?, &absent)?;
    want("what is there for a delete", &on.must_conflict(&[delete(&key, old)]).await?, &absent)?;
    want("what is there for a check", &on.must_conflict(&[checked(&key, Some(old))]).await?, &absent)?;
    on.must(&[checked(&key, None)]).await?;
    let new = on.must(&[put(&key, None, "new")]).await?;
    want("whether the version grew", &(new > old), &true)?;
    want("the record", &on.get(&key).await?, &Some(record(new, "new", None)))
}

async fn no_version_twice(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let mut last = None;
    for round in 0..4 {
        let version = on.must(&[put(&key, None, "same")]).await?;
        if let Some(last) = last {
            want(&format!("whether {version} is above {last} in round {round}"), &(version > last), &true)?;
            on.must_conflict(&[put(&key, Some(last), "x")]).await?;
        }
        on.must(&[delete(&key, version)]).await?;
        last = Some(version);
    }
    Ok(())
}

async fn scanned(world: &dyn World, key: Key) -> Outcome {
    let on = On::one(world).await?;
    let version = on.must(&[put(&key, None, "v")]).await?;
    let text = key.encode();
    let kind = text.split('/').next().unwrap_or_default();
    let found = vec![(key.clone(), record(version, "v", None))];
    for prefix in ["", kind, text.as_str()] {
        want(&format!("a scan of {prefix:?}"), &on.scan(prefix).await?, &found)?;
    }
    for prefix in [format!("{text}x"), "*".to_owned(), format!("{}?", text.get(..1).unwrap_or_default())] {
        want(&format!("a scan of {prefix:?}"), &on.scan(&prefix).await?, &vec![])?;
    }
    Ok(())
}

async fn seen_by_others(world: &dyn World, key: Key) -> Outcome {
    let all = On::several(world, 2).await?;
    let (one, two) = (&all[0], &all[1]);
    let first = one.must(&[put(&key, None, "one")]).await?;
    want("the record at the other handle", &two.get(&key).await?, &Some(record(first, "one", None)))?;
    let second = two.must(&[put(&key, Some(first), "two")]).await?;
    want("whether the version grew", &(second > first), &true)?;
    let found = one.must_conflict(&[put(&key, Some(first), "x")]).await?;
    want("what is there", &found, &vec![(key.clone(), Some(record(second, "two", None)))])?;
    one.must(&[delete(&key, second)]).await?;
    want("the record at the other handle", &two.get(&key).await?, &None)
}
