//! The corpus of command outputs: text, command, exit code and facts of every file.

use std::path::{Path, PathBuf};

use super::oracle::{self, Facts};

/// One recorded output.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// `category/name.txt`.
    pub(crate) file: String,
    pub(crate) command: String,
    pub(crate) exit_code: Option<i32>,
    /// Class by the oracle.
    pub(crate) class: String,
    pub(crate) facts: Facts,
    pub(crate) text: String,
}

/// The folder that the project ships.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtk-corpus")
}

/// All outputs of a folder with a `manifest.json` and a `facts.json`, in the order of the manifest.
pub(crate) fn read(folder: &Path) -> Vec<Output> {
    let text =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let facts = oracle::read(&text("facts.json"));
    let manifest: serde_json::Value =
        serde_json::from_str(&text("manifest.json")).expect("the manifest is JSON");
    let entries = manifest["entries"].as_array().expect("the manifest lists entries");
    entries
        .iter()
        .map(|entry| {
            let file = entry["file"].as_str().expect("an entry names its file").to_owned();
            let bytes = std::fs::read(folder.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            let (class, facts) = facts.get(&file).cloned().unwrap_or_else(|| panic!("{file} has no facts"));
            Output {
                command: entry["command"].as_str().unwrap_or("").to_owned(),
                exit_code: entry["exit_code"].as_i64().and_then(|n| i32::try_from(n).ok()),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                file,
                class,
                facts,
            }
        })
        .collect()
}

/// Rows of the report: name, classes of the oracle, saving to reach at `standard` in percent.
pub(crate) const GROUPS: &[(&str, &[&str], f64)] = &[
    ("test, failing", &["test-fail"], 82.0),
    ("test, passing", &["test-pass"], 95.0),
    ("build", &["build"], 75.0),
    ("lint", &["lint"], 50.0),
    ("package", &["package"], 70.0),
    ("logs", &["log"], 93.0),
    ("stack traces", &["stack"], 85.0),
    ("git diff/show", &["git-diff", "udiff"], 15.0),
    ("git log", &["git-log"], 50.0),
    ("git status", &["git-status"], 35.0),
    ("git other", &["git-action", "diffstat"], 55.0),
    ("terraform", &["tf-plan"], 60.0),
    ("tables", &["table"], 20.0),
    ("listings", &["listing"], 45.0),
    ("search", &["search"], 20.0),
    ("json", &["json"], 25.0),
    ("file reads", &["file-read", "verbatim"], 0.0),
    ("misc", &["misc", "help", "html"], 85.0),
];

/// The row of a class.
pub(crate) fn group(class: &str) -> usize {
    GROUPS.iter().position(|(_, classes, _)| classes.contains(&class)).unwrap_or(GROUPS.len() - 1)
}
