//! The board on which rules note what they saw, class by class.

use super::classes::{CLASSES, Class};
use super::model::{Evidence, Kind};

/// A whole-line grammar that no other text has.
pub(super) const STRUCTURAL: u8 = 1;
/// Always the first line of the output.
pub(super) const FIRST: u8 = 2;
/// Always the last line of the output.
pub(super) const LAST: u8 = 4;
/// The last line of the output when the class is the item's own, not one that it only contains.
pub(super) const OWN_LAST: u8 = 32;
/// Every line of the output (or of this form of it) is like this.
pub(super) const EVERY: u8 = 8;
/// Too common to say anything without the command: looked at only to find the edges of a section.
pub(super) const WEAK: u8 = 16;

/// One anchor of a class.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The class it speaks for.
    pub(super) class: Class,
    /// Its number within the class, below 32.
    pub(super) bit: u8,
    /// Its name, for the preview.
    pub(super) name: &'static str,
    /// What kind of evidence it is.
    pub(super) kind: Kind,
    /// [`STRUCTURAL`], [`FIRST`], [`LAST`], [`EVERY`], [`WEAK`].
    pub(super) flags: u8,
}

/// Declares the rules of one family file.
macro_rules! rules {
    ($($name:ident = $class:ident $bit:literal $kind:ident $text:literal $flags:expr;)*) => {
        $(static $name: $crate::rtk::detect::board::Rule = $crate::rtk::detect::board::Rule {
            class: $crate::rtk::detect::classes::Class::$class,
            bit: $bit,
            name: $text,
            kind: $crate::rtk::detect::model::Kind::$kind,
            flags: $flags,
        };)*
        #[cfg(test)]
        pub(super) const ALL: &[&$crate::rtk::detect::board::Rule] = &[$(&$name),*];
    };
}
pub(super) use rules;

/// What was seen of one class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    rules: u32,
    structural: u32,
    kinds: u8,
    /// Lines that matched.
    pub(super) hits: u32,
    last: u32,
    seen: [Option<(&'static Rule, u32)>; 3],
}

impl Tally {
    /// Different rules that matched.
    pub(super) fn rules(&self) -> u32 {
        self.rules.count_ones()
    }

    /// Different structural rules that matched.
    pub(super) fn structural(&self) -> u32 {
        self.structural.count_ones()
    }

    /// Different kinds of evidence.
    pub(super) fn kinds(&self) -> u32 {
        self.kinds.count_ones()
    }

    /// The first rules that matched.
    pub(super) fn evidence(&self) -> impl Iterator<Item = Evidence> + '_ {
        self.seen.iter().flatten().map(|(rule, line)| Evidence {
            kind: rule.kind,
            rule: rule.name,
            line: Some(*line),
        })
    }
}

/// One match, kept when the edges of sections are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// The rule.
    pub(super) rule: &'static Rule,
}

/// The notes of one pass over a text.
#[derive(Debug)]
pub(super) struct Board {
    tallies: [Tally; CLASSES],
    /// Every match in order, when asked for.
    pub(super) events: Option<Vec<Event>>,
    /// Lines that are not blank.
    pub(super) lines: u32,
}

impl Board {
    /// An empty board; `events` keeps every match.
    pub(super) fn new(events: bool) -> Self {
        Self { tallies: [Tally::default(); CLASSES], events: events.then(Vec::new), lines: 0 }
    }

    /// Notes that `rule` matched on `line`.
    pub(super) fn hit(&mut self, rule: &'static Rule, line: u32) {
        if let Some(events) = &mut self.events {
            events.push(Event { rule });
        }
        if rule.flags & WEAK != 0 {
            return;
        }
        let Some(tally) = self.tallies.get_mut(rule.class as usize) else { return };
        let bit = 1_u32.checked_shl(u32::from(rule.bit)).unwrap_or(0);
        if tally.rules & bit == 0 {
            tally.rules |= bit;
            tally.kinds |= 1 << rule.kind as u8;
            if rule.flags & STRUCTURAL != 0 {
                tally.structural |= bit;
            }
            if let Some(slot) = tally.seen.iter_mut().find(|slot| slot.is_none()) {
                *slot = Some((rule, line));
            }
        }
        if tally.hits == 0 || tally.last != line {
            tally.hits += 1;
            tally.last = line;
        }
    }

    /// What was seen of a class.
    pub(super) fn of(&self, class: Class) -> Tally {
        self.tallies.get(class as usize).copied().unwrap_or_default()
    }
}
