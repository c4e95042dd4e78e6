//! The candidates a strategy chooses from: those of a pool that passed the gates.

use super::columns::{Columns, Facts};
use super::pool::{Entry, Pool};

/// Candidates that may be used, in the order of their ranks.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    pool: &'a Pool,
    columns: &'a Columns,
    eligible: &'a [u32],
}

/// One candidate, put together from the columns.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its index in the pool; what a pick names.
    pub index: u32,
    /// What seldom changes.
    pub entry: &'a Entry,
    /// What is known now.
    pub facts: Facts,
}

impl<'a> Candidates<'a> {
    /// A view. `eligible` are indices of the pool, ascending.
    ///
    /// # Panics
    /// If the columns have another length than the pool, or an index is out of range.
    pub fn new(pool: &'a Pool, columns: &'a Columns, eligible: &'a [u32]) -> Self {
        assert_eq!(pool.len(), columns.len(), "columns have a row for each candidate");
        assert!(eligible.last().is_none_or(|last| (*last as usize) < pool.len()), "indices are of this pool");
        Candidates { pool, columns, eligible }
    }

    /// Number of candidates that may be used.
    pub fn len(&self) -> usize {
        self.eligible.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.eligible.is_empty()
    }

    /// Their indices in the pool, ascending.
    pub fn indices(&self) -> &'a [u32] {
        self.eligible
    }

    /// What seldom changes, about all of the pool.
    pub fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// What is known now, about all of the pool.
    pub fn columns(&self) -> &'a Columns {
        self.columns
    }

    /// The candidate at a position, 0 being the lowest rank.
    pub fn get(&self, position: usize) -> Option<Candidate<'a>> {
        let index = *self.eligible.get(position)?;
        Some(Candidate {
            index,
            entry: self.pool.entries().get(index as usize)?,
            facts: self.columns.get(index as usize),
        })
    }

    /// All candidates that may be used, lowest rank first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Candidate<'a>> + use<'a> {
        let this = *self;
        this.eligible.iter().map(move |index| Candidate {
            index: *index,
            entry: &this.pool.entries()[*index as usize],
            facts: this.columns.get(*index as usize),
        })
    }

    /// The same candidates, or fewer: `eligible` takes the place of the indices.
    #[must_use]
    pub fn narrowed<'b>(&self, eligible: &'b [u32]) -> Candidates<'b>
    where
        'a: 'b,
    {
        Candidates { pool: self.pool, columns: self.columns, eligible }
    }
}
