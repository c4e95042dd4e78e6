//! What kind of work a request is, told from its last words, its tools and its results. No network, no model: signs and
//! points.

use std::sync::OnceLock;

use memchr::memmem;
use omniroute_core::route::TaskClass;
use serde::Deserialize;

/// Characters of the last user text that are looked at, from its end.
const TAIL: usize = 2_000;
/// Characters of the system text that are looked at, from its beginning.
const HEAD: usize = 1_000;
/// Points that a class needs.
const ENOUGH: u32 = 3;
/// Lead with which a session changes its class at once.
const LEAD: u32 = 3;

/// What the classifier looks at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clues<'a> {
    /// The last text of the user.
    pub user: &'a str,
    /// The system text.
    pub system: &'a str,
    /// Names of the tools on offer.
    pub tools: &'a [&'a str],
    /// A tool's result since then ended with an exit code other than zero.
    pub failed_result: bool,
}

/// Points of each class, in the order of [`TaskClass::ALL`] without the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Points([u32; 6]);

/// Ties go to the class that comes first here.
const ORDER: [TaskClass; 6] = [
    TaskClass::Debugging,
    TaskClass::Coding,
    TaskClass::Review,
    TaskClass::Analysis,
    TaskClass::Planning,
    TaskClass::Documentation,
];

impl Points {
    /// The class with most points, if they are enough.
    pub fn class(&self) -> TaskClass {
        let mut best = (TaskClass::Default, ENOUGH - 1);
        for class in ORDER {
            if self.0[class as usize] > best.1 {
                best = (class, self.0[class as usize]);
            }
        }
        best.0
    }

    /// Points of a class.
    pub fn of(&self, class: TaskClass) -> u32 {
        self.0.get(class as usize).copied().unwrap_or(0)
    }
}

/// The class of a conversation: it changes when a new one leads twice in a row, or clearly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steady {
    current: Option<TaskClass>,
    next: Option<TaskClass>,
}

impl Steady {
    /// The class after one more turn.
    pub fn turn(&mut self, points: &Points) -> TaskClass {
        let new = points.class();
        let Some(current) = self.current else {
            self.current = Some(new);
            return new;
        };
        let clear = points.of(new) >= points.of(current) + LEAD && new != TaskClass::Default;
        if new == current {
            self.next = None;
        } else if clear || self.next == Some(new) {
            (self.current, self.next) = (Some(new), None);
        } else {
            self.next = Some(new);
        }
        self.current.unwrap_or(new)
    }
}

/// Counts the signs of each class.
pub fn points(clues: &Clues<'_>) -> Points {
    let words = Finder::built_in();
    let text = last_chars(clues.user, TAIL).to_lowercase();
    let system = first_chars(clues.system, HEAD).to_lowercase();
    let found = words.found(&text);
    let any = |list: List| found & (1 << list as u8) != 0;
    let fence = has(&text, "```");
    let file = has_file(&text);
    let edits = clues.tools.iter().any(|tool| {
        let tool = tool.to_ascii_lowercase();
        ["edit", "write", "patch"].iter().any(|verb| tool.contains(verb))
    });
    let makes = any(List::Make) && any(List::Code);
    let diff = text.starts_with("diff --git")
        || has(&text, "\ndiff --git")
        || has(&text, "\n@@ ")
        || text.starts_with("@@ ");
    let trace = has_trace(&text);
    let mut points = [0; 6];
    let mut add =
        |class: TaskClass, sign: bool, count: u32| points[class as usize] += if sign { count } else { 0 };
    add(TaskClass::Coding, fence, 2);
    add(TaskClass::Coding, file, 2);
    add(TaskClass::Coding, edits, 2);
    add(TaskClass::Coding, makes, 2);
    add(TaskClass::Debugging, trace, 3);
    add(TaskClass::Debugging, any(List::Wrong), 2);
    add(TaskClass::Debugging, clues.failed_result, 2);
    add(TaskClass::Review, diff, 3);
    add(TaskClass::Review, any(List::Review), 2);
    add(
        TaskClass::Review,
        any(List::Review) && (fence || file || has(&text, "pull request") || has(&system, "review")),
        1,
    );
    add(TaskClass::Planning, any(List::Plan), 2);
    add(TaskClass::Planning, any(List::Plan) && !fence && !file && !trace, 1);
    add(TaskClass::Analysis, has_table(&text) || numbers(&text) >= 8, 2);
    add(TaskClass::Analysis, any(List::Analysis), 2);
    add(TaskClass::Analysis, words.math.iter().any(|mark| mark.find(text.as_bytes()).is_some()), 2);
    add(TaskClass::Documentation, any(List::Documentation), 3);
    Points(points)
}

