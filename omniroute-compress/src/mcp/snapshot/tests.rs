//! A page keeps what can be acted on, whatever else goes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::line::ACTIVE;
use super::*;

/// A page of a shop as a browser's tool prints it: header, form, a long list, pages.
fn shop(rows: usize) -> String {
    let mut out = String::from(
        "### Page state\n- Page URL: https://shop.example/list\n- generic [active] [ref=e1]:\n  - banner [ref=e2]:\n    - link \"Home\" [ref=e3] [cursor=pointer]:\n      - /url: /\n    - generic:\n      - img\n    - searchbox \"Search\" [ref=e4]\n  - form [ref=e5]:\n    - checkbox \"In stock\" [checked] [ref=e6]\n    - button \"Apply\" [ref=e7]\n  - list [ref=e8]:\n",
    );
    for n in 0..rows {
        let state = if n == rows / 2 { " [selected]" } else { "" };
        let _ = writeln!(
            out,
            "    - listitem{state} [ref=i{n}]:\n      - heading \"Lamp {n}\" [level=3] [ref=h{n}]\n      - text: {n}.99 EUR\n      - link \"Details of lamp number {n} with a name that goes on and on\" [ref=l{n}]\n      - button \"Add\" [ref=b{n}]"
        );
    }
    out + "  - navigation [ref=n1]:\n    - link \"Next\" [ref=n2]\n"
}

fn active_refs(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let line = line.trim_start_matches([' ', '-', '\'']);
        if line.split([' ', ':']).next().is_some_and(|role| ACTIVE.contains(&role)) {
            found.extend(
                line.split("[ref=").skip(1).filter_map(|r| r.split_once(']')).map(|(r, _)| r.to_owned()),
            );
        }
    }
    found
}

#[test]
fn a_page_keeps_everything_that_can_be_acted_on() {
    for rows in [29, 30, 100, 1000] {
        let page = shop(rows);
        let out = filter_snapshot(&page, SnapshotOptions::default());
        let text = out.as_ref().map_or(page.as_str(), |o| &o.text);
        assert_eq!(active_refs(&page), active_refs(text), "{rows}");
        for fact in ["[checked]", "[selected]", "\"Apply\"", "https://shop.example/list", "\"Lamp 0\""] {
            assert!(text.contains(fact), "{rows}: {fact}");
        }
        assert!(text.contains(&format!("\"Lamp {}\"", rows - 1)));
        if rows >= 100 {
            let out = out.unwrap();
            assert!(out.text.len() * 10 < page.len() * 7, "{} of {}", out.text.len(), page.len());
            assert!(out.shortened > 0 && out.lines > out.shortened);
            // What stands there as it stood, and what is counted as gone, make the whole.
            let original: BTreeSet<&str> = page.lines().collect();
            let same: Vec<&str> = out.text.lines().filter(|l| original.contains(l)).collect();
            assert_eq!(same.len() + out.lines as usize, page.lines().count());
            let elements = |lines: &[&str]| lines.iter().filter(|l| l.trim_start().starts_with("- ")).count();
            let all: Vec<&str> = page.lines().collect();
            assert_eq!(elements(&same) + (out.elements + out.shortened) as usize, elements(&all));
        }
    }
}

#[test]
fn the_check_catches_a_lost_reference() {
    let page = shop(100);
    let out = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
    assert_ne!(active_refs(&page), active_refs(&out.text.replace("[ref=l50]", "")));
}

#[test]
fn names_with_signs_keep_their_references() {
    let row = |n: usize| match n % 2 {
        0 => format!("  - 'link \"Part: {n}\" [ref=e{n}]'\n"),
        _ => format!("  - link \"see [ref=x] and \\\"y\\\"\" [ref=e{n}]: a \"word\"\n"),
    };
    let page = format!("- main [ref=m]:\n{}", (0..200).map(row).collect::<String>());
    let out = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
    assert!(out.shortened > 100);
    for n in 0..200 {
        assert!(out.text.contains(&format!("[ref=e{n}]")), "{n}: {}", out.text);
    }
    assert!(out.text.contains(" \"Part: 100\" [ref=e100]"), "{}", out.text);
}

