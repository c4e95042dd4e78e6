//! The judge of command output: which facts of the raw text are still in what is sent.
//!
//! It knows nothing of the engine. The facts stand in `tests/rtk-corpus/facts.json`, extracted from the raw texts by
//! the grammar of each tool; the rules of the check are those of `oracle_reference.py` beside it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

/// One thing an agent may act on.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// 0 and 1: must never be lost. 2: may be lost rarely. 3: reported.
    pub(crate) tier: u8,
    pub(crate) kind: String,
    pub(crate) atoms: Vec<String>,
    pub(crate) within: usize,
}

/// What must be in the result for one file of the corpus.
#[derive(Debug, Clone)]
pub(crate) enum Facts {
    /// Every line as it is.
    Verbatim,
    /// Every key and every scalar; the result is JSON of equal value.
    Json,
    List(Vec<Fact>),
}

/// Class and facts for every file.
pub(crate) fn read(facts_json: &str) -> BTreeMap<String, (String, Facts)> {
    let all: BTreeMap<String, Value> = serde_json::from_str(facts_json).expect("facts.json is JSON");
    all.into_iter()
        .map(|(file, value)| {
            let class = value["class"].as_str().unwrap_or("").to_owned();
            let facts = match value["mode"].as_str() {
                Some("verbatim") => Facts::Verbatim,
                Some("json") => Facts::Json,
                _ => Facts::List(
                    value["facts"].as_array().map(|a| a.iter().map(fact).collect()).unwrap_or_default(),
                ),
            };
            (file, (class, facts))
        })
        .collect()
}

fn fact(value: &Value) -> Fact {
    let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
    Fact {
        tier: value[0].as_u64().unwrap_or(3) as u8,
        kind: text(&value[1]),
        atoms: value[2].as_array().map(|a| a.iter().map(text).collect()).unwrap_or_default(),
        within: value[3].as_u64().unwrap_or(0) as usize,
    }
}

/// Found and wanted facts of each tier, and the missing ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recall {
    pub(crate) found: [u32; 4],
    pub(crate) wanted: [u32; 4],
    pub(crate) missing: Vec<Fact>,
}

impl Recall {
    pub(crate) fn missing_to(&self, tier: u8) -> usize {
        self.missing.iter().filter(|f| f.tier <= tier).count()
    }

    pub(crate) fn add(&mut self, other: &Recall) {
        for tier in 0..4 {
            self.found[tier] += other.found[tier];
            self.wanted[tier] += other.wanted[tier];
        }
        self.missing.extend(other.missing.iter().cloned());
    }

    /// Percent of a tier; 100 when nothing was wanted.
    pub(crate) fn percent(&self, tier: usize) -> f64 {
        match self.wanted[tier] {
            0 => 100.0,
            wanted => 100.0 * f64::from(self.found[tier]) / f64::from(wanted),
        }
    }
}

/// Judges `sent`, which stands for `raw`.
pub(crate) fn recall(facts: &Facts, raw: &str, sent: &str) -> Recall {
    let lines = norm(sent);
    let blob = ws(&lines.join(" "));
    let list = match facts {
        Facts::List(list) => list.clone(),
        Facts::Verbatim => verbatim(raw),
        Facts::Json => json(raw),
    };
    let mut recall = Recall::default();
    for fact in list {
        let tier = usize::from(fact.tier.min(3));
        recall.wanted[tier] += 1;
        if check(&fact, &lines, &blob) {
            recall.found[tier] += 1;
        } else {
            recall.missing.push(fact);
        }
    }
    recall
}

/// Lines as a reader sees them: no escape sequences, the last part of an overwritten line, no trailing blanks.
pub(crate) fn norm(text: &str) -> Vec<String> {
    static ANSI: OnceLock<Regex> = OnceLock::new();
    let ansi = ANSI.get_or_init(|| {
        Regex::new(
            r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|\x1b[()][A-Z0-9]",
        )
        .unwrap()
    });
    let text = ansi.replace_all(text, "").replace("\r\n", "\n");
    text.split('\n')
        .map(|line| {
            let part = match line.contains('\r') {
                true => line.split('\r').rfind(|p| !p.trim().is_empty()).unwrap_or(""),
                false => line,
            };
            part.trim_end().to_owned()
        })
        .collect()
}

