//! Tests of the headline: both snapshots, hand-made offers, and sums that are wrong in a known way.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::file::FreeTiers;
use super::super::row::Grant;
use super::*;

fn day(text: &str) -> Day {
    text.parse().unwrap()
}

fn embedded(as_of: &str) -> Headline {
    FreeTiers::embedded().headline(day(as_of)).unwrap()
}

#[test]
fn free_headline() {
    let old = embedded("2026-08-20");
    assert_eq!(
        (old.steady, old.first_month, old.gated, old.naive_sum),
        (1_508_225_000, 2_134_725_000, 0, 6_486_075_000)
    );
    assert_eq!(
        (old.without_largest, old.without_avoid, old.without_both),
        (508_225_000, 1_508_200_000, 508_200_000)
    );
    assert_eq!((old.one_time, old.recurring_credit), (625_500_000, 1_000_000));
    assert_eq!(
        (old.rows, old.pool_keys, old.positive_pools, old.unpooled_rows, old.avoid_providers),
        (455, 40, 20, 0, 15)
    );
    assert_eq!(old.uncapped.len(), 13);

    let new = embedded("2026-09-12");
    assert_eq!(
        (new.steady, new.first_month, new.gated, new.naive_sum),
        (1_473_225_000, 2_074_725_000, 6_000_000, 7_403_075_000)
    );
    assert_eq!(
        (new.without_largest, new.without_avoid, new.without_both),
        (473_225_000, 1_473_200_000, 473_200_000)
    );
    assert_eq!((new.one_time, new.recurring_credit), (600_500_000, 1_000_000));
    assert_eq!(
        (new.rows, new.pool_keys, new.positive_pools, new.unpooled_rows, new.avoid_providers),
        (446, 34, 16, 5, 13)
    );
    assert_eq!(new.uncapped.len(), 16);
    assert!(FreeTiers::embedded().headline(day("2026-08-21")).is_none());
}

/// The published list of the older snapshot, largest first.
#[test]
fn pools_of_the_older_snapshot() {
    let old = embedded("2026-08-20");
    let list: Vec<(&str, u64)> = old.budgets.iter().map(|b| (b.name(), b.monthly / 1000)).collect();
    assert_eq!(
        list,
        [
            ("mistral", 1_000_000),
            ("llm7-free", 150_000),
            ("nara-free", 150_000),
            ("gemini-free", 60_000),
            ("cerebras", 30_000),
            ("cloudflare-ai", 30_000),
            ("api-airforce", 24_000),
            ("ollama-cloud", 20_000),
            ("groq", 15_000),
            ("bluesminds", 7200),
            ("sambanova", 6000),
            ("arcee-free", 4800),
            ("navy-free", 4500),
            ("bazaarlink", 3600),
            ("openrouter-free", 1200),
            ("cohere", 800),
            ("huggingchat", 500),
            ("morph", 400),
            ("huggingface", 200),
            ("kiro", 25),
        ]
    );
    assert_eq!(
        old.budgets.iter().filter(|b| b.terms == FreeTerms::Avoid).map(Budget::name).collect::<Vec<_>>(),
        ["kiro"]
    );
    let boost = &old.boosts[0];
    assert_eq!((boost.pool.as_str(), boost.monthly), ("openrouter-free", 24_000_000));

    let new = embedded("2026-09-12");
    let groq = new.budgets.iter().find(|b| b.name() == "groq").unwrap();
    assert_eq!((&groq.pool, groq.monthly, groq.models, groq.hard_stop), (&None, 30_000_000, 5, true));
    assert!(new.largest().unwrap().evidence.as_ref().unwrap().starts_with("console-verified 2026-09-02"));
}

/// provider, terms, kind, monthly, credit, pool, gate
type Line = (&'static str, FreeTerms, GrantKind, u64, u64, &'static str, bool);

fn grant(line: &Line) -> Grant {
    Grant {
        kind: line.2,
        monthly: line.3,
        credit: line.4,
        pool: (!line.5.is_empty()).then(|| line.5.to_owned()),
        gate: line.6.then(|| "regional-identity".to_owned()),
        hard_stop: false,
    }
}

