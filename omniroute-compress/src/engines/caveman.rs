//! `caveman`: condenses what people write by rules, when a text is first seen and never again.
//!
//! Only texts of the user, and those of the model where that is asked for. A text under 400 characters stays as it is: such
//! texts are questions and orders, and the newest of them is what the answer is about. Whether a text is condensed
//! depends on nothing but the text itself, so it is sent the same way on every later turn.

use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, History, Loss, Replacement, SegmentKind,
    SegmentView,
};

use crate::caveman::{Class, Condenser, Language, Level, MAX_PATTERNS, OWN_RULE, Preserve};
use crate::config::{ConfigError, ConfigField, Settings, suggestion};
use crate::entry::{EngineEntry, Parts};
use crate::marker;

const INFO: EngineInfo = EngineInfo::new("caveman", Loss::Lossy)
    .summary("prose of the user in fewer words; negations, numbers, names and conditions stay")
    .priority(20)
    .targets(&[SegmentKind::User, SegmentKind::Assistant])
    .min_bytes(50);

/// Largest text that is worked on.
const MAX_BYTES: usize = 4 << 20;

const LANGUAGES: &[&str] = &["auto", "de", "en", "es", "fr", "id", "ja", "pt-BR", "zh"];

const FIELDS: &[ConfigField] = &[
    ConfigField::choice("level", "lite", &["lite", "full", "ultra"], "how much is taken out"),
    ConfigField::choice(
        "language",
        "auto",
        LANGUAGES,
        "language of the texts; auto: found out for each paragraph",
    ),
    ConfigField::list("languages", 8, "languages whose rules act, as for language; none: all that are found"),
    ConfigField::choice(
        "user_text",
        "first_sight",
        &["first_sight", "at_rewrite", "never"],
        "when texts of the user are condensed; at_rewrite: older ones, where the history is rewritten anyway",
    ),
    ConfigField::choice(
        "assistant_text",
        "never",
        &["first_sight", "never"],
        "when texts of the model are condensed as they come back",
    ),
    ConfigField::int("min_chars", 400, (50, 1_000_000), "shorter texts stay as they are"),
    ConfigField::list("skip_rules", 500, "ids of rules that do not act"),
    ConfigField::list(
        "preserve_patterns",
        MAX_PATTERNS as i64,
        "regular expressions in linear time; what they find stays as it is",
    ),
    ConfigField::switch("pleasantry", true, "take out please and thank you"),
    ConfigField::switch("wrapper", true, "take out could you please before a verb"),
    ConfigField::switch("filler", true, "take out words that say nothing"),
    ConfigField::switch("redundancy", true, "write long-winded phrases shorter"),
    ConfigField::switch("intensifier", true, "take out very and extremely"),
    ConfigField::switch("meta", true, "take out sentences about what follows"),
    ConfigField::switch("article", true, "take out articles before ordinary nouns"),
    ConfigField::switch("existential", true, "take out there is ... that"),
    ConfigField::switch("connective", true, "take out connectives without contrast"),
    ConfigField::switch("repeat", true, "say a sentence once that is there twice"),
];

/// As [`INFO`], for texts that change where the history is rewritten.
const AT_REWRITE: EngineInfo = INFO.rewrites_history();

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry =
    EngineEntry::new(INFO, build).fields(FIELDS).level("level").check(check).technique(rule_name);

fn rule_name(id: &str) -> Option<&'static str> {
    Some(Language::ALL.into_iter().find_map(|language| language.rule(id)).unwrap_or(OWN_RULE))
}

