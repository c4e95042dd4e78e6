//! The state of one session's prompt cache, and what a request finds in it.

use super::policy::{CacheKind, CachePolicy, WriteRule};
use super::request::{Block, Request};

/// How the input tokens of one request were served. The three parts add up to its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to the cache at a price.
    pub write: u64,
    /// Tokens billed as plain input.
    pub uncached_input: u64,
    /// Whether the session had a cached prefix and all of it was gone.
    pub cold: bool,
}

/// What a provider holds of one session: the last prefix sent, and where it may be read from.
#[derive(Debug, Clone, Default)]
pub struct PrefixCache {
    held: Vec<Held>,
    clock: Option<u64>,
}

/// A block of the held prefix. `entry` says whether the prefix that ends here may be read.
#[derive(Debug, Clone, Copy)]
struct Held {
    tokens: u64,
    hash: u64,
    entry: Entry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Absent,
    Until(u64),
    /// Touched at an unknown time: lives until a request with a time touches it.
    Untimed,
}

impl PrefixCache {
    /// The cache of a session that has sent nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves one request and remembers what it leaves in the cache.
    ///
    /// Takes time linear in the blocks of this request and of the held prefix. Sums saturate at
    /// `u64::MAX`.
    pub fn apply(&mut self, request: &Request, policy: &CachePolicy) -> Split {
        let marks = Marks::of(&request.blocks, policy);
        let now = self.advance(request.at);
        let cold = self.drop_if_cold(request.cold, now);
        let Some(last) = marks.last() else {
            return Split { uncached_input: marks.total, cold, ..Split::default() };
        };

        let same = self.common_prefix(&request.blocks);
        let hit = self.longest_hit(&marks, same, policy, request.cold, now);
        let read = readable_tokens(&request.blocks, hit, policy);
        self.store(request, &marks, same, hit, policy, now);

        let covered = match policy.write {
            WriteRule::AsInput => read,
            WriteRule::Short | WriteRule::Long => last.tokens,
        };
        Split { read, write: covered - read, uncached_input: marks.total - covered, cold }
    }

    /// The time of this request; it never runs backwards.
    fn advance(&mut self, at: Option<u64>) -> Option<u64> {
        let now = at.map(|at| self.clock.map_or(at, |clock| clock.max(at)));
        self.clock = now.or(self.clock);
        now
    }

    /// Empties a cache of which nothing is left; true if there had been something.
    fn drop_if_cold(&mut self, flag: Option<bool>, now: Option<u64>) -> bool {
        let kept = !self.held.is_empty();
        let gone = flag == Some(true) || !self.held.iter().any(|h| h.entry.is_live(flag, now));
        if gone {
            self.held.clear();
        }
        kept && gone
    }

    fn common_prefix(&self, blocks: &[Block]) -> usize {
        let pairs = self.held.iter().zip(blocks);
        pairs.take_while(|(held, block)| held.hash == block.hash && held.tokens == block.tokens).count()
    }

    /// The longest prefix, in blocks, that is shared, alive and within reach of a breakpoint.
    fn longest_hit(
        &self,
        marks: &Marks,
        same: usize,
        policy: &CachePolicy,
        flag: Option<bool>,
        now: Option<u64>,
    ) -> usize {
        // Windows of earlier breakpoints start where those of later ones ended, so that no
        // position is looked at twice.
        let mut unseen = same;
        for mark in marks.ends.iter().rev() {
            let below = mark.blocks.saturating_sub(policy.lookback_blocks);
            let window = self.held.get(below..unseen.min(mark.blocks)).unwrap_or_default();
            if let Some(at) = window.iter().rposition(|held| held.entry.is_live(flag, now)) {
                return below + at + 1;
            }
            unseen = unseen.min(below);
        }
        0
    }

