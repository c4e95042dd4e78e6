//! What the catalogue costs: `cargo run --release -p omniroute-providers --example catalog_speed`.

use std::time::Duration;

use cpu_time::ProcessTime;
use omniroute_core::ModelFacts;
use omniroute_providers::{Catalog, ModelFilter};

#[expect(clippy::print_stdout, reason = "a program for people")]
fn main() {
    let start = ProcessTime::now();
    let catalog = Catalog::embedded();
    let opened = start.elapsed();
    let fact = catalog.lookup("anthropic", "claude-sonnet-4-5");
    let first = start.elapsed();
    let resolved = catalog.resolve("gpt-5.4", &["openai"]).is_ok();
    let named = start.elapsed();
    let rows = catalog.models().filter(|row| row.price.is_some()).count();
    let all = start.elapsed();
    let listed = catalog.list_models(&ModelFilter::default()).len();
    let table = start.elapsed();
    let missed = catalog.resolve("claude-sonet-4-5", &[]).is_err();
    let suggested = start.elapsed();

    let show = |what: &str, spent: Duration| println!("{what:<44}{:>9.1} us CPU", spent.as_secs_f64() * 1e6);
    show("open", opened);
    show("first lookup, with opening", first);
    show("bare name", named - first);
    show(&format!("decode all models ({rows} with a price)"), all - named);
    show(&format!("list all models ({listed})"), table - all);
    show("a mistyped name, with suggestions", suggested - table);
    println!("packed: {} bytes in the binary", catalog.packed_bytes());
    assert!(fact.is_some() && resolved && missed);

    let rounds = 100_000;
    let start = ProcessTime::now();
    let found = (0..rounds).filter(|_| catalog.lookup("openai", "gpt-5.5").is_some()).count();
    println!("{found} lookups: {:.0} ns CPU each", start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds));
}
