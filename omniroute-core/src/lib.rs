#![doc = include_str!("../README.md")]

mod blob;
mod call;
mod clock;
mod conversation;
mod diagnostic;
mod doc;
mod engine;
mod exit;
mod failure;
mod history;
mod host;
pub mod hub;
mod ids;
mod model_facts;
mod outcome;
mod permit;
mod provider;
mod receipt;
mod request;
pub mod route;
mod segment;
mod store;
mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tokens;
mod transcript;
pub mod wire;

pub use blob::{BlobError, BlobFacts, BlobId, BlobLimits, BlobStore, Held, MemoryBlobs};
pub use call::Call;
pub use clock::{Clock, Moment, Mono, UnixMs};
pub use conversation::{Arguments, Conversation, Head, Part, Role, Text, Tool, ToolCall, ToolResult, Turn};
pub use diagnostic::Diagnostic;
pub use doc::{
    DEFAULT_MAX_BYTES, Doc, DocError, Elements, JsonStr, Kind, Members, NodeId, Patch, PatchError, Rule,
    escape, escape_into,
};
pub use engine::{
    CompressionEngine, Compressor, Edit, EngineContext, EngineError, EngineInfo, EngineMemory, Loss,
    Replacement, SegmentView, Sources,
};
pub use failure::{Evidence, Exceeded, Failure, FailureKind, Phase, QuotaWindow, Scope, Wider};
pub use history::History;
pub use host::{Body, Env, HttpTransport, Inline, Offload, TransportError};
pub use ids::{Principal, SessionId};
pub use model_facts::{Capabilities, Capability, Cost, ModelFact, ModelFacts, Usage, Usd};
pub use outcome::{LimitSeen, Outcome, Spend, Unit};
pub use permit::{Grant, Permit, PermitId, PermitSink, Purpose};
pub use provider::{CallContext, ChatBody, ChatResponse, EventStream, Provider};
pub use receipt::{
    Added, AddedBytes, CompressReceipt, CounterInfo, Dropped, EditLog, EditStep, KindTotals, MemoUse, Place,
    Rewritten, SegmentLog, Skip, StepReceipt,
};
pub use request::{ApplyError, ChatRequest};
pub use segment::{Frozen, Segment, SegmentId, SegmentKind};
pub use store::{
    Change, Commit, Durability, Key, LockScope, Record, ResilienceStore, StoreError, StoreStatus, StoreTraits,
};
pub use target::{ConnectionId, ModelId, ProviderId, Target};
pub use tokens::{Estimator, Family, Tokenizer};
pub use transcript::Transcript;

#[cfg(test)]
mod tests {
    /// Public types can be shared between threads.
    #[test]
    fn send_and_sync() {
        fn check<T: Send + Sync>() {}
        check::<crate::ChatRequest>();
        check::<crate::Transcript<'_>>();
        check::<crate::CompressReceipt>();
        check::<crate::Env>();
        check::<crate::MemoryBlobs>();
        check::<Box<dyn crate::CompressionEngine>>();
    }
}
