//! Answers that may still be judged, by request: a judgement comes later, perhaps twice, perhaps never.

use std::fmt;
use std::sync::Arc;

use omniroute_core::route::{Feedback, TaskClass};
use omniroute_core::{Principal, Target, UnixMs};

use crate::bounded::Bounded;

const MOST: usize = 50_000;
const LASTS: i64 = 24 * 3_600_000;

/// Who answered which request of the last day.
#[derive(Debug)]
pub struct FeedbackBook {
    open: Bounded<Arc<str>, Answer>,
}

#[derive(Debug, Clone)]
struct Answer {
    target: Target,
    class: TaskClass,
    consumer: Principal,
    at: UnixMs,
    judged: Option<(f32, f32)>,
}

/// Why a judgement was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedbackError {
    /// No answer of this request is known, or it is older than a day.
    UnknownRequest(String),
    /// The score is no number from 0 to 1.
    BadScore(String),
}

impl fmt::Display for FeedbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedbackError::UnknownRequest(id) => {
                write!(f, "request {id:?} has no answer of the last 24 hours that could be judged")
            }
            FeedbackError::BadScore(score) => {
                write!(f, "score {score} is not allowed, it has to be from 0 to 1")
            }
        }
    }
}

impl std::error::Error for FeedbackError {}

impl Default for FeedbackBook {
    fn default() -> Self {
        FeedbackBook { open: Bounded::new(MOST) }
    }
}

impl FeedbackBook {
    /// Notes who answered.
    pub fn answered(
        &mut self,
        request: Arc<str>,
        target: Target,
        class: TaskClass,
        consumer: Principal,
        at: UnixMs,
    ) {
        self.open.insert(request, Answer { target, class, consumer, at, judged: None });
    }

    /// Joins a judgement with the answer it is about. The last one of a request counts.
    ///
    /// # Errors
    /// An unknown or old request, or a score out of range.
    pub fn judge(
        &mut self,
        request: &str,
        score: f32,
        weight: f32,
        at: UnixMs,
    ) -> Result<Feedback, FeedbackError> {
        for number in [score, weight] {
            if !(0.0..=1.0).contains(&number) {
                return Err(FeedbackError::BadScore(number.to_string()));
            }
        }
        let id: Arc<str> = request.into();
        let unknown = || FeedbackError::UnknownRequest(request.chars().take(80).collect());
        let answer = self.open.get_mut(&id).ok_or_else(unknown)?;
        if at.0.saturating_sub(answer.at.0) > LASTS {
            return Err(unknown());
        }
        let mut feedback = Feedback::new(id, answer.target.clone(), answer.class, at, score);
        feedback.consumer = answer.consumer.clone();
        feedback.weight = weight;
        feedback.replaces = answer.judged.replace((score, weight));
        Ok(feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_judgement_counts_and_late_ones_do_not() {
        let mut book = FeedbackBook::default();
        let target = Target::new("a", "1", "m");
        book.answered("r1".into(), target.clone(), TaskClass::Coding, Principal::default(), UnixMs(0));
        let first = book.judge("r1", 0.2, 1.0, UnixMs(10)).unwrap();
        assert_eq!((first.target, first.replaces), (target, None));
        let second = book.judge("r1", 0.9, 1.0, UnixMs(20)).unwrap();
        assert_eq!(second.replaces, Some((0.2, 1.0)));
        let said = |error: FeedbackError| error.to_string();
        assert_eq!(
            said(book.judge("r1", 0.9, 1.0, UnixMs(LASTS + 1)).unwrap_err()),
            "request \"r1\" has no answer of the last 24 hours that could be judged"
        );
        assert!(book.judge("r2", 0.9, 1.0, UnixMs(0)).is_err());
        assert_eq!(
            said(book.judge("r1", 1.5, 1.0, UnixMs(0)).unwrap_err()),
            "score 1.5 is not allowed, it has to be from 0 to 1"
        );
        assert!(book.judge("r1", f32::NAN, 1.0, UnixMs(0)).is_err());
    }
}
