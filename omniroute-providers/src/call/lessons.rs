//! What a host taught about a model by refusing a request, kept for a day.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniroute_core::UnixMs;

use crate::data::WireId;

/// How long a lesson holds: a day.
pub(super) const HOLDS: Duration = Duration::from_secs(24 * 3_600);

/// Most models that [`MemoryLessons`] remembers.
const MODELS: usize = 4_096;

/// A host's habit that differs from its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lesson {
    /// The limit of output is called `max_completion_tokens`.
    MaxCompletionTokens,
    /// The limit of output is called `max_tokens`.
    MaxTokens,
    /// This parameter is refused; its default alone is served.
    Without(&'static str),
}

impl Lesson {
    /// Whether the lesson is about requests of this wire. Others have parameters of the same names and other rules.
    pub(super) fn is_of(self, wire: WireId) -> bool {
        match self {
            Lesson::MaxCompletionTokens | Lesson::MaxTokens => wire == WireId::OpenaiChat,
            Lesson::Without(_) => matches!(wire, WireId::OpenaiChat | WireId::OpenaiResponses),
        }
    }
}

/// Keeps lessons of one connection. Share one among its providers only: another account may have other rights.
pub trait Lessons: Send + Sync + fmt::Debug + 'static {
    /// What holds for a model now.
    fn known(&self, model: &str, now: UnixMs) -> Vec<Lesson>;

    /// Keeps a lesson until a date.
    fn learn(&self, model: &str, lesson: Lesson, until: UnixMs);
}

/// Lessons in memory, of at most 4,096 models; what ends first makes room.
#[derive(Debug, Default)]
pub struct MemoryLessons(Mutex<BTreeMap<String, Vec<(Lesson, UnixMs)>>>);

impl MemoryLessons {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<(Lesson, UnixMs)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lessons for MemoryLessons {
    fn known(&self, model: &str, now: UnixMs) -> Vec<Lesson> {
        let kept = self.lock();
        let held = kept.get(model).into_iter().flatten().filter(|(_, until)| *until > now);
        held.map(|(lesson, _)| *lesson).collect()
    }

    fn learn(&self, model: &str, lesson: Lesson, until: UnixMs) {
        let mut kept = self.lock();
        if !kept.contains_key(model) && kept.len() >= MODELS {
            let last = |lessons: &[(Lesson, UnixMs)]| lessons.iter().map(|(_, until)| until.0).max();
            let oldest = kept.iter().min_by_key(|(_, lessons)| last(lessons)).map(|(model, _)| model.clone());
            oldest.into_iter().for_each(|model| drop(kept.remove(&model)));
        }
        let lessons = kept.entry(model.to_owned()).or_default();
        // Two names of one limit cannot both hold.
        let is_name = |lesson: Lesson| matches!(lesson, Lesson::MaxTokens | Lesson::MaxCompletionTokens);
        lessons.retain(|(known, _)| *known != lesson && !(is_name(*known) && is_name(lesson)));
        lessons.push((lesson, until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lessons_end_and_make_room() {
        let kept = MemoryLessons::default();
        kept.learn("m", Lesson::MaxTokens, UnixMs(10));
        kept.learn("m", Lesson::Without("top_p"), UnixMs(20));
        kept.learn("m", Lesson::MaxCompletionTokens, UnixMs(30));
        assert_eq!(kept.known("m", UnixMs(0)), [Lesson::Without("top_p"), Lesson::MaxCompletionTokens]);
        assert_eq!(kept.known("m", UnixMs(20)), [Lesson::MaxCompletionTokens]);
        assert!(kept.known("other", UnixMs(0)).is_empty());
        for number in 0..MODELS as i64 + 50 {
            kept.learn(&format!("m{number}"), Lesson::MaxTokens, UnixMs(100 + number));
        }
        assert_eq!(kept.lock().len(), MODELS);
        assert!(kept.known("m", UnixMs(0)).is_empty(), "what ends first is forgotten first");
    }
}
