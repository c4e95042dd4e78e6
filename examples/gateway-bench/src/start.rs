//! From nothing to the first answer, and what stands on the disk.

use std::process::Command;
use std::time::Instant;

use super::load::{self, Load};
use super::process::Process;
use super::setup;

/// Prints how long a start takes until a request is answered, and how large the program is without its symbols.
pub(crate) fn table(vendor: &Process, runs: usize) {
    let mut wall = Vec::new();
    let mut cpu = Vec::new();
    for number in 0..runs {
        let begun = Instant::now();
        let gateway = Process::gateway(&mut setup::command(vendor.port, &format!("start-{number}")));
        let request = Load::json(1).request("/v1/chat/completions", str::to_owned, &setup::headers());
        let seen = load::run(gateway.port, &request, 1, 1);
        assert_eq!(seen.failed, 0, "the first request is answered");
        wall.push(begun.elapsed().as_secs_f64() * 1e3);
        cpu.push(gateway.exact() / 1e3);
    }
    println!("| start to the first answer, ms | fastest | middle | slowest |");
    println!("| --- | ---: | ---: | ---: |");
    for (name, mut values) in [("wall", wall), ("CPU", cpu)] {
        values.sort_by(f64::total_cmp);
        let (least, most) = (values[0], values[values.len() - 1]);
        println!("| {name} | {least:.1} | {:.1} | {most:.1} |", values[values.len() / 2]);
    }
    println!();
    let program = setup::program();
    let copy = std::env::temp_dir().join(format!("bench-gateway-stripped-{}", std::process::id()));
    let done = Command::new("strip").arg("-o").arg(&copy).arg(&program).status();
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0.0, |file| file.len() as f64 / 1e6);
    match done {
        Ok(status) if status.success() => println!("program without symbols: {:.2} MB", size(&copy)),
        _ => println!("program with symbols, since strip is missing: {:.2} MB", size(&program)),
    }
    let _ = std::fs::remove_file(copy);
}
