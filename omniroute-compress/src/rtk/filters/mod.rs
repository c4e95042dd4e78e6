//! The built-in filters: one TOML file each in this folder. `build.rs` makes the tables below from them, so that
//! nothing is read when the library starts.

/// A built-in file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuiltinFile {
    /// Id of its filter, which is also the name of the file.
    pub(crate) id: &'static str,
    /// The file.
    pub(crate) text: &'static str,
    /// Where its tests begin, which only `verify` reads.
    pub(crate) tests: usize,
}

include!(concat!(env!("OUT_DIR"), "/rtk_filters.rs"));

/// The filters for a command, those with the longest entry of `commands` that its words begin with first. The
/// program's name comes without its directory. Options (`-x`, `--long`, `+toolchain`) are passed over where the words
/// as they are do not fit. Nothing is allocated.
pub(crate) fn candidates<'w>(words: &'w [&'w str]) -> impl Iterator<Item = &'static str> + use<'w> {
    let mut plain = [""; MAX_WORDS];
    let mut count = 0;
    for word in words.iter().filter(|w| !w.starts_with(['-', '+'])) {
        let Some(slot) = plain.get_mut(count) else { break };
        *slot = word;
        count += 1;
    }
    let longest = words.len().min(MAX_WORDS);
    (1..=longest).rev().filter_map(move |n| {
        let passed_over = plain.get(..n).filter(|_| n <= count);
        lookup(words.get(..n)?).or_else(|| lookup(passed_over?))
    })
}

fn lookup(words: &[&str]) -> Option<&'static str> {
    let found = COMMANDS.binary_search_by(|(entry, _)| (*entry).cmp(words)).ok()?;
    COMMANDS.get(found).map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin_for(words: &[&str]) -> Option<&'static str> {
        candidates(words).next()
    }

    #[test]
    fn tables_are_sorted_and_complete() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(FILES.is_sorted_by(|a, b| a.id < b.id));
        for (words, id) in COMMANDS {
            assert!(FILES.iter().any(|f| f.id == *id), "{id}");
            assert_eq!(builtin_for(words), Some(*id));
        }
    }

    #[test]
    fn the_longest_entry_wins_and_options_are_passed_over() {
        for (line, expected) in [
            ("git status", Some("git-status")),
            ("git status -s", Some("git-status")),
            ("git --no-pager diff --cached", Some("git-diff")),
            ("git show HEAD", Some("git-show")),
            ("git frobnicate", None),
            ("git", None),
            ("cargo +nightly test --all", Some("test-cargo")),
            ("make -j4", Some("make")),
            ("makes", None),
            ("", None),
        ] {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            assert_eq!(builtin_for(&words), expected, "{line}");
        }
    }
}