/// The class of a request by itself.
pub fn classify(clues: &Clues<'_>) -> TaskClass {
    points(clues).class()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    make: Vec<String>,
    code: Vec<String>,
    wrong: Vec<String>,
    review: Vec<String>,
    plan: Vec<String>,
    analysis: Vec<String>,
    math: Vec<String>,
    documentation: Vec<String>,
}

impl Words {
    fn built_in() -> Words {
        serde_json::from_str(include_str!("../data/words.json"))
            .expect("a test reads the file that is built in")
    }

    fn lists(self) -> [(List, Vec<String>); 7] {
        [
            (List::Make, self.make),
            (List::Code, self.code),
            (List::Wrong, self.wrong),
            (List::Review, self.review),
            (List::Plan, self.plan),
            (List::Analysis, self.analysis),
            (List::Documentation, self.documentation),
        ]
    }
}

/// Lists of words that stand by themselves.
#[derive(Debug, Clone, Copy)]
enum List {
    Make,
    Code,
    Wrong,
    Review,
    Plan,
    Analysis,
    Documentation,
}

/// All words, to be looked for in one pass over a text.
#[derive(Debug)]
struct Finder {
    /// Words by their first two bytes.
    slots: Vec<Vec<Word>>,
    /// First bytes of words that may stand anywhere.
    free: [bool; 256],
    math: Vec<memmem::Finder<'static>>,
}

#[derive(Debug)]
struct Word {
    bytes: Vec<u8>,
    list: u8,
    /// Of a script without blanks: it may stand anywhere.
    free: bool,
}

const SLOTS: usize = 512;

fn slot(first: u8, second: u8) -> usize {
    (usize::from(first) * 37 + usize::from(second)) % SLOTS
}

impl Finder {
    fn built_in() -> &'static Finder {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        FINDER.get_or_init(|| {
            let mut words = Words::built_in();
            let math = std::mem::take(&mut words.math);
            let mut finder = Finder {
                slots: (0..SLOTS).map(|_| Vec::new()).collect(),
                free: [false; 256],
                math: math.iter().map(|mark| memmem::Finder::new(mark).into_owned()).collect(),
            };
            for (list, words) in words.lists() {
                for word in words {
                    let free = stands_anywhere(&word);
                    let bytes = word.into_bytes();
                    let [first, second, ..] = bytes[..] else { continue };
                    finder.free[usize::from(first)] |= free;
                    finder.slots[slot(first, second)].push(Word { bytes, list: list as u8, free });
                }
            }
            finder
        })
    }

    /// One bit for each list that has a word in the text.
    fn found(&self, text: &str) -> u8 {
        let text = text.as_bytes();
        let (mut found, mut start) = (0, true);
        for (at, pair) in text.windows(2).enumerate() {
            let (first, second) = (pair[0], pair[1]);
            if start || self.free[usize::from(first)] {
                for word in &self.slots[slot(first, second)] {
                    let fits = (start || word.free)
                        && text[at..].starts_with(&word.bytes)
                        && (word.free || text.get(at + word.bytes.len()).is_none_or(edge));
                    found |= u8::from(fits) << word.list;
                }
            }
            start = edge(&first);
        }
        found
    }
}

/// What stands beside a word.
fn edge(byte: &u8) -> bool {
    !byte.is_ascii_alphanumeric() && *byte < 0x80
}

/// Words of scripts without blanks may stand anywhere.
fn stands_anywhere(word: &str) -> bool {
    word.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

const EXTENSIONS: [&str; 24] = [
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "java", "c", "cc", "cpp", "h", "hpp", "rb", "php", "cs",
    "kt", "swift", "sh", "sql", "toml", "yaml", "vue", "css",
];

fn has_file(text: &str) -> bool {
    if memchr::memchr(b'.', text.as_bytes()).is_none() {
        return false;
    }
    text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ':' | ';'))
        .map(|word| word.trim_end_matches(['.', '!', '?']))
        .filter_map(|word| word.rsplit_once('.'))
        .any(|(stem, extension)| !stem.is_empty() && !stem.ends_with('/') && EXTENSIONS.contains(&extension))
}

/// Much faster than a search that is made anew for each text.
fn has(text: &str, sign: &str) -> bool {
    memmem::find(text.as_bytes(), sign.as_bytes()).is_some()
}

fn has_trace(text: &str) -> bool {
    let error = has(text, "error");
    has(text, "traceback (most recent call last)")
        || has(text, "panicked at")
        || (error && has(text, "error[e"))
        || has(text, "exception in thread")
        || text.lines().any(|line| {
            let line = line.trim_start();
            let errors = error && has(line, "error");
            (line.starts_with("at ") && line.contains(':') && line.ends_with(')'))
                || line.starts_with("segmentation fault")
                || errors
                    && (line.starts_with("error:")
                        || line.starts_with("fatal error:")
                        || line.contains(": error: ")
                        || line.contains(": error ts")
                        || (line.contains("error: ")
                            && line.split(':').next().is_some_and(|name| name.ends_with("error"))))
        })
}

