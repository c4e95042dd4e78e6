//! A model row: what one provider serves under one name.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

use super::codec::Codec;
use super::price::Prices;
use super::provider::{Status, WireId};
use super::words::words;

words! {
    /// A rough class by name, a hint for a start without measurements.
    Tier { Small = "small", Mid = "mid", Frontier = "frontier", }
}
words! {
    /// What is free about a model.
    FreeKind {
        /// Tokens anew each day.
        RecurringDaily = "recurring-daily",
        /// Tokens anew each month.
        RecurringMonthly = "recurring-monthly",
        /// No published limit on tokens.
        RecurringUncapped = "recurring-uncapped",
        /// Money or token credit anew each month.
        RecurringCredit = "recurring-credit",
        /// Credit at sign-up, once.
        OneTimeInitial = "one-time-initial",
        /// Served without a key.
        Keyless = "keyless",
        /// Listed at a price of zero.
        ZeroPrice = "zero-price",
        /// The vendor marks the name as free.
        Suffix = "suffix",
    }
}
words! {
    /// What a model can read or write.
    Medium { Text = "text", Image = "image", Pdf = "pdf", Audio = "audio", Video = "video", }
}
words! {
    /// A step of reasoning effort.
    Effort {
        None = "none", Minimal = "minimal", Low = "low", Medium = "medium", High = "high", Xhigh = "xhigh", Max = "max",
    }
}

/// A set of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modalities(u8);

/// A set of reasoning efforts, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Efforts(u8);

impl Modalities {
    /// Whether `medium` is in the set.
    pub fn has(self, medium: Medium) -> bool {
        self.0 & 1 << medium as u8 != 0
    }

    /// The media in the set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Medium::ALL.iter().filter(move |m| self.0 & 1 << **m as u8 != 0).map(|m| m.word())
    }
}

impl Efforts {
    /// Whether `effort` is in the set.
    pub fn has(self, effort: Effort) -> bool {
        self.0 & 1 << effort as u8 != 0
    }

    /// The efforts in the set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Effort::ALL.iter().filter(move |e| self.0 & 1 << **e as u8 != 0).map(|e| e.word())
    }
}

impl<'de> Deserialize<'de> for Modalities {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let words = Vec::<Medium>::deserialize(from)?;
        Ok(Modalities(words.iter().fold(0, |set, word| set | 1 << *word as u8)))
    }
}

impl<'de> Deserialize<'de> for Efforts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let words = Vec::<Effort>::deserialize(from)?;
        Ok(Efforts(words.iter().fold(0, |set, word| set | 1 << *word as u8)))
    }
}

impl Serialize for Modalities {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.words())
    }
}

/// A model at a provider. A missing fact is unknown, never zero or false.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct ModelRow<'a> {
    /// Id of the provider row.
    pub provider: Cow<'a, str>,
    /// The provider's name for the model.
    pub id: Cow<'a, str>,
    /// Name for people.
    pub name: Option<Cow<'a, str>>,
    /// Other spellings at this provider.
    pub aliases: Vec<Cow<'a, str>>,
    /// Input and output together, in tokens.
    pub context_window: Option<u64>,
    /// Where the window comes from, if not from the model's own facts.
    pub ctx_src: Option<Cow<'a, str>>,
    /// Longest input, in tokens.
    pub max_input: Option<u64>,
    /// Longest output, in tokens.
    pub max_output: Option<u64>,
    /// What it reads.
    #[serde(rename = "in")]
    pub inputs: Option<Modalities>,
    /// What it writes, where that is more than text.
    #[serde(rename = "out")]
    pub outputs: Option<Modalities>,
    /// Calls tools.
    pub tools: Option<bool>,
    /// Several calls in one turn.
    pub parallel_tools: Option<bool>,
    /// Holds to a JSON schema.
    pub json_schema: Option<bool>,
    /// Reasons before it answers.
    pub reasoning: Option<bool>,
    /// Decides by itself how long to reason.
    pub adaptive_thinking: Option<bool>,
    /// Refuses sampling parameters.
    pub no_sampling: Option<bool>,
    /// Refuses a last turn by the assistant.
    pub no_prefill: Option<bool>,
    /// Takes system turns in the middle.
    pub mid_system: Option<bool>,
    /// The vendor caches prefixes.
    pub prompt_cache: Option<bool>,
    /// Shortest prefix that is cached, in tokens.
    pub cache_min: Option<u64>,
    /// All efforts it takes.
    pub efforts: Option<Efforts>,
    /// Efforts it takes beside low, medium and high.
    pub extra_efforts: Option<Efforts>,
    /// Parameters it refuses.
    pub drop: Vec<Cow<'a, str>>,
    /// Member that carries reasoning text.
    pub reasoning_field: Option<Cow<'a, str>>,
    /// Wire, where it differs from the provider's.
    pub wire: Option<WireId>,
    /// Prices.
    pub price: Option<Prices>,
    /// Who says so.
    pub price_src: Option<Cow<'a, str>>,
    /// What is free about it.
    pub free: Option<FreeKind>,
    /// Day of retirement, `YYYY-MM-DD`.
    pub deprecated_on: Option<Cow<'a, str>>,
    /// Whether it is still served.
    pub status: Status,
    /// Rough class.
    pub tier: Option<Tier>,
    /// Source of the row.
    pub src: Option<Cow<'a, str>>,
}

impl ModelRow<'_> {
    /// `provider/id`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether calls cost nothing by what the row says: a free kind without a limit on tokens.
    pub fn is_free(&self) -> bool {
        use FreeKind::{Keyless, RecurringUncapped, Suffix, ZeroPrice};
        matches!(self.free, Some(Keyless | RecurringUncapped | Suffix | ZeroPrice))
    }
}

impl<'a> ModelRow<'a> {
    /// All fields but `provider`, which the table keeps as a number.
    pub(crate) fn fields(&mut self, codec: &mut impl Codec<'a>) {
        codec.text(&mut self.id);
        codec.texts(&mut self.aliases);
        codec.maybe_text(&mut self.name);
        for number in
            [&mut self.context_window, &mut self.max_input, &mut self.max_output, &mut self.cache_min]
        {
            codec.maybe_number(number);
        }
        codec.maybe_text(&mut self.ctx_src);
        codec.maybe(&mut self.inputs, |codec, set| codec.byte(&mut set.0));
        codec.maybe(&mut self.outputs, |codec, set| codec.byte(&mut set.0));
        for flag in [
            &mut self.tools,
            &mut self.parallel_tools,
            &mut self.json_schema,
            &mut self.reasoning,
            &mut self.adaptive_thinking,
            &mut self.no_sampling,
            &mut self.no_prefill,
            &mut self.mid_system,
            &mut self.prompt_cache,
        ] {
            codec.maybe_flag(flag);
        }
        codec.maybe(&mut self.efforts, |codec, set| codec.byte(&mut set.0));
        codec.maybe(&mut self.extra_efforts, |codec, set| codec.byte(&mut set.0));
        codec.texts(&mut self.drop);
        codec.maybe_text(&mut self.reasoning_field);
        codec.maybe_word(&mut self.wire);
        codec.maybe(&mut self.price, |codec, price| price.fields(codec));
        codec.maybe_text(&mut self.price_src);
        codec.maybe_word(&mut self.free);
        codec.maybe_text(&mut self.deprecated_on);
        codec.word(&mut self.status);
        codec.maybe_word(&mut self.tier);
        codec.maybe_text(&mut self.src);
    }
}
