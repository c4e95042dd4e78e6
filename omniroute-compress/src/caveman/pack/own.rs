//! Rules of one's own: files of the user that add to the built-in packs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::class::Language;
use super::super::packs;
use super::{Pack, PackError, Part};
use crate::config::{ConfigError, ConfigErrors};
use crate::hash::hash;

/// Largest file.
const MAX_BYTES: usize = 1 << 20;

/// Rules of one's own for prose, added to the built-in ones of their language.
///
/// A file is TOML or JSON in the form of the built-in packs: `language`, and `rules` with `id`, `class`, `level`, `from`,
/// `to`, the example `in` and `out`, and under `keep` texts that the rule leaves alone. Words under `safety` are kept
/// besides those of the built-in pack; none of those can be taken away. A file counts as a whole or not at all: a rule
/// with a kept word, an id that is used twice or an example that does not come out as written refuses it.
///
/// ```
/// use omniroute_compress::caveman::RulePacks;
/// let text = r#"
/// language = "en"
/// [[rules]]
/// id = "own-sign-off"
/// class = "pleasantry"
/// level = "lite"
/// from = "greetings from the platform team"
/// at = "sentence"
/// in = "Restart it. Greetings from the platform team."
/// out = "Restart it."
/// keep = ["Sign with greetings from the platform team and a date."]
/// "#;
/// let packs = RulePacks::of([("own.toml", text)])?;
/// let error = RulePacks::of([("own.toml", text.replace("greetings", "no greetings"))]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "own.toml: line 3: rule \"own-sign-off\": \"no greetings from the platform team\" has the kept words [\"no\"], it says []"
/// );
/// # Ok::<(), omniroute_compress::ConfigErrors>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RulePacks {
    packs: BTreeMap<Language, Arc<Pack>>,
    identity: String,
}

impl RulePacks {
    /// Reads files, each given by its name in messages and its text. Nothing is read from disk here.
    ///
    /// # Errors
    /// For each language the first mistake in the form of its files, else every example that does not hold; all with
    /// file, line and rule.
    pub fn of<N: AsRef<str>, T: AsRef<str>>(
        files: impl IntoIterator<Item = (N, T)>,
    ) -> Result<RulePacks, ConfigErrors> {
        let (mut errors, mut by_language) = (Vec::new(), BTreeMap::<Language, Vec<Part>>::new());
        let mut identity = String::new();
        for (name, text) in files {
            let (name, text) = (name.as_ref(), text.as_ref());
            let part = match text.len() <= MAX_BYTES {
                true => Part::read(name, text),
                false => Err(PackError {
                    file: name.to_owned(),
                    line: 1,
                    place: "file".into(),
                    message: format!("{} bytes are more than {MAX_BYTES}", text.len()),
                }),
            };
            match part {
                Ok(part) => by_language.entry(part.language).or_default().push(part),
                Err(error) => errors.push(error),
            }
            identity.push_str(&format!("rules {:016x} {}\n", hash(text.as_bytes()), text.len()));
        }
        let mut packs = BTreeMap::new();
        for (language, own) in by_language {
            match extended(language, own) {
                Ok(pack) => drop(packs.insert(language, pack)),
                Err(found) => errors.extend(found),
            }
        }
        match errors.is_empty() {
            true => Ok(RulePacks { packs, identity }),
            false => {
                let error = |e: PackError| {
                    ConfigError::new(format!("{}: line {}: {}", e.file, e.line, e.place), e.message)
                };
                Err(ConfigErrors(errors.into_iter().map(error).collect()))
            }
        }
    }

    /// Changes whenever the rules change.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The pack of a language, if there are own rules for it.
    pub(in crate::caveman) fn get(&self, language: Language) -> Option<&Pack> {
        self.packs.get(&language).map(Arc::as_ref)
    }

    /// Ids of all rules, the built-in ones included.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        let pack = |language| self.get(language).unwrap_or_else(|| packs::builtin(language));
        Language::ALL
            .into_iter()
            .flat_map(move |language| pack(language).rules.iter().map(|rule| rule.id.as_str()))
    }
}

/// The built-in pack with rules of one's own, all of whose examples hold.
fn extended(language: Language, own: Vec<Part>) -> Result<Arc<Pack>, Vec<PackError>> {
    let mut parts = vec![Part::read("pack", packs::text(language)).map_err(|error| vec![error])?];
    let first = parts.iter().map(|part| part.lines.len()).sum();
    parts.extend(own);
    let pack = Arc::new(Pack::of(language, &parts, true).map_err(|error| vec![error])?);
    let place = |at: usize| {
        let mut rest = at;
        for part in &parts {
            match part.lines.get(rest) {
                Some(line) => return (part.name.clone(), *line),
                None => rest -= part.lines.len(),
            }
        }
        (String::new(), 0)
    };
    let mistakes: Vec<PackError> = pack
        .try_examples(first)
        .into_iter()
        .map(|(at, message)| {
            let (file, line) = place(at);
            let id = pack.rules.get(at).map_or("", |rule| rule.id.as_str());
            PackError { file, line, place: format!("rule \"{id}\""), message }
        })
        .collect();
    if mistakes.is_empty() { Ok(pack) } else { Err(mistakes) }
}
