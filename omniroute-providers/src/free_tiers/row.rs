//! One offer: what one provider gives away of one model.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::day::Day;

/// How an offer renews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// A limit a day.
    RecurringDaily,
    /// A limit a month.
    RecurringMonthly,
    /// Needs no key.
    Keyless,
    /// Money or tokens every month, on an account that could also pay.
    RecurringCredit,
    /// A gift for signing up.
    OneTime,
    /// Real, but no number of tokens is published.
    Uncapped,
    /// Gone.
    Discontinued,
}

impl GrantKind {
    /// Part of the headline, unless behind a gate.
    pub fn counted(self) -> bool {
        matches!(self, GrantKind::RecurringDaily | GrantKind::RecurringMonthly | GrantKind::Keyless)
    }

    /// The word of the files.
    pub fn as_str(self) -> &'static str {
        match self {
            GrantKind::RecurringDaily => "recurring-daily",
            GrantKind::RecurringMonthly => "recurring-monthly",
            GrantKind::Keyless => "keyless",
            GrantKind::RecurringCredit => "recurring-credit",
            GrantKind::OneTime => "one-time",
            GrantKind::Uncapped => "uncapped",
            GrantKind::Discontinued => "discontinued",
        }
    }
}

/// What the terms of an offer say about use by programs, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeTerms {
    /// Allowed.
    Ok,
    /// Nobody has read them.
    Unknown,
    /// They can be read both ways.
    Ambiguous,
    /// Allowed within limits worth reading.
    Caution,
    /// They forbid it, or the service is not meant for it.
    Avoid,
}

impl FreeTerms {
    /// The word of the files.
    pub fn as_str(self) -> &'static str {
        match self {
            FreeTerms::Ok => "ok",
            FreeTerms::Unknown => "unknown",
            FreeTerms::Ambiguous => "ambiguous",
            FreeTerms::Caution => "caution",
            FreeTerms::Avoid => "avoid",
        }
    }
}

/// What is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// How it renews.
    pub kind: GrantKind,
    /// Tokens a month; 0 where none is published.
    pub monthly: u64,
    /// Tokens of the credit, once or each month by `kind`; 0 where none is published.
    #[serde(default)]
    pub credit: u64,
    /// Name of the pool that this model draws from; none: a budget of its own.
    #[serde(default)]
    pub pool: Option<String>,
    /// What must be proven first, for instance `regional-identity`.
    #[serde(default)]
    pub gate: Option<String>,
    /// The terms say that a call beyond the limit is refused, not billed.
    #[serde(default)]
    pub hard_stop: bool,
}

impl Grant {
    /// Part of the headline.
    pub fn counted(&self) -> bool {
        self.kind.counted() && self.gate.is_none()
    }
}

/// An offer on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer<'a> {
    /// Who gives.
    pub provider: &'a str,
    /// What.
    pub model: &'a str,
    /// Under which terms.
    pub terms: FreeTerms,
    /// How much.
    pub grant: &'a Grant,
}

/// An offer with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreeRow {
    /// Who gives.
    pub provider: String,
    /// The provider's id of the model.
    pub model: String,
    /// For people.
    pub name: String,
    /// What the terms say.
    pub terms: FreeTerms,
    /// The provider says that it trains on what is sent.
    pub trains_on_prompts: bool,
    /// What was given on the day of each snapshot, oldest first.
    pub hist: Vec<(Day, Grant)>,
}

impl FreeRow {
    /// The offer of a snapshot; none if it was not in it.
    pub fn at(&self, as_of: Day) -> Option<Offer<'_>> {
        let (_, grant) = self.hist.iter().find(|(day, _)| *day == as_of)?;
        Some(Offer { provider: &self.provider, model: &self.model, terms: self.terms, grant })
    }
}

/// Where a figure comes from, for instance `console-verified 2026-09-02 (1B tokens/month)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// `public-page`, `api-public`, `console-verified`, `research`.
    pub class: String,
    /// When somebody looked.
    pub day: Option<Day>,
    /// The words as they stand.
    pub text: String,
}

impl Evidence {
    /// Reads the words: class, day, remark.
    pub fn parse(text: &str) -> Evidence {
        let mut words = text.split_whitespace();
        let class = words.next().unwrap_or_default().to_owned();
        Evidence { class, day: words.next().and_then(|word| word.parse().ok()), text: text.to_owned() }
    }

    /// Somebody saw the number in the console of an account.
    pub fn console_verified(&self) -> bool {
        self.class == "console-verified"
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_files() {
        for kind in [
            GrantKind::RecurringDaily,
            GrantKind::RecurringMonthly,
            GrantKind::Keyless,
            GrantKind::RecurringCredit,
            GrantKind::OneTime,
            GrantKind::Uncapped,
            GrantKind::Discontinued,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for terms in
            [FreeTerms::Ok, FreeTerms::Unknown, FreeTerms::Ambiguous, FreeTerms::Caution, FreeTerms::Avoid]
        {
            assert_eq!(serde_json::to_value(terms).unwrap(), terms.as_str());
        }
    }

    #[test]
    fn evidence_names_class_and_day() {
        let evidence = Evidence::parse("console-verified 2026-09-02 (1B tokens/month)");
        assert!(evidence.console_verified());
        assert_eq!(evidence.day.unwrap().to_string(), "2026-09-02");
        let undated = Evidence::parse("public-page of the vendor");
        assert_eq!((undated.class.as_str(), undated.day), ("public-page", None));
        assert_eq!(Evidence::parse("").class, "");
    }
}
