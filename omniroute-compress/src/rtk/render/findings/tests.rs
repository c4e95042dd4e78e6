//! Laws that hold for every renderer of the family, over hostile and random outputs.

use proptest::prelude::*;

use super::RENDERERS;
use super::model::{Bound, Kind};
use super::parse::parse;
use crate::rtk::kit::{Draft, Level, Output, Render, Verdict, assemble};

fn run(render: Render, text: &str, level: Level) -> String {
    let out = Output::new(text, level);
    let mut draft = Draft::new(out.len());
    if render(&out, &mut draft) == Verdict::NotMine {
        draft.reset();
    }
    assemble(&out, &mut draft, &mut || None).text
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a rendering lost: lines nobody knows, error lines, places of findings.
fn lost(text: &str, shown: &str) -> Option<String> {
    let out = Output::new(text, Level::Standard);
    let parsed = parse(&out);
    let blob = squeezed(shown);
    for (i, kind) in parsed.kinds.iter().enumerate() {
        let line = out.line(i);
        let is_kept = match kind {
            Kind::Other => line.starts_with("unknown"),
            Kind::Finding(n) => parsed.findings.get(*n as usize).is_some_and(|f| f.bound == Bound::Line),
            _ => false,
        };
        if is_kept && !blob.contains(&squeezed(line)) {
            return Some(format!("line {line:?}"));
        }
    }
    let places = parsed.findings.iter().find(|f| !shown.contains(f.pos.path) || !shown.contains(f.pos.line));
    places.map(|f| format!("place {}:{}", f.pos.path, f.pos.line))
}

/// Renders at every level and checks; the first complaint.
fn complaint(render: Render, text: &str) -> Option<String> {
    Level::ALL.into_iter().find_map(|level| {
        let shown = run(render, text, level);
        lost(text, &shown).map(|what| format!("{} at {}:\n{shown}", what, level.name()))
    })
}

const LINES: &[&str] = &[
    "unknown words of a tool",
    "unknown: failed to do a thing",
    "src/a.py:3:5: E711 Comparison to `None`",
    "src/a.py:4:5: E711 Comparison to `x`",
    "src/b.py:14:5: E711 Comparison to `y`",
    "src/b.py:9: note: Use \"-> None\"",
    "src/b.py:9: error: Function is missing a type  [no-untyped-def]",
    "src/m1.c: In function \u{2018}f\u{2019}:",
    "src/m1.c:2:24: warning: unused variable \u{2018}u_1\u{2019} [-Wunused]",
    "src/m2.c:2:24: warning: unused variable \u{2018}u_2\u{2019} [-Wunused]",
    "src/m3.c:7:1: warning: unused variable \u{2018}u_3\u{2019} [-Wunused]",
    "    2 | int x;",
    "      |     ^~~",
    "    ^^^",
    "/home/u/src/error.ts",
    "  10:7  error  'x' is not defined  no-undef",
    "  11:7  warning  Unexpected console  no-console",
    "gcc -Wall -c src/m1.c -o m1.o",
    "[1/3] Building C object m1.c.o",
    "make[1]: Entering directory '/x'",
    "make: *** [m1.o] Error 1",
    "warning: unused import: `a`",
    "error[E0425]: cannot find `b`",
    " --> src/lib.rs:2:33",
    "  |",
    "   Compiling x v0.1.0",
    "[INFO] Building x",
    "[ERROR] /p/A.java:[3,5] x",
    "src/a.ts(5,21): error TS2322: Type",
    "In a.sh line 2:",
    "^-- SC2086 (info): Double quote.",
    "[warn] src/a.ts",
    "a.ts:8:45 lint/a \u{2501}\u{2501}\u{2501}\u{2501}\u{2501}\u{2501}",
    "  \u{d7} This is bad.",
    "   ,-[src/p.js:6:20]",
    "dist/a.js  1.05 kB \u{2502} gzip: 0.5 kB",
    "  src/m9.c: 4:4 u_9",
    "src/m1.c:2:24: warning: x (+3 more):",
    "",
    "\u{4e2d}\u{6587}.py:1:1: \u{fffd}",
];

fn soup() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        9 => proptest::sample::select(LINES).prop_map(str::to_owned),
        1 => "[a-z0-9:|^(), /.\\[\\]-]{0,30}".prop_map(|t| format!("unknown {t}")),
    ];
    proptest::collection::vec(line, 20..120).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_in_random_outputs(text in soup()) {
        for (id, render) in RENDERERS {
            let complaint = complaint(*render, &text);
            prop_assert!(complaint.is_none(), "{id}: {}", complaint.unwrap_or_default());
        }
    }

    #[test]
    fn rendering_again_changes_nothing(text in soup()) {
        for (id, render) in RENDERERS {
            let once = run(*render, &text, Level::Standard);
            if !once.contains("[rtk: ") {
                let twice = run(*render, &once, Level::Standard);
                let gain = once.len().saturating_sub(twice.len()) * 100 / once.len().max(1);
                prop_assert!(gain < 3, "{id} gains {gain} % more:\n{once}\n---\n{twice}");
            }
        }
    }
}

/// A broken twin: it hides every finding.
fn hides_findings(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    for finding in &parse(out).findings {
        draft.cover(finding.at);
    }
    Verdict::Done
}

#[test]
fn the_check_catches_a_renderer_that_hides_findings() {
    let text = LINES.join("\n");
    assert!(complaint(hides_findings, &text).is_some());
    for (id, render) in RENDERERS {
        assert_eq!(complaint(*render, &text), None, "{id}");
    }
}

#[test]
fn hostile_outputs() {
    let filler = "unknown filler line that makes the output long enough to be looked at\n".repeat(12);
    for (what, text) in [
        ("a file named error", "src/error: x\nerror.ts:3:4: bad x\nerror.ts:5:6: bad y\n"),
        ("a cut head", "      |     ^~~\n    2 | int x;\nsrc/a.c:3:4: warning: y\n"),
        ("a cut tail", "error[E0425]: cannot find x\n --> src/lib.rs:2:3\n  |\n2 | x"),
        (
            "interleaved",
            "src/a.c: In function 'f':\nsrc/b.c: In function 'g':\nsrc/b.c:1:2: error: b\nsrc/a.c:1:2: error: a\n",
        ),
        ("times", "12:30:45 started\n12:30:46: unknown done\n"),
        ("only blanks", "\n\n\n   \n"),
        ("no line end", "a.py:1:1: E1 x"),
        ("a heading at the end", "/a/b.ts"),
    ] {
        for text in [text.to_owned(), format!("{filler}{text}"), text.replace('\n', "\r\n")] {
            for (id, render) in RENDERERS {
                assert_eq!(complaint(*render, &text), None, "{id}: {what}");
            }
        }
    }
}

#[test]
fn long_lines_and_many_findings_are_linear() {
    let long = format!("a.py:1:1: E1 {}\n", "x ".repeat(100_000));
    let many: String = (0..20_000).map(|n| format!("src/f{n}.py:{n}:1: E{} message {n}\n", n % 7)).collect();
    let open: String = "error[E1]: x\n --> a.rs:1:1\n".repeat(5_000);
    for (_, render) in RENDERERS {
        for text in [&long, &many, &open] {
            assert!(run(*render, text, Level::Standard).len() <= text.len() + 10);
        }
    }
}
