//! Exact token counts for models whose vocabulary is public.

use bpe_openai::Tokenizer as Encoder;
use omniroute_core::{Family, Tokenizer};

/// A public vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vocabulary {
    /// OpenAI models since GPT-4o.
    O200k,
    /// GPT-4, GPT-4 Turbo, GPT-3.5 and the embedding models.
    Cl100k,
}

impl Vocabulary {
    /// The vocabulary of a family; `None` if it is not public.
    #[must_use]
    pub fn of(family: Family) -> Option<Self> {
        match family {
            Family::O200k => Some(Vocabulary::O200k),
            Family::Cl100k => Some(Vocabulary::Cl100k),
            _ => None,
        }
    }
}

/// Counts with the vocabulary itself. The tables are unpacked by the first count and then shared by the whole process.
///
/// ```
/// use omniroute::{ExactTokens, Vocabulary};
/// use omniroute::core::Tokenizer;
/// assert_eq!(ExactTokens::new(Vocabulary::O200k).count("hello world"), 2);
/// ```
///
/// # Behavior
/// Text that looks like a special token is counted as the plain text it is. Time is linear in the length of any text.
#[derive(Debug, Clone, Copy)]
pub struct ExactTokens {
    vocabulary: Vocabulary,
}

impl ExactTokens {
    /// A counter; unpacks nothing yet.
    #[must_use]
    pub fn new(vocabulary: Vocabulary) -> Self {
        ExactTokens { vocabulary }
    }

    fn encoder(self) -> &'static Encoder {
        match self.vocabulary {
            Vocabulary::O200k => bpe_openai::o200k_base(),
            Vocabulary::Cl100k => bpe_openai::cl100k_base(),
        }
    }
}

impl Tokenizer for ExactTokens {
    fn id(&self) -> &str {
        match self.vocabulary {
            Vocabulary::O200k => "o200k",
            Vocabulary::Cl100k => "cl100k",
        }
    }

    fn exact(&self) -> bool {
        true
    }

    fn count(&self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        u32::try_from(self.encoder().count(text)).unwrap_or(u32::MAX)
    }
}
