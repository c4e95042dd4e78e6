//! Which language a text is in: by its script, then by small words that are frequent in one language only.
//!
//! Three such words are needed, and one and a half times as many as of any other language. Anything else has no
//! language, and no rule acts on it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::class::Language;
use super::word;
use crate::hash::ByHash;
use crate::protect::{self, Paragraph, Scan};

/// Words needed to be certain.
const ENOUGH: u32 = 3;

/// Frequent words. One that several languages share counts for each of them.
const WORDS: [(Language, &str); 6] = [
    (
        Language::En,
        "the and of to is in that it you for with this are be have was as on not but from they can which will would \
         there their what when if your we should my please into has by or an do how it's don't i'd",
    ),
    (
        Language::De,
        "der die das und ist nicht ein eine den dem zu von mit sich auf für im es dass wir ich sie auch wenn wird \
         werden bei oder nach aber wie soll muss kann bitte einen einer noch nur haben sind mir",
    ),
    (
        Language::Es,
        "el la los las de que y en un una es por con para no se del lo al como más pero sus este esta si hay ser son \
         cuando muy sin debe puede puedes favor necesito está cómo también",
    ),
    (
        Language::Fr,
        "le la les des et est un une du que pas pour dans qui sur ne avec ce il au vous nous je sont mais ou si être \
         cette aux plus doit peut plaît veuillez c'est ces l'on fichier j'ai",
    ),
    (
        Language::Id,
        "yang dan di ini itu dengan untuk tidak dari dalam akan pada ke juga saya adalah bisa ada atau jika harus \
         sudah karena oleh tolong agar sebelum setelah kami anda bukan jangan dapat mohon supaya",
    ),
    (
        Language::PtBr,
        "o a os as de que e em um uma é por com para não se do da no na ao como mais mas seu sua este esta você ser \
         são quando muito sem deve pode favor preciso está também isso nos dos das",
    ),
];

static TABLE: LazyLock<HashMap<u64, u8, ByHash>> = LazyLock::new(|| {
    let mut table: HashMap<u64, u8, ByHash> = HashMap::default();
    for (at, (_, words)) in WORDS.iter().enumerate() {
        for word in words.split_whitespace() {
            *table.entry(word::of(word.as_bytes())).or_default() |= 1 << at;
        }
    }
    table
});

/// The language of a text, if it is certain.
///
/// ```
/// use omniroute_compress::caveman::{Language, detect};
/// assert_eq!(detect("Die Datei ist nicht da, und das ist ein Fehler."), Some(Language::De));
/// assert_eq!(detect("ok"), None);
/// ```
pub fn detect(text: &str) -> Option<Language> {
    let scan = protect::scan(text);
    of_text(text, &scan, &word::hashes(text, &scan.words))
}

/// The language of all paragraphs together.
fn of_text(text: &str, scan: &Scan, hashes: &[u64]) -> Option<Language> {
    let mut all = Counts::default();
    scan.paragraphs.iter().for_each(|paragraph| all.add(&Counts::of(text, hashes, paragraph)));
    all.certain()
}

/// The language of each paragraph: its own, or that of the text if it has too few words to tell.
pub(super) fn of_paragraphs(text: &str, scan: &Scan, hashes: &[u64]) -> Vec<Option<Language>> {
    let mut all = Counts::default();
    let own: Vec<Counts> =
        scan.paragraphs.iter().map(|paragraph| Counts::of(text, hashes, paragraph)).collect();
    own.iter().for_each(|counts| all.add(counts));
    let whole = all.certain();
    let language = |own: &Counts| own.certain().or_else(|| whole.filter(|language| own.is_likely(*language)));
    own.iter().map(language).collect()
}

#[derive(Default)]
struct Counts {
    words: [u32; 6],
    latin: u32,
    kana: u32,
    han: u32,
    other: u32,
}

impl Counts {
    fn of(text: &str, hashes: &[u64], paragraph: &Paragraph) -> Counts {
        let mut own = Counts::default();
        own.script(text.get(paragraph.bytes.clone()).unwrap_or(""));
        own.words(hashes.get(paragraph.words.clone()).unwrap_or(&[]));
        own
    }

    fn add(&mut self, other: &Counts) {
        self.words.iter_mut().zip(other.words).for_each(|(a, b)| *a += b);
        self.latin = self.latin.saturating_add(other.latin);
        self.kana += other.kana;
        self.han += other.han;
        self.other += other.other;
    }

    /// Counts characters by script.
    fn script(&mut self, text: &str) {
        if text.is_ascii() {
            self.latin = self.latin.saturating_add(text.len() as u32);
            return;
        }
        for c in text.chars() {
            match u32::from(c) {
                0x3041..=0x30FF => self.kana += 1,
                0x3400..=0x9FFF | 0xF900..=0xFAFF => self.han += 1,
                0..=0x24F | 0x1E00..=0x1EFF | 0x2000..=0x3040 | 0xFF00..=0xFFEF => self.latin += 1,
                _ => self.other += 1,
            }
        }
    }

    fn words(&mut self, hashes: &[u64]) {
        let table = &*TABLE;
        for hash in hashes {
            if let Some(mask) = table.get(hash) {
                for (at, count) in self.words.iter_mut().enumerate() {
                    *count += u32::from(mask >> at & 1);
                }
            }
        }
    }

    fn certain(&self) -> Option<Language> {
        if let Some(language) = self.by_script() {
            return language;
        }
        let (best, most) = self.best()?;
        let next =
            self.words.iter().enumerate().filter(|(at, _)| *at != best).map(|(_, n)| *n).max().unwrap_or(0);
        (most >= ENOUGH && most * 2 >= next * 3).then(|| WORDS.get(best).map(|(language, _)| *language))?
    }

    /// The language of scripts without spaces; the inner none if it is a script nobody knows here.
    fn by_script(&self) -> Option<Option<Language>> {
        let wide = self.kana + self.han;
        // Three bytes of letters say about as much as one of these signs.
        if self.other > wide.max(self.latin / 3) {
            return Some(None);
        }
        if wide < 4 || wide * 3 < self.latin {
            return (wide > 0 && wide * 12 > self.latin).then_some(None);
        }
        Some(Some(if self.kana * 8 > self.han { Language::Ja } else { Language::Zh }))
    }

    fn best(&self) -> Option<(usize, u32)> {
        // The first of equals.
        self.words.iter().copied().enumerate().rev().max_by_key(|(_, n)| *n)
    }

    fn is_likely(&self, language: Language) -> bool {
        match (self.by_script(), language.is_spaced()) {
            (None, true) => {
                let own = WORDS.iter().position(|(l, _)| *l == language).and_then(|at| self.words.get(at));
                own.is_some_and(|own| *own >= 1 && self.best().is_some_and(|(_, most)| *own == most))
            }
            _ => false,
        }
    }
}