    /// Renews what was read, adds what was written, forgets what the request no longer shares.
    fn store(
        &mut self,
        request: &Request,
        marks: &Marks,
        same: usize,
        hit: usize,
        policy: &CachePolicy,
        now: Option<u64>,
    ) {
        let end = marks.last().map_or(0, |mark| mark.blocks);
        if end > same {
            self.held.truncate(same);
            let fresh = request.blocks.get(same..end).unwrap_or_default();
            self.held.extend(fresh.iter().map(Held::of));
        }
        let touched = now.map_or(Entry::Untimed, |now| Entry::Until(now.saturating_add(policy.ttl_ms)));
        for held in self.held.iter_mut().take(hit) {
            if held.entry.is_live(request.cold, now) {
                held.entry = touched;
            }
        }
        match policy.kind {
            CacheKind::None => {}
            CacheKind::Automatic => self.held.iter_mut().take(end).for_each(|held| held.entry = touched),
            CacheKind::Breakpoints => {
                for mark in &marks.ends {
                    if let Some(held) = self.held.get_mut(mark.blocks - 1) {
                        held.entry = touched;
                    }
                }
            }
        }
    }
}

impl Held {
    fn of(block: &Block) -> Self {
        Self { tokens: block.tokens, hash: block.hash, entry: Entry::Absent }
    }
}

impl Entry {
    fn is_live(self, flag: Option<bool>, now: Option<u64>) -> bool {
        match self {
            Self::Absent => false,
            Self::Untimed => true,
            Self::Until(end) => flag == Some(false) || now.is_none_or(|now| now <= end),
        }
    }
}

/// The prefixes of one request that the policy caches, shortest first, and its length.
#[derive(Debug)]
struct Marks {
    ends: Vec<Mark>,
    total: u64,
}

/// The first `blocks` (at least 1) blocks of a request and their length.
#[derive(Debug, Clone, Copy)]
struct Mark {
    blocks: usize,
    tokens: u64,
}

impl Marks {
    fn of(blocks: &[Block], policy: &CachePolicy) -> Self {
        let mut ends = Vec::new();
        let mut total = 0_u64;
        for (before, block) in blocks.iter().enumerate() {
            total = total.saturating_add(block.tokens);
            if block.breakpoint && policy.kind == CacheKind::Breakpoints {
                ends.push(Mark { blocks: before + 1, tokens: total });
            }
        }
        ends.drain(..ends.len().saturating_sub(policy.max_breakpoints));
        let at_end = match policy.kind {
            CacheKind::None => false,
            CacheKind::Automatic => true,
            CacheKind::Breakpoints => policy.auto_breakpoint && !blocks.iter().any(|b| b.breakpoint),
        };
        if at_end && !blocks.is_empty() {
            ends.push(Mark { blocks: blocks.len(), tokens: total });
        }
        ends.retain(|mark| mark.tokens >= policy.minimum_tokens);
        Self { ends, total }
    }

    fn last(&self) -> Option<Mark> {
        self.ends.last().copied()
    }
}

