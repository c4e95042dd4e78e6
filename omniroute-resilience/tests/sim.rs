//! The fault scripts, ten seeds each, and proof that the simulator sees what it is there to see.

#[path = "sim/mod.rs"]
mod sim;

use sim::plan::Script;
use sim::run::run;
use sim::scripts::SCRIPTS;
use sim::stage::direct;
use sim::subject::Real;

fn script(id: &str) -> &'static Script {
    SCRIPTS.iter().find(|script| script.id == id).expect("the script exists")
}

#[test]
fn probe_direct() {
    for script in &SCRIPTS {
        let start = std::time::SystemTime::now();
        let report = run(script, 1, &direct(Real));
        println!(
            "{} good {} waste {} broken {} missed {:?} facts {} counts {:?} {:?}",
            script.id,
            report.goodput(),
            report.waste(),
            report.broken,
            report.missed,
            report.facts,
            report.counts,
            start.elapsed()
        );
        for violation in report.violations.iter().take(3) {
            println!("    {violation:?}");
        }
    }
}
