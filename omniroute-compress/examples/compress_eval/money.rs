//! What the input of a session costs, with and without compression.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use omniroute_compress::cost::{Block, CachePolicy, Prices, Request, simulate};
use omniroute_core::{Estimator, Tokenizer, Transcript};

/// Counts each text once.
#[derive(Debug)]
pub(crate) struct Counter {
    estimator: Estimator,
    known: HashMap<u64, u64>,
}

impl Counter {
    pub(crate) fn new(model: &str) -> Self {
        Counter { estimator: Estimator::for_model(model), known: HashMap::new() }
    }

    /// The request as its cache sees it: one block a text.
    pub(crate) fn request(&mut self, transcript: &Transcript<'_>) -> Request {
        let blocks: Vec<Block> = transcript
            .segments()
            .iter()
            .map(|segment| {
                let mut hasher = DefaultHasher::new();
                (segment.kind as u8).hash(&mut hasher);
                segment.raw().hash(&mut hasher);
                let hash = hasher.finish();
                let count = || u64::from(self.estimator.count(segment.original()));
                Block::new(*self.known.entry(hash).or_insert_with(count), hash)
            })
            .collect();
        Request::new(blocks, 0)
    }
}

/// Cost of the input of all requests in 1e-12 USD: where writing costs extra, and where it does not.
pub(crate) fn cost(requests: &[Request]) -> [u128; 2] {
    let writes = Prices::of_model("claude-sonnet-4-5").unwrap();
    let free = Prices::of_model("gpt-4o").unwrap();
    [
        simulate(requests, &writes, &CachePolicy::anthropic_5m()).total.cost.pico(),
        simulate(requests, &free, &CachePolicy::openai()).total.cost.pico(),
    ]
}
