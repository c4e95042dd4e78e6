//! What a plan costs as routes grow: memory is counted, times are printed.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::hint::black_box;
use std::time::Duration;

use allocation_counter::measure;
use common::World;
use omniroute_core::route::{Billing, Columns, Pool};
use omniroute_route::{Planner, Work};

/// As many candidates as asked for, with everything known.
fn world(strategy: &str, count: usize) -> World {
    let names: Vec<String> = (0..count).map(|n| format!("p{}/c{n}/m{}", n % 40, n % 7)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = if strategy.starts_with("auto") {
        World::auto(strategy, &names)
    } else {
        World::new(strategy, &names)
    };
    for (n, facts) in (0_u16..).zip(&mut world.facts) {
        let n = f32::from(n);
        (facts.price_in, facts.price_out) = (Some(0.1 + n % 17.0), Some(1.0 + n % 29.0));
        (facts.p95_ms, facts.sd_ms, facts.mean_ms) =
            (Some(900.0 + n % 977.0), Some(9.0 + n % 97.0), Some(800.0));
        (facts.quota_left, facts.quality, facts.error_rate) =
            (Some(0.3 + n % 7.0 / 10.0), Some(0.7), Some(0.01));
        facts.used = [Some(0.1), Some(n % 9.0 / 10.0), None];
    }
    for entry in &mut world.entries {
        entry.billing = Billing::Metered;
    }
    world.options.depth = 16;
    world
}

fn plan(world: &World, planner: &Planner, pool: &Pool, columns: &Columns, work: &mut Work) -> u64 {
    let mut last = 0;
    let info = measure(|| {
        last = black_box(planner.plan(world.ask(), pool, columns, work).unwrap()).ticket;
    });
    black_box(last);
    info.count_total
}

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// Beyond the plan itself nothing is allocated, however many candidates there are.
#[test]
fn a_plan_allocates_no_more_for_many_than_for_few() {
    let flat = [
        "priority",
        "round-robin",
        "fill-first",
        "p2c",
        "random",
        "least-used",
        "cost-optimized",
        "reset-aware",
        "reset-window",
        "headroom",
        "strict-random",
        "lkgp",
        "context-optimized",
        "context-relay",
        "auto",
    ];
    for strategy in flat {
        let counts = SIZES.map(|size| {
            let world = world(strategy, size);
            let (pool, columns) = world.pool();
            let mut work = Work::default();
            plan(&world, &world.planner, &pool, &columns, &mut work);
            plan(&world, &world.planner, &pool, &columns, &mut work)
        });
        println!("{strategy}: {counts:?} allocations at {SIZES:?} candidates");
        assert!(counts.iter().all(|count| *count <= 4), "{strategy}: {counts:?}");
    }
}

/// The twin: memory that is not kept between plans is asked for each time, and the count says so.
#[test]
fn the_count_notices_memory_that_is_not_kept() {
    let world = world("auto", 1_000);
    let (pool, columns) = world.pool();
    let mut work = Work::default();
    plan(&world, &world.planner, &pool, &columns, &mut work);
    let kept = plan(&world, &world.planner, &pool, &columns, &mut work);
    let fresh = plan(&world, &world.planner, &pool, &columns, &mut Work::default());
    assert!(fresh > kept + 4, "{fresh} against {kept}");
}

/// Prints how long plans take; nothing is asserted about it.
#[test]
fn times_are_printed() {
    for strategy in ["auto", "priority", "round-robin", "p2c", "cost-optimized"] {
        for size in SIZES {
            let world = world(strategy, size);
            let (pool, columns) = world.pool();
            let mut work = Work::default();
            let runs = if size > 1_000 { 5 } else { 50 };
            let start = cpu();
            for _ in 0..runs {
                black_box(world.planner.plan(world.ask(), &pool, &columns, &mut work).unwrap());
            }
            let each = (cpu() - start) / runs;
            println!("{strategy}, {size} candidates, gates included: {each:?}");
        }
    }
}

fn cpu() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}
