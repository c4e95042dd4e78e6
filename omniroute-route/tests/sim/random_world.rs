//! Weeks nobody tuned anything for: abilities, prices, outages and arrivals drawn from the seed.

use crate::world::{DAY, Event, HOUR, Scenario, scenario, u};

pub(crate) fn random_world(seed: u64) -> Scenario {
    let mut world = scenario(1);
    (world.name, world.per_day) = ("S7 random worlds", 1_500 + (4_500.0 * u(seed, &[205])) as u64);
    world.requests = world.per_day * 7;
    for a in 0..world.arms.len() {
        let n = a as u64;
        let shift = 0.16 * (u(seed, &[200, n]) - 0.5);
        let arm = &mut world.arms[a];
        for c in 0..7 {
            let cell = [n, c as u64];
            let own = 0.10 * (u(seed, &[201, cell[0], cell[1]]) - 0.5);
            arm.q[c] = (arm.q[c] + shift + own).clamp(0.05, 0.98);
            if arm.known && a != 7 {
                arm.fit[c] += 0.16 * (u(seed, &[202, cell[0], cell[1]]) - 0.5);
            }
        }
        let times = libm::exp2(2.0 * (u(seed, &[203, n]) - 0.5));
        arm.price = (arm.price.0 * times, arm.price.1 * times);
        let from = 7.0 * DAY * u(seed, &[206, n]);
        let to = from + (2.0 + 10.0 * u(seed, &[207, n])) * HOUR;
        world.events.push(Event::Outage { arm: a, from, to, level: 0.3 + 0.7 * u(seed, &[208, n]) });
    }
    world.events.push(Event::Arrival { arm: 8, at: DAY * (1.0 + 4.0 * u(seed, &[204])) });
    let of = |arms: [usize; 4], field: u64| arms[(4.0 * u(seed, &[field])) as usize];
    world.events.push(Event::Price {
        arm: of([1, 2, 3, 6], 209),
        from: DAY * (1.0 + 4.0 * u(seed, &[210])),
        times: libm::exp2(4.0 * (u(seed, &[211]) - 0.5)),
    });
    let arm = of([1, 2, 6, 4], 212);
    let from = DAY * (1.0 + 3.5 * u(seed, &[213]));
    let q = world.arms[arm].q.map(|q| (q - 0.25).max(0.0));
    world.events.push(Event::Quality { arm, from, to: from + 2.0 * DAY, q });
    world.windows[0][1].used = 0.8 * u(seed, &[214]) * 2_800.0;
    world
}
