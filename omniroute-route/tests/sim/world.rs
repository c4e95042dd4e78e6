//! The simulated week: requests, arms, allowances, events. Every random number is drawn by purpose and request, so that
//! all policies see the same world.

use omniroute_core::route::{hash, unit};

pub(crate) const DAY: f64 = 86_400.0;
pub(crate) const HOUR: f64 = 3_600.0;

/// One place to send requests to.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) price: (f64, f64),
    pub(crate) ttft: f64,
    pub(crate) speed: f64,
    pub(crate) q: [f64; 7],
    pub(crate) fit: [f64; 7],
    pub(crate) known: bool,
    pub(crate) pool: Option<usize>,
    pub(crate) fails: f64,
}

/// One allowance.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) period: f64,
    pub(crate) offset: f64,
    pub(crate) capacity: f64,
    pub(crate) used: f64,
    pub(crate) number: i64,
}

/// Something that is different for a while.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Outage { arm: usize, from: f64, to: f64, level: f64 },
    Price { arm: usize, from: f64, times: f64 },
    Quality { arm: usize, from: f64, to: f64, q: [f64; 7] },
    Arrival { arm: usize, at: f64 },
}

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) per_day: u64,
    pub(crate) arms: Vec<Arm>,
    pub(crate) windows: [Vec<Window>; 3],
    pub(crate) events: Vec<Event>,
    pub(crate) requests: u64,
    /// One conversation that grows; whoever answered last has its beginning in a cache.
    pub(crate) session: bool,
    /// Who answered last, and how much of the next request it has seen.
    pub(crate) warm: Option<(usize, f64)>,
    /// Tokens of the conversation so far.
    pub(crate) prefix: f64,
}

/// Price of what is read from a cache.
const CACHED: f64 = 0.1;
/// Tokens of a session at its start, and after its client has summed it up.
const SESSION_START: f64 = 20_000.0;
/// Tokens at which the client sums it up.
const SESSION_FULL: f64 = 150_000.0;

pub(crate) fn u(seed: u64, fields: &[u64]) -> f64 {
    unit(hash(seed, fields))
}

pub(crate) fn normal(seed: u64, fields: &[u64]) -> f64 {
    let with = |last: u64| {
        let mut all = fields.to_vec();
        all.push(last);
        u(seed, &all)
    };
    libm::sqrt(-2.0 * libm::log(1.0 - with(101))) * libm::cos(2.0 * std::f64::consts::PI * with(102))
}

fn class_of(seed: u64, i: u64) -> usize {
    let x = u(seed, &[1, i]);
    let mut sum = 0.0;
    for (class, share) in [0.40, 0.10, 0.10, 0.12, 0.13, 0.08, 0.07].into_iter().enumerate() {
        sum += share;
        if x < sum {
            return class;
        }
    }
    6
}

fn tokens(seed: u64, i: u64) -> (f64, f64) {
    let input = libm::exp(libm::log(4_000.0) + 0.8 * normal(seed, &[2, i]));
    let output = libm::exp(libm::log(700.0) + 0.6 * normal(seed, &[3, i]));
    (input.clamp(200.0, 100_000.0), output.clamp(20.0, 8_000.0))
}

impl Scenario {
    pub(crate) fn exists(&self, arm: usize, t: f64) -> bool {
        let arrival = self.events.iter().find_map(|event| match event {
            Event::Arrival { arm: a, at } if *a == arm => Some(*at),
            _ => None,
        });
        arm < 8 || arrival.is_some_and(|at| t >= at)
    }

    pub(crate) fn fails(&self, arm: usize, t: f64) -> f64 {
        let mut level: f64 = self.arms[arm].fails;
        for event in &self.events {
            if let Event::Outage { arm: a, from, to, level: high } = event
                && *a == arm
                && t >= *from
                && t < *to
            {
                level = level.max(*high);
            }
        }
        level
    }

