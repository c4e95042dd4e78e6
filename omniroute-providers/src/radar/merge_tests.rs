//! Tests of the merge: by hand, and laws with merges that break them.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::samples::payload;
use super::*;
use crate::free_tiers::{Day, FreeTiers, Headline};

fn feed(entries: &str) -> Feed {
    let feed = Feed::parse(payload("2026.10.08.1", entries).as_bytes()).unwrap();
    assert_eq!(feed.skipped, []);
    feed
}

fn steady<'a>(offers: impl Iterator<Item = Offer<'a>>) -> u64 {
    Headline::of(Day::new(2026, 10, 8).unwrap(), offers).steady
}

fn newest() -> Vec<Offer<'static>> {
    let tiers = FreeTiers::embedded();
    tiers.offers(tiers.newest().unwrap()).collect()
}

#[test]
fn without_feed_and_edits_nothing_changes() {
    let merged = merge(newest(), None, &LocalEdits::default());
    assert_eq!(merged.entries.len(), 446);
    assert_eq!((steady(merged.counting()), steady(merged.routing())), (1_473_225_000, 1_473_225_000));
    assert!(merged.entries.iter().all(|entry| entry.origin == Origin::Shipped && !entry.accepted));
}

#[test]
fn a_feed_changes_what_is_counted() {
    // LLM7 is gone for one of its models; Mistral's pool halves; somebody new gives 5M.
    let mistral: Vec<String> =
        newest().iter().filter(|o| o.provider == "mistral").map(|o| o.model.to_owned()).collect();
    let halved = mistral.iter().map(|model| {
        format!(r#"{{"provider":"mistral","model":"{model}","budget":{{"shared_pool":{{"id":"mistral","tokens":500000000}}}}}}"#)
    });
    let gone: Vec<Offer<'_>> = newest().into_iter().filter(|o| o.provider == "llm7").collect();
    let gone = gone.iter().map(|o| format!(r#"{{"provider":"llm7","model":"{}","disabled":true}}"#, o.model));
    let new = r#"{"provider":"newcomer","model":"m","kind":"recurring-daily","budget":{"per_model":{"tokens":5000000}}},{"provider":"vague","model":"m"}"#;
    let entries: Vec<String> = halved.chain(gone).chain([new.to_owned()]).collect();
    let feed = feed(&entries.join(","));

    let mut local = LocalEdits::default();
    let merged = merge(newest(), Some(&feed), &local);
    assert_eq!(steady(merged.counting()), 1_473_225_000 - 500_000_000 - 150_000_000 + 5_000_000);
    assert_eq!(steady(merged.routing()), 1_473_225_000, "routing waits for the user");
    assert_eq!(merged.incomplete, [EntryId::new("vague", "m")]);
    let newcomer = merged.entries.iter().find(|e| e.id.provider == "newcomer").unwrap();
    assert_eq!(
        (newcomer.origin, newcomer.terms, newcomer.accepted),
        (Origin::Radar, FreeTerms::Unknown, false)
    );
    assert!(merged.entries.iter().filter(|e| e.disabled_by == Some(DisabledBy::Radar)).count() == 4);

    // The user takes the newcomer, halves it again, and deletes it in the end.
    let id = EntryId::new("newcomer", "m");
    local.accepted.insert(id.clone());
    let merged = merge(newest(), Some(&feed), &local);
    assert_eq!(steady(merged.routing()), 1_473_225_000 + 5_000_000);
    local.fields.insert(id.clone(), Change { tokens: Some(2_500_000), ..Change::default() });
    let merged = merge(newest(), Some(&feed), &local);
    assert_eq!(steady(merged.routing()), 1_473_225_000 + 2_500_000);
    local.deleted.insert(id);
    let merged = merge(newest(), Some(&feed), &local);
    assert_eq!(steady(merged.routing()), 1_473_225_000);
    assert!(merged.entries.iter().all(|e| e.id.provider != "newcomer"));
}

#[test]
fn the_users_word_is_the_last() {
    let grant = Grant {
        kind: GrantKind::RecurringDaily,
        monthly: 100,
        credit: 0,
        pool: Some("x".into()),
        gate: None,
        hard_stop: true,
    };
    let shipped = [Offer { provider: "p", model: "m", terms: FreeTerms::Ok, grant: &grant }];
    let id = EntryId::new("p", "m");
    let feed = feed(
        r#"{"provider":"p","model":"m","name":"Fed","terms":"avoid","kind":"one-time","budget":{"per_model":{"tokens":7}},"hard_stop":false,"disabled":true}"#,
    );
    let mut local = LocalEdits::default();
    let fed = &merge(shipped, Some(&feed), &local).entries[0];
    assert_eq!((fed.terms, fed.grant.kind, fed.name.as_str()), (FreeTerms::Avoid, GrantKind::OneTime, "Fed"));
    assert_eq!(
        (fed.grant.monthly, fed.grant.credit, &fed.grant.pool, fed.grant.hard_stop),
        (0, 7, &None, false)
    );
    assert_eq!(fed.disabled_by, Some(DisabledBy::Radar));

    let edits = Change {
        terms: Some(FreeTerms::Caution),
        kind: Some(GrantKind::Keyless),
        pool: Some(Some("y".into())),
        disabled: Some(false),
        ..Change::default()
    };
    local.fields.insert(id.clone(), edits);
    let edited = &merge(shipped, Some(&feed), &local).entries[0];
    assert_eq!(
        (edited.terms, edited.grant.kind, edited.name.as_str()),
        (FreeTerms::Caution, GrantKind::Keyless, "Fed")
    );
    assert_eq!((edited.grant.monthly, edited.grant.credit, edited.grant.pool.as_deref()), (7, 0, Some("y")));
    assert_eq!(edited.disabled_by, None);
    // Routing has the edits on the shipped values.
    let merged = merge(shipped, Some(&feed), &local);
    let routed = merged.routing().next().unwrap();
    assert_eq!((routed.grant.monthly, routed.grant.hard_stop, routed.terms), (100, true, FreeTerms::Caution));

    local.fields.insert(id, Change { disabled: Some(true), ..Change::default() });
    let off = merge(shipped, None, &local);
    assert_eq!((off.entries[0].disabled_by, off.routing().count()), (Some(DisabledBy::User), 0));
}

/// Shipped offers, entries of a feed, edits: provider and model are one letter each.
#[derive(Debug, Clone)]
struct Case {
    shipped: Vec<(EntryId, FreeTerms, Grant)>,
    feed: Feed,
    other: Feed,
    local: LocalEdits,
}

type Merge = fn(Vec<Offer<'_>>, Option<&Feed>, &LocalEdits) -> Merged;

/// What must hold for every merge. `merge` is the function under test.
fn laws(case: &Case, merge: Merge) -> Result<(), String> {
    let shipped = || -> Vec<Offer<'_>> {
        case.shipped
            .iter()
            .map(|(id, terms, grant)| Offer {
                provider: &id.provider,
                model: &id.model,
                terms: *terms,
                grant,
            })
            .collect()
    };
    let routes = |merged: &Merged| -> Vec<(String, String, FreeTerms, Grant)> {
        let own = |o: Offer<'_>| (o.provider.to_owned(), o.model.to_owned(), o.terms, o.grant.clone());
        merged.routing().map(own).collect()
    };
    let merged = merge(shipped(), Some(&case.feed), &case.local);
    let accepted_nothing = LocalEdits { accepted: BTreeSet::new(), ..case.local.clone() };
    let [without, with, other] = [None, Some(&case.feed), Some(&case.other)]
        .map(|feed| routes(&merge(shipped(), feed, &accepted_nothing)));
    if with != without || other != without {
        return Err("routing depends on a feed that nobody accepted".into());
    }
    if merged.entries.iter().any(|entry| case.local.deleted.contains(&entry.id)) {
        return Err("a deleted entry is back".into());
    }
    for entry in &merged.entries {
        let Some(edits) = case.local.fields.get(&entry.id) else { continue };
        if edits.terms.is_some_and(|terms| terms != entry.terms)
            || edits.hard_stop.is_some_and(|hard| hard != entry.grant.hard_stop)
            || edits.disabled.is_some_and(|off| off != entry.disabled_by.is_some())
        {
            return Err(format!("the user's word on {} is not the last", entry.id));
        }
    }
    let mut turned = case.feed.clone();
    turned.entries.reverse();
    if merge(shipped(), Some(&turned), &case.local) != merged {
        return Err("the order of entries shows".into());
    }
    if merged.counting().any(|offer| {
        let grant = offer.grant;
        (grant.monthly > 0 && !grant.kind.counted()) || (grant.credit > 0 && grant.kind.counted())
    }) {
        return Err("a figure stands where it does not belong".into());
    }
    Ok(())
}

/// Kind, tokens, terms, hard stop and whether it is off, as a feed says.
type Said = (GrantKind, u64, Option<FreeTerms>, Option<bool>, bool);

fn cases() -> impl Strategy<Value = Case> {
    let id = || {
        (prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["x", "y"]))
            .prop_map(|(p, m)| EntryId::new(p, m))
    };
    let terms = || prop::sample::select(vec![FreeTerms::Ok, FreeTerms::Avoid]);
    let kind =
        || prop::sample::select(vec![GrantKind::RecurringDaily, GrantKind::OneTime, GrantKind::Uncapped]);
    let grant = (0..9_u64, any::<bool>()).prop_map(|(monthly, hard_stop)| Grant {
        kind: GrantKind::RecurringMonthly,
        monthly,
        credit: 0,
        pool: None,
        gate: None,
        hard_stop,
    });
    let shipped = prop::collection::btree_map(id(), (terms(), grant), 0..4)
        .prop_map(|rows| rows.into_iter().map(|(id, (terms, grant))| (id, terms, grant)).collect());
    let entry = (kind(), 0..9_u64, prop::option::of(terms()), prop::option::of(any::<bool>()), any::<bool>());
    let entries = || {
        prop::collection::btree_map(id(), entry.clone(), 0..4).prop_map(|entries| {
            let line = |(id, entry): (EntryId, Said)| {
                let (kind, tokens, terms, hard, disabled) = entry;
                serde_json::json!({"provider": id.provider, "model": id.model, "kind": kind, "terms": terms,
                    "hard_stop": hard, "disabled": disabled, "budget": {"per_model": {"tokens": tokens}}})
                .to_string()
            };
            feed(&entries.into_iter().map(line).collect::<Vec<_>>().join(","))
        })
    };
    let change =
        (prop::option::of(terms()), prop::option::of(any::<bool>()), prop::option::of(any::<bool>()))
            .prop_map(|(terms, hard_stop, disabled)| Change {
                terms,
                hard_stop,
                disabled,
                ..Change::default()
            });
    let local = (
        prop::collection::btree_map(id(), change, 0..3),
        prop::collection::btree_set(id(), 0..2),
        prop::collection::btree_set(id(), 0..3),
    )
        .prop_map(|(fields, deleted, accepted)| LocalEdits { fields, deleted, accepted });
    (shipped, entries(), entries(), local).prop_map(|(shipped, feed, other, local)| Case {
        shipped,
        feed,
        other,
        local,
    })
}

fn check(merge: Merge) -> Result<(), String> {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(&cases(), |case| laws(&case, merge).map_err(TestCaseError::fail)).map_err(|e| e.to_string())
}

#[test]
fn the_laws_hold_and_catch_wrong_merges() {
    check(|shipped, feed, local| merge(shipped, feed, local)).unwrap();

    // Routing believes the feed at once.
    let eager: Merge = |shipped, feed, local| {
        let mut local = local.clone();
        local.accepted.extend(feed.into_iter().flat_map(|feed| feed.entries.iter().map(FeedEntry::id)));
        merge(shipped, feed, &local)
    };
    // What the feed names is new, whatever the user deleted.
    let resurrecting: Merge = |shipped, feed, local| {
        let fed: BTreeSet<EntryId> =
            feed.into_iter().flat_map(|feed| feed.entries.iter().map(FeedEntry::id)).collect();
        let deleted = local.deleted.difference(&fed).cloned().collect();
        merge(shipped, feed, &LocalEdits { deleted, ..local.clone() })
    };
    // The newest word wins, and that is the feed's.
    let feed_last: Merge = |shipped, feed, local| {
        let mut merged = merge(shipped, feed, local);
        for entry in feed.into_iter().flat_map(|feed| &feed.entries) {
            let found = merged.entries.iter_mut().find(|e| e.id == entry.id());
            if let (Some(found), Some(terms)) = (found, entry.terms) {
                found.terms = terms;
            }
        }
        merged
    };
    for (wrong, caught) in [
        (eager, "routing depends on a feed"),
        (resurrecting, "a deleted entry is back"),
        (feed_last, "is not the last"),
    ] {
        let error = check(wrong).unwrap_err();
        assert!(error.contains(caught), "{caught}: {error}");
    }
}