fn check(settings: &Settings, parts: &Parts) -> Vec<ConfigError> {
    let place = |key: &str| format!("engine \"{}\": key \"{key}\"", INFO.id);
    let mut errors = Vec::new();
    let known = |id: &str| id == "repeat" || parts.rule_packs.ids().any(|known| known == id);
    for id in settings.list("skip_rules").iter().filter(|id| !known(id)) {
        let hint = suggestion(id, parts.rule_packs.ids());
        errors.push(ConfigError::new(place("skip_rules"), format!("there is no rule \"{id}\"{hint}")));
    }
    let wanted = settings.list("languages");
    for name in wanted.iter().filter(|name| Language::parse(name).is_none()) {
        let known = Language::ALL.map(Language::tag);
        let hint = suggestion(name, known.into_iter());
        let message = format!("\"{name}\" has no rules{hint}; known are {}", known.join(", "));
        errors.push(ConfigError::new(place("languages"), message));
    }
    let one = settings.word("language");
    if one != "auto" && !wanted.is_empty() && !wanted.iter().any(|name| name == one) {
        let message = format!("\"{one}\" is not among languages ({}): no rule would act", wanted.join(", "));
        errors.push(ConfigError::new(place("language"), message));
    }
    if let Err(found) = Preserve::of(settings.list("preserve_patterns")) {
        let place = format!("engine \"{}\"", INFO.id);
        errors.extend(found.iter().map(|error| ConfigError::new(place.clone(), error.to_string())));
    }
    errors
}

fn build(settings: &Settings, parts: &Parts) -> Arc<dyn CompressionEngine> {
    let mut condenser = Condenser::new(Level::parse(settings.word("level")).unwrap_or(Level::Lite))
        .skip_rules(settings.list("skip_rules"))
        .rule_packs(parts.rule_packs.clone())
        .languages(settings.list("languages").iter().filter_map(|name| Language::parse(name)))
        .preserve(Preserve::of(settings.list("preserve_patterns")).unwrap_or_default().and(&parts.preserve));
    if let Some(language) = Language::parse(settings.word("language")) {
        condenser = condenser.language(language);
    }
    for class in Class::ALL.into_iter().filter(|class| !settings.bool(class.name())) {
        condenser = condenser.without(class);
    }
    let opened = |key| settings.word(key) == "first_sight";
    Arc::new(Caveman {
        condenser,
        user: opened("user_text"),
        at_rewrite: settings.word("user_text") == "at_rewrite",
        assistant: opened("assistant_text"),
        min_chars: settings.size("min_chars"),
    })
}

#[derive(Debug)]
struct Caveman {
    condenser: Condenser,
    user: bool,
    at_rewrite: bool,
    assistant: bool,
    min_chars: usize,
}

impl CompressionEngine for Caveman {
    fn info(&self) -> &EngineInfo {
        if self.at_rewrite { &AT_REWRITE } else { &INFO }
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let open = match view.this().kind {
            SegmentKind::User => self.user,
            SegmentKind::Assistant => self.assistant,
            _ => false,
        };
        if !open {
            return Ok(Edit::Keep("not_opened"));
        }
        Ok(self.shorter(view.text()).map_or_else(Edit::Keep, Edit::Replace))
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        if !self.at_rewrite || cx.lossless_only {
            return Ok(());
        }
        for index in 0..past.end() {
            let Some(segment) = past.segments().get(index) else { continue };
            if segment.kind != SegmentKind::User
                || !past.is_open(index)
                || marker::contains(segment.original())
            {
                continue;
            }
            if let Ok(new) = self.shorter(segment.sent()) {
                past.replace(INFO.id, index, new);
            }
        }
        Ok(())
    }
}

impl Caveman {
    /// The text in fewer words, or why it stays.
    fn shorter(&self, text: &str) -> Result<Replacement, &'static str> {
        if text.len() > MAX_BYTES {
            return Err("too_large");
        }
        // Counted to the limit only.
        if text.chars().nth(self.min_chars - 1).is_none() {
            return Err("below_min_chars");
        }
        let out = self.condenser.condense(text);
        if let Some(reason) = out.kept {
            return Err(reason);
        }
        let new = out.text.into_owned();
        // Not worth a change: under 5 % and under 160 bytes, which are about 40 tokens.
        let saved = text.len().saturating_sub(new.len());
        if saved * 20 < text.len() && saved < 160 {
            return Err("no_gain");
        }
        let bytes = saved as u64;
        let mut done = Replacement::new(new);
        for (rule, count) in out.rules {
            done = done.technique(rule, count);
        }
        done.dropped.bytes = bytes;
        Ok(done)
    }
}
