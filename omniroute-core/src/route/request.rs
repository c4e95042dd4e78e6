//! What routing may know about a request: numbers and flags, derived once, never its text.

use std::sync::Arc;

use super::pool::OfferTier;
use crate::ids::Principal;
use crate::target::ConnectionId;

/// Something a request cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Need {
    /// Calls of tools.
    Tools,
    /// Reading images.
    Vision,
    /// Hearing.
    AudioIn,
    /// Speaking.
    AudioOut,
    /// Watching.
    Video,
    /// Reading documents.
    Document,
    /// Holding to a schema.
    Structured,
}

impl Need {
    /// Every need, in the order of declaration.
    pub const ALL: [Need; 7] = [
        Need::Tools,
        Need::Vision,
        Need::AudioIn,
        Need::AudioOut,
        Need::Video,
        Need::Document,
        Need::Structured,
    ];

    /// Its place in a set.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Need::Tools => "tools",
            Need::Vision => "vision",
            Need::AudioIn => "audio_in",
            Need::AudioOut => "audio_out",
            Need::Video => "video",
            Need::Document => "document",
            Need::Structured => "structured_output",
        }
    }
}

/// A set of needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Needs(u8);

impl Needs {
    /// Nothing special.
    pub const NONE: Needs = Needs(0);

    /// The set with one more.
    #[must_use]
    pub const fn with(self, need: Need) -> Needs {
        Needs(self.0 | need.bit())
    }

    /// The set with one less.
    #[must_use]
    pub const fn without(self, need: Need) -> Needs {
        Needs(self.0 & !need.bit())
    }

    /// Whether `need` is in the set.
    pub const fn has(self, need: Need) -> bool {
        self.0 & need.bit() != 0
    }

    /// The set as bits, see [`Need::bit`].
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// What kind of work a request is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TaskClass {
    /// Writing and changing code.
    Coding,
    /// Judging what others wrote.
    Review,
    /// Deciding what to do, in which order.
    Planning,
    /// Comparing, computing, explaining.
    Analysis,
    /// Finding out why something does not work.
    Debugging,
    /// Explaining to readers.
    Documentation,
    /// Anything else.
    #[default]
    Default,
}

impl TaskClass {
    /// Every class, in the order in which tables list them.
    pub const ALL: [TaskClass; 7] = [
        TaskClass::Coding,
        TaskClass::Review,
        TaskClass::Planning,
        TaskClass::Analysis,
        TaskClass::Debugging,
        TaskClass::Documentation,
        TaskClass::Default,
    ];

    /// Stable name.
    pub const fn name(self) -> &'static str {
        match self {
            TaskClass::Coding => "coding",
            TaskClass::Review => "review",
            TaskClass::Planning => "planning",
            TaskClass::Analysis => "analysis",
            TaskClass::Debugging => "debugging",
            TaskClass::Documentation => "documentation",
            TaskClass::Default => "default",
        }
    }

    /// The class of this name.
    pub fn parse(name: &str) -> Option<TaskClass> {
        TaskClass::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// What is known of a request. The default is a small request that needs nothing special.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RequestFacts {
    /// Whose request it is.
    pub consumer: Principal,
    /// Tokens as they will be sent.
    pub input_tokens: u64,
    /// The part of them that a vendor's cache probably serves.
    pub cached_tokens: u64,
    /// Longest answer asked for.
    pub max_output: Option<u64>,
    /// How long such answers usually are. Default: 700 tokens.
    pub output_estimate: Option<u64>,
    /// What it cannot do without.
    pub needs: Needs,
    /// What kind of work it is.
    pub class: TaskClass,
    /// How special it is, 0..100; none: not measured.
    pub specificity: Option<f32>,
    /// The cheapest kind of offer that makes sense for it; none: not known.
    pub tier_hint: Option<OfferTier>,
    /// Names the part at the front that a vendor's cache could keep; none: too short, or switched off.
    pub prefix_key: Option<Arc<str>>,
    /// Tags that a step has to carry.
    pub tags: Vec<Arc<str>>,
    /// Only this connection.
    pub connection: Option<ConnectionId>,
}

impl RequestFacts {
    /// Tokens of the answer that are paid for, as far as can be told beforehand.
    pub fn output_tokens(&self) -> u64 {
        let usual = self.output_estimate.unwrap_or(700);
        self.max_output.map_or(usual, |most| most.min(usual))
    }

    /// Tokens of the window that the answer needs, before the model's own limit is looked at.
    pub fn reserve(&self) -> u64 {
        self.max_output.unwrap_or(1_024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_limit_is_a_short_answer() {
        let mut facts = RequestFacts::default();
        assert_eq!((facts.output_tokens(), facts.reserve()), (700, 1_024));
        facts.max_output = Some(50);
        assert_eq!((facts.output_tokens(), facts.reserve()), (50, 50));
        facts.max_output = Some(5_000);
        facts.output_estimate = Some(900);
        assert_eq!((facts.output_tokens(), facts.reserve()), (900, 5_000));
    }

    #[test]
    fn classes_are_found_by_name() {
        for class in TaskClass::ALL {
            assert_eq!(TaskClass::parse(class.name()), Some(class));
        }
        assert_eq!(TaskClass::parse("code"), None);
    }
}
