//! Checks the files of the catalogue: `cargo run -p omniroute-providers --example catalog_check [FOLDER]`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use omniroute_providers::{Availability, ProviderFile, check_files};

#[expect(clippy::print_stdout, reason = "a program for people")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("catalog");
    let folder = env::args_os().nth(1).map_or_else(own, PathBuf::from);
    let providers = fs::read_to_string(folder.join("providers.json"))?;
    let models = fs::read_to_string(folder.join("models.json"))?;
    let found = check_files(&providers, &models)?;
    for finding in &found {
        println!("{finding}");
    }
    let rows = ProviderFile::read(&providers)?.rows;
    let count = |word: &str| rows.iter().filter(|row| Availability::of(row).word() == word).count();
    let states = ["built", "listed-only", "needs-base-url", "not-yet", "by-policy"];
    let states: Vec<String> = states.iter().map(|word| format!("{} {word}", count(word))).collect();
    println!("catalogue: {} providers ({}), {} problems", rows.len(), states.join(", "), found.len());
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
