//! Packs `catalog/providers.json` and `catalog/models.json` for the binary. A bad row stops the build.

#[expect(dead_code, unreachable_pub, unused_imports, reason = "the library uses the rest")]
#[path = "src/data/mod.rs"]
mod data;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("catalog");
    let read = |name: &str| {
        let path = folder.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::read_to_string(path)
    };
    let providers = data::ProviderFile::read(&read("providers.json")?)?;
    let models = data::ModelFile::read(&read("models.json")?)?;
    if let Some(bad) = providers.skipped.iter().chain(&models.skipped).next() {
        return Err(format!("{}: {}", bad.row, bad.reason).into());
    }
    let (bytes, left_out) = data::pack(providers.rows, models.rows, &models.aliases, &models.meta.as_of);
    if let Some(problem) = left_out.first() {
        return Err(problem.clone().into());
    }
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("catalog.bin"), bytes)?;
    println!("cargo::rerun-if-changed=src/data");
    Ok(())
}
