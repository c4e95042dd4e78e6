//! `omniroute`: compresses and counts requests to language models, from standard input to standard output.
//!
//! Data goes to standard output and everything else to standard error. Nothing is read but the input, filter files as far
//! as the user trusts them, and the configuration that the user names or keeps in the folder for configurations; nothing is
//! executed, the working folder is not searched for a configuration.

#[cfg(feature = "blobs")]
mod blobs;
mod cli;
mod columns;
mod compress;
mod config;
mod count;
mod doctor;
mod exit;
mod free_tiers;
mod gain;
mod input;
mod models;
mod money;
mod progress;
mod providers;
mod report;
mod route;
mod rtk;
#[cfg(feature = "serve")]
mod serve;
mod table;
mod terminal;
#[cfg(feature = "blobs")]
mod time;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    // A usage error ends the process here, with exit code 2.
    let done = match Cli::parse().command {
        Command::Compress(args) => compress::run(&args),
        Command::Count(args) => count::run(&args),
        Command::FreeTiers(args) => free_tiers::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Providers(args) => providers::run(&args),
        Command::Gain(args) => gain::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args),
        Command::Route(args) => route::run(&args),
        Command::Config(args) => config::command::run(&args),
        Command::Key(args) => config::key::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Rtk(args) => rtk::run(&args),
        #[cfg(feature = "blobs")]
        Command::Blobs(args) => blobs::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
