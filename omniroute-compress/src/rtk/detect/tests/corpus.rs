//! The confusion matrix over the corpus of real outputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{bare, classes, shell};
use crate::rtk::detect::classes::ALL;
use crate::rtk::detect::{FILE_VIEW, LOG, STRUCTURED, TRACE, UNKNOWN};

/// Where the corpus stands.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rtk-corpus");

/// What a file may be, by the start of its name; the longest start decides. The first class is the command's own.
const TRUTH: &[(&str, &[&str])] = &[
    ("biome", &["biome"]),
    ("cargo-build", &["cargo-build"]),
    ("cargo-check", &["cargo-build"]),
    ("cargo-clippy", &["cargo-clippy", "cargo-build"]),
    ("cargo-doc", &["cargo-build"]),
    ("cargo-fmt", &["cargo-fmt"]),
    ("cmake", &["cmake", "gcc", "make", "ninja"]),
    ("eslint", &["build-eslint"]),
    ("gcc", &["gcc"]),
    ("go-build", &["go-build"]),
    ("go-vet", &["go-vet", "go-build"]),
    ("javac", &["javac"]),
    ("make", &["make", "gcc"]),
    ("mvn", &["mvn"]),
    ("mypy", &["mypy"]),
    ("ninja", &["ninja", "gcc"]),
    ("npm-run-build", &["build-vite"]),
    ("npm-run-lint", &["build-eslint"]),
    ("prettier", &["prettier"]),
    ("ruff-format-diff", &[UNKNOWN]),
    ("ruff", &["ruff"]),
    ("tsc", &["build-typescript"]),
    ("vite-build", &["build-vite"]),
    ("webpack", &["build-webpack"]),
    ("curl-json", &[STRUCTURED]),
    ("curl-html", &[UNKNOWN]),
    ("curl", &["curl"]),
    ("wget", &["wget"]),
    ("aws", &["aws"]),
    ("gcloud", &["gcloud"]),
    ("gh-", &["gh"]),
    ("docker-build", &["docker-build"]),
    ("docker-logs", &["docker-logs", LOG]),
    ("docker-ps", &["docker-ps"]),
    ("app-log", &[LOG]),
    ("jsonl-pino", &[LOG]),
    ("repeated-lines-log", &[LOG]),
    ("postgres-server-log", &["docker-logs", LOG]),
    ("asan", &[TRACE]),
    ("go-panic", &[TRACE]),
    ("node-stack", &[TRACE]),
    ("node-unhandled", &[TRACE]),
    ("python-", &[TRACE]),
    ("rust-panic", &[TRACE]),
    ("tqdm", &["progress"]),
    ("git-blame", &[FILE_VIEW]),
    ("git-branch", &["git-branch"]),
    ("git-switch", &["git-branch"]),
    ("git-commit", &["git-commit"]),
    ("git-diff-cached-stat", &["git-stat"]),
    ("git-diff-stat", &["git-stat"]),
    ("git-diff-name-status", &["git-stat"]),
    ("git-diff", &["git-diff"]),
    ("git-log", &["git-log", "git-show"]),
    ("git-show", &["git-show", "git-log", "git-stat"]),
    ("git-pull", &["git-pull", "git-commit", "git-stat"]),
    ("git-push", &["git-push"]),
    ("git-status", &["git-status"]),
    ("git-not-a-repo", &["git-status"]),
    ("git-worktree", &[UNKNOWN]),
    ("kubectl-config", &[STRUCTURED]),
    ("kubectl-dry-run", &[STRUCTURED]),
    ("kubectl-get-json", &[STRUCTURED]),
    ("kubectl-kustomize", &[UNKNOWN]),
    ("kubectl", &["kubectl"]),
    ("terraform-apply", &["terraform-apply"]),
    ("terraform-fmt", &["diff"]),
    ("terraform-init", &["terraform-init"]),
    ("terraform-plan", &["terraform-plan"]),
    ("terraform-show", &[UNKNOWN]),
    ("apt-get", &["apt-get"]),
    ("dpkg-l", &["dpkg"]),
    ("npm-audit", &["npm-audit", "npm-install"]),
    ("npm-ls", &["npm-ls"]),
    ("npm-outdated", &["npm-outdated"]),
    ("npm-view-json", &[STRUCTURED]),
    ("npm-view", &[UNKNOWN, "npm-install"]),
    ("npm-explain", &[UNKNOWN]),
    ("npm-fund", &[UNKNOWN]),
    ("npm-pack", &[UNKNOWN, "npm-install"]),
    ("ruff-github", &[UNKNOWN]),
    ("biome-format", &[UNKNOWN, "biome"]),
    ("uv-run", &[UNKNOWN, "uv-sync", TRACE]),
    ("npm-run-missing", &["npm-install"]),
    ("npm-run-script", &["npm-install", TRACE]),
    ("npm-test-jest", &["test-jest"]),
    ("npm-test-vitest", &["test-vitest"]),
    ("npm-", &["npm-install"]),
    ("pip-list", &["pip-list"]),
    ("pip-outdated", &["pip-list"]),
    ("pip-show", &["pip-list"]),
    ("pip-build-fail", &["pip", TRACE]),
    ("pip-", &["pip"]),
    ("pnpm-install", &["npm-install"]),
    ("uv-", &["uv-sync"]),
    ("cat-", &[FILE_VIEW]),
    ("cjk-emoji", &[UNKNOWN]),
    ("crlf", &[FILE_VIEW]),
    ("hexdump", &[FILE_VIEW]),
    ("invalid-utf8", &[FILE_VIEW]),
    ("prose", &[FILE_VIEW]),
    ("openssl", &[UNKNOWN]),
    ("ip-addr", &[UNKNOWN]),
    ("env", &[UNKNOWN]),
    ("stat", &[UNKNOWN]),
    ("df-", &["df"]),
    ("diff-", &["diff"]),
    ("du-", &["du"]),
    ("find-ls", &["shell-find", "shell-ls"]),
    ("find-", &["shell-find"]),
    ("grep-", &["shell-grep"]),
    ("rg-json", &[STRUCTURED]),
    ("rg-", &["shell-grep"]),
    ("jq-", &[STRUCTURED]),
    ("ls-", &["shell-ls"]),
    ("ping", &["ping"]),
    ("ps-aux", &["ps"]),
    ("psql", &["psql"]),
    ("sqlite-error", &["psql"]),
    ("rsync", &["rsync"]),
    ("systemctl", &["systemctl-status"]),
    ("tree", &["tree"]),
    ("cargo-nextest", &["cargo-nextest"]),
    ("cargo-test-compile", &["test-cargo", "cargo-build"]),
    ("cargo-test", &["test-cargo"]),
    ("go-test-json", &[STRUCTURED]),
    ("go-test", &["test-go"]),
    ("jest-json", &[UNKNOWN, "test-jest"]),
    ("jest", &["test-jest"]),
    ("junit4", &["test-junit"]),
    ("node-test", &["test-node"]),
    ("playwright", &["playwright"]),
    ("pytest", &["test-pytest"]),
    ("unittest", &["test-unittest"]),
    ("vitest-fail-tap", &["test-vitest", "test-node"]),
    ("vitest", &["test-vitest"]),
];
/// Classes that no filter drops lines of: never wrong.
const HARMLESS: &[&str] = &[UNKNOWN, FILE_VIEW, STRUCTURED];

