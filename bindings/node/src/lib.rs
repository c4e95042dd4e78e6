//! The native module of `omniroute-native`: moves bytes and strings across, maps errors, decides nothing.

mod call;
mod engine;
pub mod errors;
mod job;
mod joined;
mod outcome;
mod reply;
mod router;
mod strategy;

/// Version of the package.
#[napi_derive::napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether this build counts tokens with the real vocabularies.
#[napi_derive::napi]
pub const EXACT_TOKENS: bool = cfg!(feature = "tokens-exact");
