//! Limits of filter files. All of them are counted in bytes, items or work, never in time.

/// Size of one file: 1 MiB.
pub(crate) const FILE_BYTES: usize = 1 << 20;
/// Filters in one file.
pub(crate) const FILTERS_PER_FILE: usize = 512;
/// Filters of the user's and the project's files together.
pub(crate) const FILTERS_PER_SET: usize = 2_048;
/// Patterns of one filter.
pub(crate) const PATTERNS_PER_FILTER: usize = 256;
/// Length of one pattern.
pub(crate) const PATTERN_BYTES: usize = 1_000;
/// Compiled size of one pattern: 1 MiB.
pub(crate) const COMPILED_BYTES: usize = 1 << 20;
/// Caches of the lazy automata of one filter: 4 MiB.
pub(crate) const CACHE_BYTES: usize = 4 << 20;
/// Estimated compiled size of all patterns of the user's and the project's files: 64 MiB.
pub(crate) const COMPILED_BYTES_PER_SET: usize = 64 << 20;
/// Nesting of tables and lists.
pub(crate) const NESTING: usize = 64;
/// Tests of one filter.
pub(crate) const TESTS_PER_FILTER: usize = 64;
/// Input, and expected result, of one test: 64 KiB.
pub(crate) const TEST_BYTES: usize = 64 << 10;
/// Largest number of lines in a head, a tail or a budget, and of characters in a line.
pub(crate) const MAX_COUNT: i64 = 100_000;
/// Work of the tests of one file in bytes of input times states of patterns; about two seconds at worst.
pub(crate) const VERIFY_WORK: u64 = 1 << 29;
/// Errors reported for one file; the rest is counted.
pub(crate) const ERRORS_PER_FILE: usize = 200;