fn headline(lines: &[Line]) -> Headline {
    let grants: Vec<Grant> = lines.iter().map(grant).collect();
    let offers = lines.iter().zip(&grants).map(|(line, grant)| Offer {
        provider: line.0,
        model: "m",
        terms: line.1,
        grant,
    });
    Headline::of(day("2026-01-01"), offers)
}

#[test]
fn adds_up_by_hand() {
    use FreeTerms::{Avoid, Ok};
    use GrantKind::*;
    let lines: &[Line] = &[
        ("a", Ok, RecurringDaily, 100, 0, "x", false),
        ("a", Ok, RecurringMonthly, 70, 0, "x", false),
        // The largest figure of y is one to avoid: without it 40 remain.
        ("b", Avoid, Keyless, 60, 0, "y", false),
        ("b", Ok, Keyless, 40, 0, "y", false),
        ("c", Ok, RecurringDaily, 5, 0, "", false),
        ("c", Ok, RecurringDaily, 6, 0, "", false),
        ("d", Avoid, RecurringDaily, 9, 0, "", false),
        ("e", Ok, RecurringDaily, 500, 0, "z", true),
        ("e", Ok, RecurringDaily, 400, 0, "z", true),
        ("f", Ok, OneTime, 0, 1000, "signup", false),
        ("f", Ok, OneTime, 0, 1000, "signup", false),
        ("f", Ok, OneTime, 0, 30, "", false),
        ("g", Ok, RecurringCredit, 0, 8, "credit", false),
        ("h", Ok, Uncapped, 0, 0, "h", false),
        ("i", Ok, Discontinued, 0, 0, "", false),
    ];
    let sum = headline(lines);
    assert_eq!(sum.steady, 100 + 60 + 5 + 6 + 9);
    assert_eq!(sum.without_largest, 80);
    assert_eq!(sum.without_avoid, 100 + 40 + 11);
    assert_eq!(sum.without_both, 51);
    assert_eq!((sum.gated, sum.one_time, sum.recurring_credit), (500, 1030, 8));
    assert_eq!(sum.first_month, 180 + 1038);
    assert_eq!(sum.naive_sum, 100 + 70 + 60 + 40 + 5 + 6 + 9 + 900);
    assert_eq!((sum.pool_keys, sum.positive_pools, sum.unpooled_rows, sum.rows), (2, 2, 3, 15));
    assert_eq!((sum.avoid_providers, sum.uncapped.as_slice()), (2, &["h".to_owned()][..]));

    let both = Selection { exclude_avoid: true, without_largest: true };
    let names: Vec<_> = sum.selected(both).into_iter().map(|(b, tokens)| (b.name(), tokens)).collect();
    assert_eq!(names, [("y", 40), ("c", 11)]);
    let nothing = headline(&[]);
    assert_eq!((nothing.steady, nothing.without_largest, nothing.without_both), (0, 0, 0));
    assert!(nothing.largest().is_none() && nothing.selected(both).is_empty());
}

