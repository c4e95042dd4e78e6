//! The library from outside, on the memory store and in virtual time: admitting and reporting, rests and locks,
//! limits and pools, sessions, leases, and the pitfalls of others.

#[path = "../common/mod.rs"]
mod common;

mod admit;
mod breakers;
mod leases;
mod pitfalls;
mod rates_pools;
mod rests;
mod services;