/// The tokens of the first `hit` blocks as the provider counts a read.
fn readable_tokens(blocks: &[Block], hit: usize, policy: &CachePolicy) -> u64 {
    let shared = blocks.iter().take(hit).fold(0_u64, |sum, block| sum.saturating_add(block.tokens));
    let read = shared - shared % policy.step_tokens.max(1);
    if read < policy.minimum_tokens { 0 } else { read }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(tokens: &[u64]) -> Vec<Block> {
        (0_u64..).zip(tokens).map(|(hash, &tokens)| Block::new(tokens, hash)).collect()
    }

    fn apply(cache: &mut PrefixCache, policy: CachePolicy, request: Request) -> (u64, u64, u64) {
        let split = cache.apply(&request, &policy);
        (split.read, split.write, split.uncached_input)
    }

    #[test]
    fn tokens_behind_the_last_breakpoint_are_plain_input() {
        let mut cache = PrefixCache::new();
        let mut list = blocks(&[2_000, 50]);
        list[0].breakpoint = true;
        let policy = CachePolicy::anthropic_5m();
        assert_eq!(apply(&mut cache, policy, Request::new(list.clone(), 0)), (0, 2_000, 50));
        assert_eq!(apply(&mut cache, policy, Request::new(list, 0)), (2_000, 0, 50));
    }

    #[test]
    fn an_entry_out_of_reach_of_the_breakpoint_is_not_found() {
        for (added, found) in [(18, true), (19, true), (20, false), (40, false)] {
            let mut cache = PrefixCache::new();
            let policy = CachePolicy::anthropic_5m();
            apply(&mut cache, policy, Request::new(blocks(&[5_000]), 0));
            let mut sizes = vec![5_000];
            sizes.resize(1 + added, 1);
            let (read, ..) = apply(&mut cache, policy, Request::new(blocks(&sizes), 0));
            assert_eq!(read, if found { 5_000 } else { 0 }, "{added} blocks added");
        }
    }

    #[test]
    fn an_earlier_breakpoint_bridges_a_long_turn() {
        let mut cache = PrefixCache::new();
        let policy = CachePolicy::anthropic_5m();
        let mut long = blocks(&[5_000; 40]);
        apply(&mut cache, policy, Request::new(long.iter().copied().take(1), 0));
        long[10].breakpoint = true;
        long[39].breakpoint = true;
        assert_eq!(apply(&mut cache, policy, Request::new(long, 0)), (5_000, 195_000, 0));
    }

    #[test]
    fn only_the_last_breakpoints_count() {
        let mut cache = PrefixCache::new();
        let mut policy = CachePolicy::anthropic_5m();
        policy.max_breakpoints = 1;
        let mut list = blocks(&[2_000, 2_000, 2_000]);
        list[0].breakpoint = true;
        list[1].breakpoint = true;
        apply(&mut cache, policy, Request::new(list.clone(), 0));
        list[1].hash = 99;
        assert_eq!(apply(&mut cache, policy, Request::new(list, 0)), (0, 4_000, 2_000));
    }

    #[test]
    fn reads_renew_the_lifetime_and_the_boundary_is_warm() {
        let mut cache = PrefixCache::new();
        let policy = CachePolicy::anthropic_5m();
        let steps = [(0, 0), (300_000, 2_000), (600_000, 2_000), (900_001, 0), (900_002, 2_000)];
        for (at, read) in steps {
            let got = apply(&mut cache, policy, Request::new(blocks(&[2_000]), 0).at(at));
            assert_eq!(got.0, read, "at {at}");
        }
    }

    #[test]
    fn the_flag_wins_over_the_times() {
        let mut cache = PrefixCache::new();
        let policy = CachePolicy::openai();
        let request = Request::new(blocks(&[2_048]), 0);
        apply(&mut cache, policy, request.clone().at(0));
        assert_eq!(apply(&mut cache, policy, request.clone().at(1).cold(true)).0, 0);
        assert_eq!(apply(&mut cache, policy, request.clone().at(9_000_000).cold(false)).0, 2_048);
        assert_eq!(apply(&mut cache, policy, request.clone().at(5)).0, 2_048, "time never runs back");
        assert!(cache.apply(&request.at(20_000_000), &policy).cold);
    }

    #[test]
    fn a_shorter_request_leaves_the_longer_prefix() {
        let mut cache = PrefixCache::new();
        let policy = CachePolicy::openai();
        let long = Request::new(blocks(&[1_280, 1_280]), 0);
        apply(&mut cache, policy, long.clone().at(0));
        apply(&mut cache, policy, Request::new(blocks(&[1_280]), 0).at(200_000));
        assert_eq!(apply(&mut cache, policy, long.clone().at(300_000)).0, 2_560);
        apply(&mut cache, policy, Request::new(blocks(&[1_280]), 0).at(500_000));
        assert_eq!(apply(&mut cache, policy, long.at(700_000)).0, 1_280, "the tail was not renewed");
    }

    #[test]
    fn short_or_unmarked_prompts_are_not_cached() {
        let mut unmarked = CachePolicy::anthropic_5m();
        unmarked.auto_breakpoint = false;
        let rows = [
            (CachePolicy::openai(), 1_000),
            (CachePolicy::anthropic_5m(), 1_000),
            (CachePolicy::none(), 9_000),
            (unmarked, 9_000),
        ];
        for (policy, tokens) in rows {
            let mut cache = PrefixCache::new();
            for _ in 0..2 {
                let request = Request::new(blocks(&[tokens]), 0);
                assert_eq!(apply(&mut cache, policy, request), (0, 0, tokens));
            }
        }
    }

    #[test]
    fn huge_counts_are_safe() {
        let request = Request::new(blocks(&[u64::MAX, u64::MAX]), u64::MAX).at(u64::MAX);
        let mut cache = PrefixCache::new();
        let policy = CachePolicy::anthropic_1h();
        assert_eq!(apply(&mut cache, policy, request.clone()), (0, u64::MAX, 0));
        assert_eq!(apply(&mut cache, policy, request), (u64::MAX, 0, 0));
    }
}
