//! HTTP and a clock for programs that run on tokio. Nothing of tokio or of the HTTP client shows in the interface.

#[cfg(feature = "transport-reqwest")]
mod client;
#[cfg(feature = "clock-tokio")]
mod clock;
#[cfg(feature = "transport-reqwest")]
mod proxy;

#[cfg(feature = "transport-reqwest")]
pub use client::{ReqwestOptions, ReqwestTransport};
#[cfg(feature = "clock-tokio")]
pub use clock::TokioClock;
#[cfg(feature = "transport-reqwest")]
pub use proxy::{ProxySpec, Via};