#[test]
fn text_behind_the_tree_stays() {
    let log = (0..90).map(|n| format!("- [ERROR] request {n} failed\n")).collect::<String>();
    let note = format!("### Result\n{}\n", "what the tool says itself ".repeat(30));
    let page = format!("{}### Console\n{log}{note}", shop(100));
    for max_bytes in [50_000, 3_000] {
        let out = filter_snapshot(&page, SnapshotOptions { max_bytes, ..Default::default() }).unwrap();
        assert!(out.text.contains(&log) && out.text.ends_with(&note), "{}", out.text);
    }
}

#[test]
fn other_texts_and_short_ones_are_none() {
    let prose = "- one thing\n- another thing\n".repeat(200);
    assert_eq!(filter_snapshot(&prose, SnapshotOptions::default()), None);
    assert_eq!(filter_snapshot(&shop(3), SnapshotOptions::default()).map(|o| o.lines), None);
    assert_eq!(filter_snapshot("", SnapshotOptions { min_bytes: 0, ..Default::default() }), None);
}

#[test]
fn a_text_over_the_limit_is_cut_in_the_middle() {
    let mut page = String::from("- main [ref=m]:\n");
    for n in 0..2000 {
        let role = ["heading", "paragraph", "article"][n % 3];
        let _ = writeln!(
            page,
            "  - {role} \"part {n}\" [ref=p{n}]: words of part {n}\n  - link \"go {n}\" [ref=g{n}]"
        );
    }
    assert!(page.len() > 50_001);
    let out = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
    assert_eq!(active_refs(&page), active_refs(&out.text));
    assert!(out.text.contains("part 0\"") && out.text.contains("part 1999\""));
    assert!(out.text.contains("[omitted: ") && out.text.len() < page.len());
    assert_eq!(filter_snapshot(&page, SnapshotOptions { max_bytes: page.len(), ..Default::default() }), None);
}

#[test]
fn each_setting_changes_the_outcome() {
    let page = shop(60);
    let plain = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
    for options in [
        SnapshotOptions { min_bytes: 1 << 20, ..Default::default() },
        SnapshotOptions { run: 100, ..Default::default() },
        SnapshotOptions { head: 12, ..Default::default() },
        SnapshotOptions { tail: 9, ..Default::default() },
        SnapshotOptions { max_bytes: 3_000, ..Default::default() },
    ] {
        assert_ne!(filter_snapshot(&page, options).as_ref(), Some(&plain), "{options:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn references_and_states_stay_in_any_tree(
        rows in prop::collection::vec((0_usize..4, 0_usize..6, prop::bool::weighted(0.05), 1_usize..50), 1..40),
        max in prop::sample::select(vec![500_usize, 3_000, 50_000]),
    ) {
        let roles = ["generic", "listitem", "link", "button", "img", "text"];
        let mut page = String::from("- main [ref=m]:\n");
        let mut id = 0;
        for (depth, role, state, times) in rows {
            for _ in 0..times {
                id += 1;
                let pad = "  ".repeat(depth + 1);
                let state = if state { " [expanded]" } else { "" };
                let reference = if roles[role] == "text" { String::new() } else { format!(" [ref=r{id}]") };
                let _ = writeln!(page, "{pad}- {}{state}{reference}: some words here", roles[role]);
            }
        }
        let options = SnapshotOptions { min_bytes: 0, max_bytes: max, ..Default::default() };
        if let Some(out) = filter_snapshot(&page, options) {
            prop_assert_eq!(active_refs(&page), active_refs(&out.text));
            prop_assert_eq!(page.matches("[expanded]").count(), out.text.matches("[expanded]").count());
            prop_assert!(out.text.len() < page.len());
        }
    }
}