fn has_table(text: &str) -> bool {
    text.lines().filter(|line| line.matches('|').count() >= 3 || line.matches('\t').count() >= 2).count() >= 3
}

fn numbers(text: &str) -> usize {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .filter(|word| word.bytes().any(|byte| byte.is_ascii_digit()))
        .take(8)
        .count()
}

fn last_chars(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    match text.char_indices().rev().nth(most - 1) {
        Some((at, _)) => text.get(at..).unwrap_or(text),
        None => text,
    }
}

fn first_chars(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    match text.char_indices().nth(most) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPTS: &str = include_str!("../data/prompts.txt");

    fn corpus() -> Vec<(TaskClass, String)> {
        PROMPTS
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| {
                let (class, text) = line.split_once(": ").unwrap();
                (TaskClass::parse(class).unwrap(), text.replace("\\n", "\n"))
            })
            .collect()
    }

    #[test]
    fn the_corpus_is_understood() {
        let corpus = corpus();
        let mut table = [[0_u32; 7]; 7];
        for (class, text) in &corpus {
            let found = classify(&Clues { user: text, ..Clues::default() });
            table[*class as usize][found as usize] += 1;
        }
        let right: u32 = (0..7).map(|class| table[class][class]).sum();
        let shown: Vec<String> = TaskClass::ALL
            .iter()
            .map(|class| format!("{:14}{:?}", class.name(), table[*class as usize]))
            .collect();
        println!("{}", shown.join("\n"));
        assert_eq!(corpus.len(), 60);
        assert!(right * 100 >= 80 * 60, "{right} of 60\n{}", shown.join("\n"));
        for class in ORDER {
            assert!(table[class as usize][class as usize] > 0, "no prompt is {class:?}");
        }
    }

    /// Each word for itself, as slowly as it is plain.
    fn has_word(text: &str, word: &str) -> bool {
        text.match_indices(word).any(|(at, _)| {
            let bytes = text.as_bytes();
            let beside = |byte: Option<&u8>| byte.is_none_or(edge);
            stands_anywhere(word)
                || (beside(at.checked_sub(1).and_then(|before| bytes.get(before)))
                    && beside(bytes.get(at + word.len())))
        })
    }

    #[test]
    fn one_pass_finds_what_one_search_for_each_word_finds() {
        let mut texts: Vec<String> = corpus().into_iter().map(|(_, text)| text.to_lowercase()).collect();
        let all: Vec<String> = Words::built_in().lists().into_iter().flat_map(|(_, words)| words).collect();
        for word in &all {
            assert!(word.len() > 1, "{word:?} is too short to be found");
            texts.extend(
                ["{}", "x{}", "{}x", "\u{e9}{}", "({})", "a {}"].map(|place| place.replace("{}", word)),
            );
        }
        let (mut hits, mut misses) = (0, 0);
        for text in &texts {
            let mut expected = 0;
            for (list, words) in Words::built_in().lists() {
                expected |= u8::from(words.iter().any(|word| has_word(text, word))) << list as u8;
            }
            assert_eq!(Finder::built_in().found(text), expected, "{text:?}");
            *(if expected == 0 { &mut misses } else { &mut hits }) += 1;
        }
        assert!(hits > 500 && misses > 100, "{hits} {misses}");
    }

    #[test]
    fn a_conversation_does_not_bounce() {
        let turn = |text| points(&Clues { user: text, ..Clues::default() });
        let code = turn("implement a parser function in src/lex.rs");
        let chat = turn("thanks, and now?");
        let mut steady = Steady::default();
        assert_eq!(steady.turn(&code), TaskClass::Coding);
        assert_eq!(steady.turn(&chat), TaskClass::Coding, "one turn changes nothing");
        assert_eq!(steady.turn(&code), TaskClass::Coding);
        assert_eq!(steady.turn(&chat), TaskClass::Coding);
        assert_eq!(steady.turn(&chat), TaskClass::Default, "two in a row do");
        let trace = turn("thread 'main' panicked at src/main.rs:3: why does it crash");
        assert_eq!(steady.turn(&trace), TaskClass::Debugging, "a clear lead changes at once");
    }

    #[test]
    fn only_the_end_of_a_long_text_is_read() {
        let long = format!("traceback (most recent call last) {} thanks", "é".repeat(3_000));
        assert_eq!(classify(&Clues { user: &long, ..Clues::default() }), TaskClass::Default);
        let tools = ["Edit", "bash"];
        let clues = Clues { user: "now in src/a.rs", tools: &tools, ..Clues::default() };
        assert_eq!(classify(&clues), TaskClass::Coding);
        assert_eq!(
            classify(&Clues { user: "why does it fail? error", failed_result: true, ..Clues::default() }),
            TaskClass::Debugging
        );
    }
}
