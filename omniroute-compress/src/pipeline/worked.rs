//! What has been worked out once in a call: a request that is tried in several forms is not worked on anew in each.

use std::cell::RefCell;
use std::collections::HashMap;

use omniroute_core::Replacement;

/// What came of a step.
pub(super) type Answer = Result<(Replacement, u32), &'static str>;

/// Counts and answers of this call; nothing is kept where there will be one form only.
#[derive(Default)]
pub(super) struct Worked {
    on: bool,
    counts: RefCell<HashMap<usize, u32>>,
    /// By text and step, for engines that look at the one text only, where no step before has changed it.
    answers: RefCell<HashMap<(usize, usize), Answer>>,
}

impl Worked {
    pub(super) fn new(on: bool) -> Worked {
        Worked { on, ..Worked::default() }
    }

    /// Tokens of the text as it came.
    pub(super) fn count(&self, index: usize, count: impl FnOnce() -> u32) -> u32 {
        match self.on {
            true => *self.counts.borrow_mut().entry(index).or_insert_with(count),
            false => count(),
        }
    }

    /// What came of a step, if that is known.
    pub(super) fn find(&self, index: usize, step: usize) -> Option<Answer> {
        self.answers.borrow().get(&(index, step)).map(copy)
    }

    pub(super) fn keep(&self, index: usize, step: usize, answer: &Answer) {
        if self.on {
            self.answers.borrow_mut().insert((index, step), copy(answer));
        }
    }
}

fn copy(answer: &Answer) -> Answer {
    let (from, tokens) = answer.as_ref().map_err(|reason| *reason)?;
    let mut to = Replacement::default();
    to.text.clone_from(&from.text);
    to.techniques.clone_from(&from.techniques);
    to.dropped = from.dropped;
    to.undo.clone_from(&from.undo);
    to.recoverable.clone_from(&from.recoverable);
    Ok((to, *tokens))
}
