//! Counting tokens: the [`Tokenizer`] trait, the families of tokenizers and an [`Estimator`] that needs no vocabulary.

mod coefficients;
mod estimate;
mod packed;
mod scan;
mod script;

pub use estimate::Estimator;

/// Counts the tokens of plain text, without the framing a vendor adds around messages.
pub trait Tokenizer: Send + Sync + std::fmt::Debug + 'static {
    /// A short stable name such as `estimate:o200k`, for receipts and reports.
    fn id(&self) -> &str;

    /// Whether [`count`](Self::count) is what the vendor counts; `false` by default.
    fn exact(&self) -> bool {
        false
    }

    /// The number of tokens of `text`: 0 for the empty text, at least 1 for any other.
    fn count(&self, text: &str) -> u32;
}

/// A family of tokenizers that price text alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// OpenAI models since GPT-4o.
    O200k,
    /// GPT-4, GPT-4 Turbo, GPT-3.5 and the embedding models.
    Cl100k,
    /// Claude models up to 4.6; fitted on Sonnet 4.5 and Opus 4.6.
    Claude,
    /// Claude models after 4.6, which count more tokens; fitted on Opus 5 and Fable 5.
    ClaudeNew,
    /// Gemini models; fitted on Gemini 3 Flash.
    Gemini,
    /// A model this table does not know; counted like [`O200k`](Self::O200k).
    #[default]
    Other,
}

impl Family {
    /// The family of a model's name: a bare name, one with a vendor in front (`openai/gpt-5`), a path
    /// (`models/gemini-2.5-pro`) or a Bedrock id; capitals do not matter. [`Other`](Self::Other) when it is not known.
    #[must_use]
    pub fn of_model(model: &str) -> Self {
        let lower = model.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        if let Some(claude) = tail_of(name, "claude") {
            return if is_new_claude(claude) { Self::ClaudeNew } else { Self::Claude };
        }
        if tail_of(name, "gemini").is_some() {
            return Self::Gemini;
        }
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if starts(&["gpt-4o", "gpt-4.", "chatgpt-4o", "gpt-5", "gpt-oss", "o1", "o3", "o4", "codex-"]) {
            return Self::O200k;
        }
        if starts(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada-002"]) {
            return Self::Cl100k;
        }
        Self::Other
    }

    /// The id of the estimator of this family.
    pub(crate) const fn estimator_id(self) -> &'static str {
        match self {
            Self::O200k => "estimate:o200k",
            Self::Cl100k => "estimate:cl100k",
            Self::Claude => "estimate:claude",
            Self::ClaudeNew => "estimate:claude-new",
            Self::Gemini => "estimate:gemini",
            Self::Other => "estimate:other",
        }
    }

    /// Tokens of this family for a thousand tokens of the vocabulary it leans on.
    pub(crate) const fn per_mille(self) -> u64 {
        match self {
            Self::Claude => 1270,
            Self::ClaudeNew => 1600,
            Self::Gemini => 1200,
            Self::O200k | Self::Cl100k | Self::Other => 1000,
        }
    }

    /// Whether the family is counted with the cl100k tables instead of the o200k ones.
    pub(crate) const fn is_cl100k(self) -> bool {
        matches!(self, Self::Cl100k)
    }
}

/// What follows `word` where it begins a part of `name`.
fn tail_of<'a>(name: &'a str, word: &str) -> Option<&'a str> {
    let (before, after) = name.split_once(word)?;
    before.is_empty().then_some(after).or_else(|| before.ends_with(['.', '-', ':', '~']).then_some(after))
}

/// Whether a Claude name without its first word is of the newer tokenizer: version 4.7 or later.
fn is_new_claude(rest: &str) -> bool {
    let mut numbers = rest
        .split(['-', '.', '@', ':', '_'])
        .filter(|part| !part.is_empty())
        // A date, a revision or a context size is no version.
        .filter_map(|part| if part.len() <= 2 { part.parse::<u32>().ok() } else { None });
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= (4, 7),
        (Some(major), None) => major >= 5,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_by_model_name() {
        for (model, family) in [
            ("gpt-4o", Family::O200k),
            ("gpt-4o-mini-2024-07-18", Family::O200k),
            ("gpt-4.1", Family::O200k),
            ("gpt-5.4", Family::O200k),
            ("openai/gpt-5", Family::O200k),
            ("openai/gpt-oss-120b", Family::O200k),
            ("o3", Family::O200k),
            ("o4-mini", Family::O200k),
            ("gpt-4", Family::Cl100k),
            ("gpt-4-turbo", Family::Cl100k),
            ("gpt-3.5-turbo", Family::Cl100k),
            ("claude-3-5-sonnet-20241022", Family::Claude),
            ("claude-3-haiku@20240307", Family::Claude),
            ("claude-sonnet-4-20250514", Family::Claude),
            ("claude-sonnet-4-5", Family::Claude),
            ("claude-opus-4.6", Family::Claude),
            ("claude-opus-4-7", Family::ClaudeNew),
            ("anthropic/claude-opus-5", Family::ClaudeNew),
            ("claude-fable-5", Family::ClaudeNew),
            ("Claude-Fable-5", Family::ClaudeNew),
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", Family::Claude),
            ("us.anthropic.claude-opus-4-1-20250805-v1:0", Family::Claude),
            ("claude-2.1", Family::Claude),
            ("claude-instant", Family::Claude),
            ("gemini-3-flash-preview", Family::Gemini),
            ("models/gemini-2.5-pro", Family::Gemini),
            ("google/gemini-2.0-flash-001", Family::Gemini),
            ("llama-3.3-70b", Family::Other),
            ("", Family::Other),
        ] {
            assert_eq!(Family::of_model(model), family, "{model}");
        }
    }

    #[test]
    fn ids_and_exactness() {
        let estimator = Estimator::for_model("gpt-4o");
        assert_eq!(estimator.id(), "estimate:o200k");
        assert_eq!(estimator.family(), Family::O200k);
        assert!(!estimator.exact());
    }
}
