//! What all wire formats have in common, for translation: a request, a reply and a stream as no vendor writes them.
//!
//! [`crate::Conversation`] is the smaller reading that compression needs; it knows where in the document a text
//! stands. The types here know everything a wire can say and can be written to any wire. They borrow from the
//! document they were read from: a text stays a literal until somebody needs its characters, and a writer copies
//! the literal as it is.
//!
//! A member that no type here models stands in an [`Extra`] list of its owner. Extras are written only to the wire
//! they came from; everywhere else each gives a diagnostic.

mod assemble;
mod context;
mod error;
mod event;
mod law;
mod own;
mod part;
mod reply;
mod request;
mod value;

pub use assemble::{Assembler, replay};
pub use context::{Caps, Options, Quirks, ReasoningStyle, WriteContext};
pub use error::ErrorBody;
pub(crate) use error::cut;
pub use event::{Delta, Event, PartKind, Start, StreamItem};
pub use law::EventLaw;
pub use part::{
    Answer, Arguments, CacheMark, Call, CallKind, Citation, Issuer, Media, MediaKind, Opaque, Part, Seal,
    Source, Spelling, Text, Thought, Weight,
};
pub use reply::{Choice, Reply, Stop, StopReason, Usage};
pub use request::{Output, Param, Reasoning, Request, Thinking, Tool, ToolChoice, ToolKind, Turn};
pub use value::{Extra, Json, Str};
