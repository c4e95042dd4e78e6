//! Whatever bytes a file holds, reading it ends without a panic, and what loads also runs.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn read_and_run(format: FilterFormat, bytes: &[u8]) {
    let loaded = FilterSet::builder().file(FilterSource::Project, format, "f", bytes).build();
    for error in &loaded.errors {
        let message = error.to_string();
        assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        assert!(error.line > 0 || error.column == 0);
    }
    for command in ["tool", "git status", ""] {
        let _ = run(&loaded.set, command, None, Level::Standard, "a\nb\n\u{e9} error: x\n\n日本語\n");
    }
}

/// Pieces that together often make nearly right files.
const JSON_PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"id\":\"a\"",
    "\"label\":\"x\"",
    "\"category\":\"git\"",
    "\"match\":{",
    "\"rules\":{",
    "\"commands\":[\"tool\"]",
    "\"dropPatterns\":[\"a\"]",
    "\"dropPatterns\":[\"(\"]",
    "\"replace\":[{\"pattern\":\"b\",\"replacement\":\"$1\"}]",
    "\"maxLines\":2",
    "\"tests\":[]",
    "null",
    "1e9",
    "\"\\ud83d\\ude00\"",
    "\"stripPatterns\":[]",
    "\"commandTypes\":[\"x\"]",
    " ",
    "\n",
];
const TOML_PIECES: &[&str] = &[
    "schema_version = 1\n",
    "schema_version = 2\n",
    "[filters.a]\n",
    "[filters.b]\n",
    "[[tests.a]]\n",
    "match_command = 'tool'\n",
    "category = 'git'\n",
    "commands = ['tool']\n",
    "strip_lines_matching = ['a']\n",
    "keep_lines_matching = ['b', '(']\n",
    "replace = [{pattern = 'b', replacement = '$0'}]\n",
    "name = 't'\n",
    "input = 'a'\n",
    "expected = 'a'\n",
    "head_lines = 1\n",
    "a.b.c = 1\n",
    "= ",
    "[",
    "]",
    "\"",
    "'''",
    "\n",
    "{",
    "}",
];

#[test]
fn nearly_right_files_never_panic() {
    for (format, pieces) in [(FilterFormat::Json, JSON_PIECES), (FilterFormat::Toml, TOML_PIECES)] {
        let files = prop::collection::vec(prop::sample::select(pieces), 0..24);
        runner(400)
            .run(&files, |parts| {
                read_and_run(format, parts.concat().as_bytes());
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn random_bytes_and_broken_samples_never_panic() {
    let sample = tool(r#""dropPatterns": ["^a{2,3}"], "truncateLineAt": 3"#, r#""errorPatterns": ["x"]"#);
    let toml_sample = "schema_version = 2\n[filters.a]\ncategory = 'git'\ncommands = ['tool']\nmax_lines = 3\npreserve = ['é']\n";
    for (format, sample) in [(FilterFormat::Json, sample.as_str()), (FilterFormat::Toml, toml_sample)] {
        let edits = prop::collection::vec((0..sample.len(), any::<u8>()), 0..6);
        runner(300)
            .run(&edits, |edits| {
                let mut bytes = sample.as_bytes().to_vec();
                for (at, byte) in edits {
                    bytes[at] = byte;
                }
                read_and_run(format, &bytes);
                Ok(())
            })
            .unwrap();
        runner(100)
            .run(&prop::collection::vec(any::<u8>(), 0..200), |bytes| {
                read_and_run(format, &bytes);
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn random_patterns_never_panic() {
    let pattern = prop::collection::vec(
        prop::sample::select(
            &[
                "a", "é", ".", "*", "+", "?", "(", ")", "[", "]", "|", "^", "$", "\\\\d", "\\\\b", "{2}",
                "(?i)", "(?=", "\\\\1", "(?P<n>", "\\\\p{L}", "x",
            ][..],
        ),
        1..10,
    );
    runner(600)
        .run(&pattern, |parts| {
            let pattern = parts.concat();
            let rules = format!(
                r#""dropPatterns": ["{pattern}", "plain"], "replace": [{{"pattern": "{pattern}", "replacement": "$1-"}}]"#
            );
            read_and_run(FilterFormat::Json, tool(&rules, "").as_bytes());
            Ok(())
        })
        .unwrap();
}
