//! Makes the tables of built-in filters from the files in `src/rtk/filters`, so that nothing is read at start.
//!
//! Only two things of a file are needed here: the name in `[filters.<name>]` and the strings of `commands`. Both are
//! found line by line; a test compares the tables with what the real reader finds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let folder = root.join("src/rtk/filters");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort_by_key(|path| stem(path));
    let mut files =
        String::from("/// All built-in files by id.\npub(crate) const FILES: &[BuiltinFile] = &[\n");
    let mut commands: Vec<(Vec<String>, String)> = Vec::new();
    for path in &paths {
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let id = stem(path);
        let names: Vec<&str> =
            text.lines().filter_map(|l| l.trim().strip_prefix("[filters.")?.strip_suffix(']')).collect();
        assert!(
            names == [id.as_str()],
            "{}: expected one table [filters.{id}], found {names:?}",
            path.display()
        );
        let place = path.display().to_string();
        let tests = format!("[[tests.{id}]]");
        // A filter with a renderer may have none.
        let tests = text.find(&tests).unwrap_or(text.len());
        let _ = writeln!(
            files,
            "    BuiltinFile {{ id: {id:?}, text: include_str!({place:?}), tests: {tests} }},"
        );
        for command in strings(&text, "commands", &place) {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert!(
                words.iter().all(|w| !w.is_empty()),
                "{place}: {command:?} is not words with one blank between them"
            );
            commands.push((words, id.clone()));
        }
    }
    files.push_str("];\n\n");
    commands.sort();
    for pair in commands.windows(2) {
        assert!(
            pair[0].0 != pair[1].0,
            "{:?} is a command of both {} and {}",
            pair[0].0.join(" "),
            pair[0].1,
            pair[1].1
        );
    }
    let longest = commands.iter().map(|(words, _)| words.len()).max().unwrap_or(0);
    let _ =
        writeln!(files, "/// Words of the longest entry.\npub(crate) const MAX_WORDS: usize = {longest};\n");
    files.push_str("/// First words of commands and the filter for each, sorted.\npub(crate) const COMMANDS: &[(&[&str], &str)] = &[\n");
    for (words, id) in &commands {
        let _ = writeln!(files, "    (&{words:?}, {id:?}),");
    }
    files.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("rtk_filters.rs");
    fs::write(&out, files).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|s| s.to_str()).expect("a name in UTF-8").to_owned()
}

/// The strings of `key = [ ... ]`, which may go over several lines; strings have no escapes.
fn strings(text: &str, key: &str, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text
        .lines()
        .skip_while(|l| !l.trim_start().strip_prefix(key).is_some_and(|r| r.trim_start().starts_with('=')));
    let Some(first) = lines.next() else { return found };
    let mut rest = first.split_once('[').unwrap_or_else(|| panic!("{place}: {key} is no list")).1.to_owned();
    loop {
        let line = rest.trim().trim_start_matches(',').trim_start().to_owned();
        if line.starts_with(']') {
            return found;
        }
        if line.is_empty() || line.starts_with('#') {
            rest = lines.next().unwrap_or_else(|| panic!("{place}: {key} does not end")).to_owned();
            continue;
        }
        let quote = line
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))
            .unwrap_or_else(|| panic!("{place}: {line:?} in {key}"));
        let (string, after) = line
            .strip_prefix(quote)
            .and_then(|l| l.split_once(quote))
            .unwrap_or_else(|| panic!("{place}: {line:?} in {key}"));
        assert!(!string.contains('\\'), "{place}: {key} may not have escapes");
        found.push(string.to_owned());
        rest = after.to_owned();
    }
}