    pub(crate) fn cost(&self, arm: usize, t: f64, (input, output): (f64, f64)) -> f64 {
        let (price_in, price_out) = self.arms[arm].price;
        let mut times = 1.0;
        for event in &self.events {
            if let Event::Price { arm: a, from, times: by } = event
                && *a == arm
                && t >= *from
            {
                times *= by;
            }
        }
        let cached =
            self.warm.map_or(0.0, |(warm, tokens)| if warm == arm { tokens.min(input) } else { 0.0 });
        times * ((input - (1.0 - CACHED) * cached) * price_in + output * price_out) / 1e6
    }

    pub(crate) fn q(&self, arm: usize, class: usize, t: f64) -> f64 {
        for event in &self.events {
            if let Event::Quality { arm: a, from, to, q } = event
                && *a == arm
                && t >= *from
                && t < *to
            {
                return q[class];
            }
        }
        self.arms[arm].q[class]
    }

    pub(crate) fn seconds(&self, arm: usize, output: f64) -> f64 {
        self.arms[arm].ttft + output / self.arms[arm].speed
    }

    /// Class and tokens of a request.
    pub(crate) fn request(&self, seed: u64, i: u64) -> (usize, (f64, f64)) {
        let (class, (input, output)) = (class_of(seed, i), tokens(seed, i));
        if !self.session {
            return (class, (input, output));
        }
        // What is added in a turn is a quarter of what a request of its own would be; all of it is coding.
        (if class == 3 || class == 4 { class } else { 0 }, (self.prefix + input / 4.0, output))
    }

    /// A session after an answer.
    pub(crate) fn answered(&mut self, arm: usize, (input, output): (f64, f64)) {
        if self.session {
            (self.prefix, self.warm) = (input + output, Some((arm, input + output)));
            if self.prefix > SESSION_FULL {
                (self.prefix, self.warm) = (SESSION_START, Some((arm, 0.0)));
            }
        }
    }

    /// Brings the windows to a time.
    pub(crate) fn turn(&mut self, t: f64) {
        for window in self.windows.iter_mut().flatten() {
            let number = libm::floor((t - window.offset) / window.period) as i64;
            if number != window.number {
                (window.number, window.used) = (number, 0.0);
            }
        }
    }

    pub(crate) fn has_room(&self, arm: usize) -> bool {
        let pool = self.arms[arm].pool;
        pool.is_none_or(|pool| self.windows[pool].iter().all(|window| window.used + 1.0 <= window.capacity))
    }

    pub(crate) fn spend(&mut self, arm: usize) {
        if let Some(pool) = self.arms[arm].pool {
            self.windows[pool].iter_mut().for_each(|window| window.used += 1.0);
        }
    }

    /// Elapsed and used share of each window of an arm.
    pub(crate) fn pace(&self, arm: usize, t: f64) -> Vec<(f64, f64)> {
        let Some(pool) = self.arms[arm].pool else { return Vec::new() };
        let share = |window: &Window| {
            let start = window.number as f64 * window.period + window.offset;
            ((t - start) / window.period, window.used / window.capacity)
        };
        self.windows[pool].iter().map(share).collect()
    }
}

const PREMIUM_Q: [f64; 7] = [0.90, 0.90, 0.90, 0.92, 0.88, 0.86, 0.86];
const PREMIUM_FIT: [f64; 7] = [0.92, 0.93, 0.94, 0.95, 0.90, 0.88, 0.85];
const MID_FIT: [f64; 7] = [0.85, 0.84, 0.85, 0.85, 0.82, 0.85, 0.78];

