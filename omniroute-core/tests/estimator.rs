//! The token estimator against exact counts on the recorded sessions, and the laws every counter keeps.
#![expect(clippy::unwrap_used, reason = "a test fails where it is")]

use std::path::{Path, PathBuf};

use omniroute_core::{Estimator, Family, Tokenizer};
use serde_json::Value;
use session_texts::{OWN, sessions, texts};
use tiktoken_rs::CoreBPE;

#[expect(dead_code, reason = "the program that prints the errors uses more of it")]
#[path = "../examples/session_texts/mod.rs"]
mod session_texts;

/// Allowed error of all sessions together and of one session, in per cent.
const POOLED: f64 = 3.0;
const ONE: f64 = 10.0;

/// The counter everyone starts with: four bytes a token.
#[derive(Debug)]
struct Quarter;

impl Tokenizer for Quarter {
    fn id(&self) -> &str {
        "test:quarter"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap()
    }
}

/// A counter that breaks the laws of small and of doubled texts.
#[derive(Debug)]
struct Lawless;

impl Tokenizer for Lawless {
    fn id(&self) -> &str {
        "test:lawless"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from((text.len() / 40).pow(2)).unwrap()
    }
}

/// One session: its name and its texts.
struct Session {
    name: String,
    texts: Vec<String>,
}

fn read(path: &Path) -> Vec<Session> {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let list = sessions(file);
    list.iter()
        .enumerate()
        .map(|(n, session)| Session {
            name: format!("{name} {}", n + 1),
            texts: texts(session).into_iter().map(|text| text.text).collect(),
        })
        .collect()
}

fn own_sessions() -> Vec<Session> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniroute-compress/tests/sessions");
    OWN.iter().flat_map(|name| read(&folder.join(name))).collect()
}

/// Sessions that are not part of the repository, and how many folders of them are missing.
fn shared_sessions() -> (Vec<Session>, usize) {
    let data = match std::env::var_os("OMNIROUTE_DATA") {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            assert!(folder.is_dir(), "OMNIROUTE_DATA names no folder: {}", folder.display());
            folder
        }
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
    };
    let mut files = Vec::new();
    let mut missing = 0;
    for folder in ["sessions", "dev-sessions"] {
        let Ok(list) = std::fs::read_dir(data.join(folder)) else {
            missing += 1;
            continue;
        };
        let is_session = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            [".openai.json", ".anthropic.json", ".responses.json", ".gemini.json"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        files.extend(list.map(|entry| entry.unwrap().path()).filter(is_session));
    }
    files.sort();
    (files.iter().flat_map(|path| read(path)).collect(), missing)
}

fn exact_counts(exact: &CoreBPE, sessions: &[Session]) -> Vec<u64> {
    let count =
        |session: &Session| session.texts.iter().map(|text| exact.encode_ordinary(text).len() as u64).sum();
    sessions.iter().map(count).collect()
}

/// The check itself: what is wrong with `counter`, nothing when it keeps within the bounds.
fn beyond_bounds(counter: &dyn Tokenizer, sessions: &[Session], exact: &[u64]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut pooled = (0, 0);
    for (session, &exact) in sessions.iter().zip(exact) {
        let estimate: u64 = session.texts.iter().map(|text| u64::from(counter.count(text))).sum();
        pooled = (pooled.0 + estimate, pooled.1 + exact);
        let error = 100.0 * (estimate as f64 / exact as f64 - 1.0);
        if error.abs() > ONE {
            wrong.push(format!("{}: {}: {estimate} for {exact} ({error:+.2} %)", counter.id(), session.name));
        }
    }
    let error = 100.0 * (pooled.0 as f64 / pooled.1 as f64 - 1.0);
    if error.abs() > POOLED {
        wrong.push(format!("{}: pooled: {} for {} ({error:+.2} %)", counter.id(), pooled.0, pooled.1));
    }
    wrong
}

fn check_both_vocabularies(sessions: &[Session]) {
    let vocabularies = [
        (Family::O200k, tiktoken_rs::o200k_base().unwrap()),
        (Family::Cl100k, tiktoken_rs::cl100k_base().unwrap()),
    ];
    for (family, exact) in vocabularies {
        let exact = exact_counts(&exact, sessions);
        let wrong = beyond_bounds(&Estimator::new(family), sessions, &exact);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // The same check catches the usual rule of thumb.
        assert!(!beyond_bounds(&Quarter, sessions, &exact).is_empty(), "a quarter of the bytes passed");
    }
}

/// What is wrong with `counter` on small texts and on texts written twice.
fn broken_laws(counter: &dyn Tokenizer, texts: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    if counter.count("") != 0 {
        wrong.push(format!("{}: the empty text counts {}", counter.id(), counter.count("")));
    }
    for text in ["a", " ", "\n", "\t", ".", "0", "é", "中", "😀", "\u{200b}", "\0"] {
        if counter.count(text) == 0 {
            wrong.push(format!("{}: {text:?} counts nothing", counter.id()));
        }
    }
    for text in texts {
        let once = i64::from(counter.count(text));
        let twice = i64::from(counter.count(&format!("{text}{text}")));
        if (twice - 2 * once).abs() > 1 {
            wrong.push(format!("{}: {once} once, {twice} twice: {:.40?}", counter.id(), text));
        }
    }
    wrong
}

fn families() -> [Family; 6] {
    [Family::O200k, Family::Cl100k, Family::Claude, Family::ClaudeNew, Family::Gemini, Family::Other]
}

#[test]
fn own_sessions_within_bounds() {
    check_both_vocabularies(&own_sessions());
}

#[test]
fn shared_sessions_within_bounds() {
    let (sessions, missing) = shared_sessions();
    if missing > 0 {
        eprintln!("skipped {missing} of 2 folders of recorded sessions: not here");
    }
    if !sessions.is_empty() {
        check_both_vocabularies(&sessions);
    }
}

#[test]
fn small_and_doubled_texts() {
    // Each session once, not on every wire.
    let mut sessions = own_sessions();
    sessions.retain(|session| session.name.contains(".openai."));
    // Each text ends with its line and begins with no blank, so that nothing grows together at the seam.
    let texts: Vec<String> = sessions
        .iter()
        .flat_map(|session| &session.texts)
        .map(|text| format!("{}\n", text.trim()))
        .filter(|text| text.len() > 1 && !text.starts_with('/'))
        .collect();
    assert!(texts.len() > 50, "only {} texts", texts.len());
    for family in [Family::O200k, Family::Cl100k, Family::ClaudeNew] {
        let wrong = broken_laws(&Estimator::new(family), &texts);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    assert!(!broken_laws(&Lawless, &texts).is_empty(), "the lawless counter passed");
}

#[test]
fn hostile_texts_stay_bounded() {
    for unit in ["a", "zq", "aB1", "é", "中文", "😀", "=", "-+", " ", " \n", "_a", "'", "e's", "\u{301}"]
    {
        let text = unit.repeat(200_000 / unit.len());
        for family in families() {
            let count = Estimator::new(family).count(&text);
            assert!((100..=400_000).contains(&count), "{family:?} counts {count} for {unit:?} repeated");
        }
    }
    let letters = "a".repeat(1_000_000);
    let count = Estimator::new(Family::O200k).count(&letters);
    assert!((62_500..=250_000).contains(&count), "{count} for 125000");
}
