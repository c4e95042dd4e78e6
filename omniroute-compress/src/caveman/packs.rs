//! The packs that are built in, read when a text in their language comes first.

use std::sync::LazyLock;

use super::class::Language;
use super::pack::Pack;

/// The pack of a language.
pub(super) fn builtin(language: Language) -> &'static Pack {
    match language {
        Language::De => &DE,
        Language::En => &EN,
        Language::Es => &ES,
        Language::Fr => &FR,
        Language::Id => &ID,
        Language::Ja => &JA,
        Language::PtBr => &PT_BR,
        Language::Zh => &ZH,
    }
}

/// The fixed name of a rule.
pub(super) fn name(language: Language, id: &str) -> &'static str {
    language.rule(id).unwrap_or(super::OWN_RULE)
}

impl Language {
    /// The built-in rule of this language with this id.
    pub(crate) fn rule(self, id: &str) -> Option<&'static str> {
        let rules = builtin(self).rules.iter().map(|rule| rule.id.as_str());
        rules.chain(["repeat", super::OWN_RULE]).find(|known| *known == id)
    }
}

/// The text of a built-in pack.
pub(super) const fn text(language: Language) -> &'static str {
    match language {
        Language::De => include_str!("packs/de.toml"),
        Language::En => include_str!("packs/en.toml"),
        Language::Es => include_str!("packs/es.toml"),
        Language::Fr => include_str!("packs/fr.toml"),
        Language::Id => include_str!("packs/id.toml"),
        Language::Ja => include_str!("packs/ja.toml"),
        Language::PtBr => include_str!("packs/pt-br.toml"),
        Language::Zh => include_str!("packs/zh.toml"),
    }
}

static DE: LazyLock<Pack> = LazyLock::new(|| read(Language::De));
static EN: LazyLock<Pack> = LazyLock::new(|| read(Language::En));
static ES: LazyLock<Pack> = LazyLock::new(|| read(Language::Es));
static FR: LazyLock<Pack> = LazyLock::new(|| read(Language::Fr));
static ID: LazyLock<Pack> = LazyLock::new(|| read(Language::Id));
static JA: LazyLock<Pack> = LazyLock::new(|| read(Language::Ja));
static PT_BR: LazyLock<Pack> = LazyLock::new(|| read(Language::PtBr));
static ZH: LazyLock<Pack> = LazyLock::new(|| read(Language::Zh));

/// A pack that a test has read with all its examples. One that cannot be read has no rules.
fn read(language: Language) -> Pack {
    Pack::compile(text(language)).unwrap_or_else(|error| {
        debug_assert!(false, "built-in pack {language}: {error}");
        Pack::empty(language)
    })
}
