//! Cutting a byte stream into events, whatever way the bytes arrive.

mod buffer;
mod sse;

pub use buffer::Buffer;
pub use sse::{Frame, FrameError, Sse};