pub(crate) fn scenario(number: usize) -> Scenario {
    let arm = |price, ttft, speed, q, fit, known, pool, fails| Arm {
        price,
        ttft,
        speed,
        q,
        fit,
        known,
        pool,
        fails,
    };
    let arms = vec![
        arm((0.0, 0.0), 2.0, 70.0, PREMIUM_Q, PREMIUM_FIT, true, Some(0), 0.004),
        arm((3.0, 15.0), 1.5, 80.0, PREMIUM_Q, PREMIUM_FIT, true, None, 0.004),
        arm((0.6, 2.4), 1.0, 90.0, [0.79, 0.76, 0.73, 0.78, 0.77, 0.82, 0.80], MID_FIT, true, None, 0.01),
        arm(
            (0.15, 0.6),
            0.6,
            140.0,
            [0.66, 0.60, 0.52, 0.60, 0.62, 0.77, 0.75],
            [0.78, 0.72, 0.70, 0.72, 0.75, 0.80, 0.72],
            true,
            None,
            0.01,
        ),
        arm(
            (0.0, 0.0),
            1.5,
            60.0,
            [0.68, 0.62, 0.55, 0.62, 0.64, 0.76, 0.74],
            [0.65, 0.60, 0.55, 0.58, 0.60, 0.70, 0.55],
            true,
            Some(1),
            0.03,
        ),
        arm((0.0, 0.0), 0.8, 120.0, [0.55, 0.50, 0.45, 0.50, 0.52, 0.70, 0.70], MID_FIT, true, Some(2), 0.03),
        arm(
            (0.30, 1.2),
            1.2,
            90.0,
            [0.87, 0.76, 0.55, 0.62, 0.85, 0.70, 0.62],
            [0.65, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
            false,
            None,
            0.01,
        ),
        arm((0.0, 0.0), 3.0, 25.0, [0.48, 0.42, 0.38, 0.42, 0.45, 0.60, 0.62], [0.5; 7], true, None, 0.002),
        arm((0.8, 3.2), 1.2, 90.0, [0.94, 0.92, 0.91, 0.93, 0.92, 0.90, 0.90], [0.5; 7], false, None, 0.008),
    ];
    let window = |period: f64, offset: f64, capacity| Window {
        period,
        offset,
        capacity,
        used: 0.0,
        number: libm::floor(-offset / period) as i64,
    };
    let mut windows = [
        vec![window(5.0 * HOUR, 0.0, 150.0), window(7.0 * DAY, 3.5 * DAY, 2_800.0)],
        vec![window(DAY, 0.0, 400.0)],
        vec![window(DAY, 8.0 * HOUR, 800.0)],
    ];
    if number == 5 {
        windows[0][1].used = 0.6 * 2_800.0;
    }
    let outage =
        |arm, from: f64, to: f64, level| Event::Outage { arm, from: from * HOUR, to: to * HOUR, level };
    let events = match number {
        2 => vec![
            outage(0, 34.0, 40.0, 1.0),
            outage(6, 48.0, 72.0, 0.5),
            outage(2, 102.0, 114.0, 0.3),
            outage(1, 129.0, 131.0, 1.0),
        ],
        3 => vec![Event::Arrival { arm: 8, at: 3.0 * DAY }],
        4 => vec![
            Event::Price { arm: 2, from: 2.5 * DAY, times: 5.0 },
            Event::Price { arm: 1, from: 4.0 * DAY, times: 0.1 },
        ],
        6 => vec![Event::Quality {
            arm: 6,
            from: 3.0 * DAY,
            to: 5.5 * DAY,
            q: [0.50, 0.45, 0.40, 0.45, 0.50, 0.55, 0.55],
        }],
        _ => Vec::new(),
    };
    let (name, per_day): (_, u64) = match number {
        1 => ("S1 quiet", 2_000),
        2 => ("S2 busy with outages", 6_000),
        3 => ("S3 better model appears", 2_000),
        4 => ("S4 price change", 2_000),
        5 => ("S5 quota resets", 3_000),
        6 => ("S6 silent regression", 2_000),
        _ => ("S8 one session", 1_440),
    };
    let session = number == 8;
    let requests = if session { 300 } else { per_day * 7 };
    Scenario { name, per_day, arms, windows, events, requests, session, warm: None, prefix: SESSION_START }
}