/// Figures that hold whatever the offers are. `sum` is the function under test.
fn laws(lines: &[Line], sum: fn(&[Line]) -> Headline) -> Result<(), String> {
    let whole = sum(lines);
    let mut turned = lines.to_vec();
    turned.reverse();
    if sum(&turned) != whole {
        return Err("the order of rows shows".into());
    }
    // A second row of a pool with the same figure adds nothing but itself.
    if let Some(pooled) = lines.iter().find(|line| !line.5.is_empty()) {
        let mut more = lines.to_vec();
        more.push(*pooled);
        let more = sum(&more);
        if (more.steady, more.gated, more.first_month) != (whole.steady, whole.gated, whole.first_month) {
            return Err("a pool counts twice".into());
        }
    }
    // Credits never touch the headline.
    let without_credits: Vec<Line> =
        lines.iter().map(|line| (line.0, line.1, line.2, line.3, 0, line.5, line.6)).collect();
    if sum(&without_credits).steady != whole.steady {
        return Err("a credit is part of the headline".into());
    }
    let open: Vec<Line> = lines.iter().filter(|line| !line.6).copied().collect();
    if sum(&open).steady != whole.steady {
        return Err("a gated row is part of the headline".into());
    }
    let tolerable: Vec<Line> = lines.iter().filter(|line| line.1 != FreeTerms::Avoid).copied().collect();
    if sum(&tolerable).steady != whole.without_avoid {
        return Err("the figure without avoid is not the figure of the other rows".into());
    }
    if whole.budgets.len() != sum(lines).selected(Selection::default()).len()
        || whole.selected(Selection::default()).iter().map(|(_, tokens)| tokens).sum::<u64>() != whole.steady
    {
        return Err("the budgets do not add up".into());
    }
    for exclude_avoid in [false, true] {
        let [all, rest] = [false, true].map(|without_largest| {
            let selection = Selection { exclude_avoid, without_largest };
            let listed: u64 = whole.selected(selection).iter().map(|(_, tokens)| tokens).sum();
            (whole.monthly(selection), listed)
        });
        if all.0 != all.1 || rest.0 != rest.1 || rest.0 > all.0 {
            return Err("a selection does not add up".into());
        }
    }
    Ok(())
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    use GrantKind::*;
    let kind = proptest::sample::select(vec![
        RecurringDaily,
        RecurringMonthly,
        Keyless,
        RecurringCredit,
        OneTime,
        Uncapped,
    ]);
    let terms = proptest::sample::select(vec![FreeTerms::Ok, FreeTerms::Caution, FreeTerms::Avoid]);
    let provider = proptest::sample::select(vec!["a", "b", "c"]);
    let pool = proptest::sample::select(vec!["", "x", "y", "z"]);
    let line = (provider, terms, kind, 0..50_u64, 1..50_u64, pool, any::<bool>()).prop_map(
        |(provider, terms, kind, monthly, credit, pool, gate)| -> Line {
            let counted = kind.counted();
            (
                provider,
                terms,
                kind,
                if counted { monthly } else { 0 },
                if counted { 0 } else { credit },
                pool,
                gate && counted,
            )
        },
    );
    proptest::collection::vec(line, 0..12)
}

fn check(sum: fn(&[Line]) -> Headline) -> Result<(), String> {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner
        .run(&lines(), |lines| laws(&lines, sum).map_err(TestCaseError::fail))
        .map_err(|error| error.to_string())
}

#[test]
fn the_laws_hold_and_catch_wrong_sums() {
    check(headline).unwrap();

    // Every row on its own.
    fn no_dedup(lines: &[Line]) -> Headline {
        let apart: Vec<Line> = lines.iter().map(|l| (l.0, l.1, l.2, l.3, l.4, "", l.6)).collect();
        headline(&apart)
    }
    // What sits behind an identity check is given to all.
    fn no_gate(lines: &[Line]) -> Headline {
        let open: Vec<Line> = lines.iter().map(|l| (l.0, l.1, l.2, l.3, l.4, l.5, false)).collect();
        headline(&open)
    }
    // A gift for signing up comes every month.
    fn with_credits(lines: &[Line]) -> Headline {
        let mut sum = headline(lines);
        sum.steady += sum.one_time;
        sum
    }
    // The terms of the whole pool rule, not those of the row.
    fn terms_of_the_pool(lines: &[Line]) -> Headline {
        let mut sum = headline(lines);
        sum.without_avoid =
            sum.budgets.iter().filter(|b| b.terms != FreeTerms::Avoid).map(|b| b.monthly).sum();
        sum
    }
    // The first row of a pool rules.
    fn first_row(lines: &[Line]) -> Headline {
        let mut seen = BTreeSet::new();
        let first: Vec<Line> = lines.iter().filter(|l| l.5.is_empty() || seen.insert(l.5)).copied().collect();
        headline(&first)
    }
    for (wrong, caught) in [
        (no_dedup as fn(&[Line]) -> Headline, "a pool counts twice"),
        (no_gate, "a gated row is part of the headline"),
        (with_credits, "a credit is part of the headline"),
        (terms_of_the_pool, "the figure without avoid"),
        (first_row, "the order of rows shows"),
    ] {
        let error = check(wrong).unwrap_err();
        assert!(error.contains(caught), "{caught}: {error}");
    }
}
