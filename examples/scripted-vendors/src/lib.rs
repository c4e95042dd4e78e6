//! Vendors that do what a script says, on a clock that only moves when told: the same script gives the same answers,
//! without keys and without a network.

mod script;
mod stage;
mod told;
mod vendor;

pub use script::{Does, Phase, Script};
pub use stage::{Stage, Turn};
pub use told::{minutes, why};
pub use vendor::Vendor;