/// Blanks squeezed.
pub(crate) fn ws(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fact without the spinner that a terminal erased before it wrote the line. Decision 0007.
fn erased(atom: &str) -> &str {
    atom.trim_start_matches(|c| ('\u{2801}'..='\u{28ff}').contains(&c))
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}

fn verbatim(raw: &str) -> Vec<Fact> {
    let lines = norm(raw);
    let wanted = lines.iter().map(|l| l.trim()).filter(|l| !l.is_empty()).take(1500);
    wanted
        .map(|l| Fact { tier: 0, kind: "line".into(), atoms: vec![cut(l, 160).into()], within: 0 })
        .collect()
}

/// Keys and scalars as they are written, up to 400.
fn json(raw: &str) -> Vec<Fact> {
    static TOKEN: OnceLock<Regex> = OnceLock::new();
    let token = TOKEN.get_or_init(|| Regex::new(r#""((?:[^"\\]|\\.)*)"|-?[0-9][0-9.eE+-]*"#).unwrap());
    let mut seen = std::collections::BTreeSet::new();
    let mut facts = Vec::new();
    for found in token.captures_iter(raw) {
        let lexeme = found.get(1).unwrap_or_else(|| found.get(0).unwrap()).as_str();
        if !lexeme.is_empty() && seen.insert(lexeme) && facts.len() < 400 {
            facts.push(Fact { tier: 3, kind: "json".into(), atoms: vec![cut(lexeme, 60).into()], within: 0 });
        }
    }
    facts
}

/// Whether the fact is in the text.
pub(crate) fn check(fact: &Fact, lines: &[String], blob: &str) -> bool {
    let atoms: Vec<String> = fact.atoms.iter().map(|a| ws(erased(a))).filter(|a| !a.is_empty()).collect();
    let Some(first) = atoms.first() else { return true };
    if matches!(fact.kind.as_str(), "location" | "diag") && grouped(lines, &atoms) {
        return true;
    }
    if fact.kind == "hunk" && hunk_in(first, lines) {
        return true;
    }
    if fact.kind == "diff_line" {
        let wanted = cut(first, 60);
        let bare = wanted.trim_matches(['+', '-', ' ']);
        return lines
            .iter()
            .any(|l| ws(l.trim_matches(['+', '-', ' '])).starts_with(bare) || ws(l).contains(wanted));
    }
    if fact.within > 0 {
        return (0..lines.len()).any(|i| {
            let window = &lines[i.saturating_sub(fact.within)..(i + fact.within + 1).min(lines.len())];
            let text = ws(&window.join(" "));
            atoms.iter().all(|a| text.contains(a.as_str()))
        });
    }
    if atoms.len() > 1 {
        let in_one = lines.iter().any(|l| {
            let text = ws(&l.replace('|', " "));
            atoms.iter().all(|a| text.contains(a.as_str()))
        });
        let anywhere = matches!(fact.kind.as_str(), "changed_file" | "match");
        return in_one || anywhere && atoms.iter().all(|a| blob.contains(a.as_str()));
    }
    blob.contains(first.as_str())
}

/// A heading line and a line under it carry all atoms together.
fn grouped(lines: &[String], atoms: &[String]) -> bool {
    static HEAD: OnceLock<Regex> = OnceLock::new();
    let file = HEAD.get_or_init(|| Regex::new(r"^[^\s:]+\.[A-Za-z0-9]+\b").unwrap());
    let mut head = "";
    lines.iter().any(|line| {
        let flush = line.chars().next().is_some_and(|c| !c.is_whitespace());
        if flush && (line.trim_end().ends_with(':') || file.is_match(line)) {
            head = line;
        }
        let text = ws(&format!("{head} {line}"));
        atoms.iter().all(|a| text.contains(a.as_str()))
    })
}

/// A hunk header whose new start lies inside the range of the original hunk.
fn hunk_in(atom: &str, lines: &[String]) -> bool {
    static HUNK: OnceLock<Regex> = OnceLock::new();
    let hunk = HUNK.get_or_init(|| Regex::new(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@").unwrap());
    let Some(wanted) = hunk.captures(atom) else { return false };
    let number = |c: &regex::Captures<'_>, n: usize| c.get(n).and_then(|m| m.as_str().parse::<u64>().ok());
    let low = number(&wanted, 1).unwrap_or(0);
    let high = low + number(&wanted, 2).unwrap_or(1);
    lines
        .iter()
        .filter_map(|l| hunk.captures(l))
        .filter_map(|c| number(&c, 1))
        .any(|n| (low..=high).contains(&n))
}
