//! Files in the forms that other tools' users have: JSON packs, their older flat form, TOML version 1.

use super::*;

#[test]
fn a_json_pack_loads_and_its_tests_run_as_its_authors_know_them() {
    let text = r#"[
      {
        "id": "deploy-log", "label": "Deploy log", "description": "what a deployment did", "category": "cloud", "priority": 60,
        "match": {"outputTypes": ["deploy-log"], "commands": ["^deployctl\\s+(up|down)\\b"], "patterns": ["^deploy ", "^done"],
                  "notCommands": ["--json"], "exitCodes": [0, 1]},
        "rules": {
          "stripAnsi": true, "filterStderr": true,
          "replace": [{"pattern": "\\s+took (\\d+)ms", "replacement": " $1"}],
          "matchOutput": [{"pattern": "^nothing to do$", "message": "deploy: ok", "unless": "warn"}],
          "dropPatterns": ["^\\s*$", "^waiting "], "includePatterns": ["^step ", "^done"], "collapsePatterns": ["^step retry"],
          "deduplicate": true, "truncateLineAt": 20, "maxLines": 6, "headLines": 2, "tailLines": 2, "onEmpty": "deploy: quiet"
        },
        "preserve": {"errorPatterns": ["boom"], "summaryPatterns": ["^DONE"]},
        "tests": [
          {"name": "keeps steps", "input": "\u001b[32mstep one\u001b[0m took 12ms\n\nWaiting for pods\nSTDERR: step two\nnoise\ndone\n", "expected": "step one 12\nstep two\ndone"},
          {"name": "short circuit", "input": "hello\nNothing to do\n", "expected": "deploy: ok"},
          {"name": "guarded by unless", "input": "Nothing to do\nwarn: x\ndone", "expected": "done"},
          {"name": "repeats once", "input": "step retry\ndone\nstep retry\n", "expected": "step retry\ndone"},
          {"name": "folds runs", "input": "step a\nstep a\nstep a\ndone", "expected": "step a (x3)\ndone"},
          {"name": "cuts lines", "input": "step 你好世界你好世界你好世界你好世界", "expected": "step 你好世界你好世界你好世界你好…"},
          {"name": "says when nothing is left", "input": "waiting for x\n", "expected": "deploy: quiet\n"},
          {"name": "keeps head, tail and what is preserved", "input": "step 1\nstep 2\nstep 3\nstep boom\nstep 5\nstep 6\nstep 7", "expected": "step 1\nstep 2\n[rtk: 1 lines omitted]\nstep boom\n[rtk: 1 lines omitted]\nstep 6\nstep 7"},
          {"name": "more with the gentle level", "intensity": "minimal", "command": "deployctl up", "exitCode": 0, "input": "step 1\nstep 2\nstep 3\nstep 4\nstep 5\nstep 6\nstep 7", "expected": "step 1\nstep 2\nstep 3\nstep 4\nstep 5\nstep 6\nstep 7"}
        ]
      },
      {"id": "plain", "label": "Plain", "category": "generic", "match": {"outputTypes": ["plain"]}, "rules": {"dropPatterns": ["^-+$"]}}
    ]"#;
    let loaded = json(text);
    assert_eq!(messages(&loaded), [""; 0]);
    assert_eq!(custom(&loaded.set), ["deploy-log", "plain"]);
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["project filters filters.json: filter \"plain\": it has no tests"]);
}

#[test]
fn the_older_flat_form_loads() {
    let text = r#"{"name": "My Build Tool", "commandTypes": ["my-build"], "stripPatterns": ["^debug"], "keepPatterns": ["^(info|error)"],
        "priorityPatterns": ["error"], "collapsePatterns": ["^info same"], "preserveHead": 5, "preserveTail": 5, "maxLines": 40,
        "tests": [{"name": "t", "input": "debug x\ninfo same\ninfo same\nerror: y\nother", "expected": "info same\nerror: y"}]}"#;
    let loaded = json(text);
    assert_eq!(messages(&loaded), [""; 0]);
    assert_eq!(custom(&loaded.set), ["my-build-tool"]);
    let (entry, _) = loaded.set.all().next().unwrap();
    assert!(entry.def.rules.deduplicate, "on where something collapses");
    assert_eq!((entry.def.rules.head, entry.def.rules.max_lines), (Some(5), 40));
}

#[test]
fn toml_version_1_loads_and_matters_case() {
    let text = r#"
schema_version = 1

[filters.frob]
description = "frob runs"
match_command = '^frob\s+run\b'
strip_ansi = true
filter_stderr = true
strip_lines_matching = ['^\s*$', '^DEBUG ']
replace = [{ pattern = '(\d+)\.\d+s', replacement = '${1}s' }]
match_output = [{ pattern = '^all good$', message = 'frob: ok', unless = 'WARN' }]
truncate_lines_at = 12
head_lines = 2
tail_lines = 1
on_empty = "frob: nothing"

[filters.frob-list]
match_command = '^frob\s+list'
keep_lines_matching = ['^item']
max_lines = 2

[[tests.frob]]
name = "case matters"
input = """
DEBUG a
debug b took 1.25s

end"""
expected = "debug b t...\nend"

[[tests.frob]]
name = "one dot or three"
input = "a long line of text"
expected = "a long line…"

[[tests.frob]]
name = "head and tail with an exact gap"
input = "1\n2\n3\n4\n5\n"
expected = "1\n2\n... (2 lines omitted)\n5"

[[tests.frob]]
name = "short circuit"
input = "x\nall good\n"
expected = "frob: ok"

[[tests.frob]]
name = "nothing"
input = ""
expected = "frob: nothing"

[[tests.frob-list]]
name = "first lines"
input = "head\nitem 1\nitem 2\nitem 3\nitem 4"
expected = "item 1\nitem 2\n… (2 lines truncated)"
"#;
    let loaded = toml(text);
    assert_eq!(messages(&loaded), [""; 0]);
    assert_eq!(custom(&loaded.set), ["frob", "frob-list"]);
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "project filters filters.toml: filter \"frob\": filter_stderr has no effect: the output is already one text"
        ]
    );
}

#[test]
fn exact_json_ignores_case_and_toml_1_does_not() {
    let json_text = tool(r#""dropPatterns": ["^noise"]"#, "");
    let toml_text =
        "schema_version = 1\n[filters.tool]\nmatch_command = '^tool'\nstrip_lines_matching = ['^noise']\n";
    let input =
        format!("{}Noise and noise again and again\nNOISE without an end, and more\nend\n", numbered(0..1));
    let dropped =
        |set: &FilterSet| run(set, "tool", None, Level::Standard, &input).unwrap().contains("omitted");
    assert!(dropped(&json(&json_text).set));
    assert!(!dropped(&toml(toml_text).set));
}