/// Right and all, of what can be recognised.
#[derive(Debug, Default)]
struct Score {
    right: usize,
    all: usize,
    wrong: Vec<String>,
    missed: Vec<String>,
}

impl Score {
    fn add(&mut self, file: &str, found: &[&'static str], truth: &[&str], counts: bool) {
        for class in found {
            if !HARMLESS.contains(class) && !truth.contains(class) {
                self.wrong.push(format!("{file}: {class}, not {truth:?}"));
            }
        }
        if counts {
            self.all += 1;
            if found.iter().any(|class| truth.contains(class)) {
                self.right += 1;
            } else {
                self.missed.push(format!("{file}: {found:?}"));
            }
        }
    }

    fn check(&self, percent: usize) {
        assert!(self.wrong.is_empty(), "wrong class: {:#?}", self.wrong);
        assert!(
            self.right * 100 >= self.all * percent,
            "{} of {} recognised, missed: {:#?}",
            self.right,
            self.all,
            self.missed
        );
    }
}

fn truth(file: &str) -> Option<&'static [&'static str]> {
    let name = file.rsplit('/').next().unwrap_or(file);
    TRUTH
        .iter()
        .filter(|(start, _)| name.starts_with(start))
        .max_by_key(|(start, _)| start.len())
        .map(|(_, truth)| *truth)
}

/// Files of the corpus with their command and visible text; nothing where the corpus is not there.
fn files() -> Vec<(String, String, String)> {
    let root = PathBuf::from(CORPUS);
    let Ok(manifest) = std::fs::read_to_string(root.join("manifest.json")) else { return Vec::new() };
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let read = |file: &str| std::fs::read(Path::new(CORPUS).join(file)).ok();
    let entries = manifest["entries"].as_array().unwrap();
    entries
        .iter()
        .filter_map(|entry| {
            let file = entry["file"].as_str().unwrap();
            let text = String::from_utf8_lossy(&read(file)?).into_owned();
            let text = crate::terminal::normalise(&text).text.into_owned();
            Some((file.to_owned(), entry["command"].as_str().unwrap().to_owned(), text))
        })
        .collect()
}

#[test]
fn no_file_is_taken_for_something_else() {
    let (mut with, mut without) = (Score::default(), Score::default());
    let mut pairs: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (file, command, text) in files() {
        let Some(truth) = truth(&file) else { continue };
        let known = classes(&shell(&command, &text));
        let alone = classes(&bare(&text));
        *pairs.entry((truth[0].to_owned(), alone.join("+"))).or_default() += 1;
        // A machine format that was asked for is right, whatever the tool.
        let counts = !HARMLESS.contains(&truth[0]) && known != [STRUCTURED];
        with.add(&file, &known, truth, counts);
        // Text alone can only tell what has anchors, and needs more than a line or two.
        let anchored = ALL.iter().any(|class| class.id() == truth[0]) || truth[0] == LOG;
        let listing =
            ["shell-", "wc", "git-branch", "ps", "git-stat"].iter().any(|head| truth[0].starts_with(head));
        without.add(&file, &alone, truth, anchored && !listing && text.lines().count() > 3);
    }
    with.check(95);
    without.check(70);
}

#[test]
fn the_score_catches_a_wrong_class() {
    let mut score = Score::default();
    score.add("x", &["npm-audit"], &[FILE_VIEW], true);
    assert!(!score.wrong.is_empty() && score.right == 0);
}
