//! What the learning policy gains in simulated weeks: `route_report FIRST LAST FRESH_FIRST FRESH_LAST DATE MACHINE`
//! prints a page. The first seeds are those that the numbers of the policy were chosen on; the fresh ones only report.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::approx_constant,
    clippy::print_stdout,
    reason = "a simulation in floating point that prints its tables"
)]

#[path = "../tests/sim/gates.rs"]
mod gates;
#[path = "../tests/sim/policy.rs"]
mod policy;
#[path = "../tests/sim/random_world.rs"]
mod random_world;
#[path = "../tests/sim/run.rs"]
mod run;
#[path = "../tests/sim/world.rs"]
mod world;

use std::ops::RangeInclusive;

use policy::{
    Clairvoyant, Learning, PacedClairvoyant, Pairs, Parts, Policy, Priority, Random, RoundRobin, Static,
    Trials,
};
use run::{Week, run};
use world::Scenario;

type Make = fn() -> Box<dyn Policy>;
type Seeds = RangeInclusive<u64>;

const JUDGED: f64 = 0.30;

fn learning(parts: Parts) -> Box<dyn Policy> {
    Box::new(Learning::new(parts))
}

/// Names, policies, and the regret that the reference has for S1 to S6.
const POLICIES: [(&str, Make, Option<[i32; 6]>); 19] = [
    ("random", || Box::new(Random), Some([2277, 6030, 2532, 2519, 3200, 2305])),
    ("round-robin", || Box::<RoundRobin>::default(), Some([2287, 6025, 2405, 2530, 3191, 2318])),
    ("the better of two", || Box::new(Pairs::new()), Some([1696, 5463, 1933, 1907, 2358, 1765])),
    ("a fixed order", || Box::new(Priority), Some([850, 2381, 1293, 1075, 1372, 1264])),
    ("the catalogue's opinion", || Box::new(Static(0.0)), Some([1557, 2936, 2000, 953, 2067, 1412])),
    ("the same, coin 10 %", || Box::new(Static(0.10)), Some([1651, 3329, 2073, 1111, 2244, 1526])),
    ("plain means, coin 5 %", || learning(Parts::coin(0.05)), Some([322, 736, 513, 312, 492, 532])),
    ("plain means, coin 10 %", || learning(Parts::coin(0.10)), Some([398, 1024, 561, 425, 649, 573])),
    ("plain means, coin 20 %", || learning(Parts::coin(0.20)), Some([516, 1533, 654, 582, 852, 704])),
    (
        "plain means, drawn",
        || learning(Parts { trials: Trials::Drawn, ..Parts::coin(0.0) }),
        Some([181, 867, 623, 183, 445, 445]),
    ),
    (
        "plain means that halve in a day, drawn",
        || learning(Parts { trials: Trials::Drawn, half_life: 24.0, ..Parts::coin(0.0) }),
        Some([247, 739, 690, 208, 462, 366]),
    ),
    ("full, nothing tried out", || learning(Parts::full(0.0)), None),
    (
        "full, a coin of 5 % instead",
        || learning(Parts { trials: Trials::Coin(0.05), newcomers: None, ..Parts::full(0.0) }),
        None,
    ),
    ("full, without pacing", || learning(Parts { pacing: false, ..Parts::full(0.05) }), None),
    ("full, without alarm", || learning(Parts { alarm: false, ..Parts::full(0.05) }), None),
    ("full, no budget, no newcomers", || learning(Parts::drawn()), Some([1, 73, 151, 74, 79, 235])),
    ("**full, budget 5 %**", || learning(Parts::full(0.05)), Some([-48, 95, 103, 34, 20, 218])),
    ("full, budget 10 % (`auto/smart`)", || learning(Parts::full(0.10)), None),
    (
        "all known, allowances spared",
        || Box::new(PacedClairvoyant),
        Some([-231, -371, -111, -160, -255, -191]),
    ),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |other: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(other);
    let (first, last, fresh_first, fresh_last) = (number(1), number(3), number(201), number(203));
    let date = arguments.next().unwrap_or_else(|| "an unknown day".to_owned());
    let machine = arguments.next().unwrap_or_else(|| "an unknown machine".to_owned());
    let (tuned, fresh) = (first..=last, fresh_first..=fresh_last);
    println!("# What learning gains\n");
    println!(
        "Simulated weeks: eight or nine places to send requests to, allowances, outages, prices, abilities that differ \
         from what the catalogue thinks, and {:.0} % of the answers judged good or bad. Every chance is drawn from the \
         seed by its purpose and the number of the request, so all policies live in the same world. What is measured is \
         the worth of the answers: ability less cost, time and failed attempts. Regret is what a policy loses against one \
         that knows all abilities and takes the best at once; whoever also spares allowances can be better than that.\n",
        JUDGED * 100.0
    );
    println!(
        "Made on {date} ({machine}) with `make route-report SEEDS=\"{first} {last} {fresh_first} {fresh_last}\"`, which is\n\n```sh\ncargo run --release -p omniroute-route \
         --example route_report -- {first} {last} {fresh_first} {fresh_last}\n```\n"
    );
    goldens();
    table("Seeds the numbers of the policy were chosen on", &tuned, true);
    table("Fresh seeds, for this report only", &fresh, false);
    judge("the first seeds", &tuned);
    judge("fresh seeds", &fresh);
    how_much(&fresh);
    session(&fresh);
}

fn scenario_of(number: usize, seed: u64) -> Scenario {
    if number == 7 { random_world::random_world(seed) } else { world::scenario(number) }
}

/// Two seeds at a time, in order.
fn weeks(make: &(dyn Fn() -> Box<dyn Policy> + Sync), number: usize, seeds: &Seeds) -> Vec<Week> {
    let one = |seed: u64| run(scenario_of(number, seed), &mut *make(), seed, JUDGED);
    let seeds: Vec<u64> = seeds.clone().collect();
    let (left, right) = seeds.split_at(seeds.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| right.iter().map(|seed| one(*seed)).collect::<Vec<_>>());
        let mut weeks: Vec<Week> = left.iter().map(|seed| one(*seed)).collect();
        weeks.extend(other.join().expect("a week that comes to its end"));
        weeks
    })
}

fn regrets(weeks: &[Week], best: &[Week]) -> Vec<f64> {
    weeks.iter().zip(best).map(|(week, best)| best.utility - week.utility).collect()
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Half of the width in which the mean lies at 95 %.
fn doubt(numbers: &[f64]) -> f64 {
    let middle = mean(numbers);
    let n = numbers.len() as f64;
    let variance = numbers.iter().map(|x| (x - middle) * (x - middle)).sum::<f64>() / (n - 1.0).max(1.0);
    1.96 * (variance / n).sqrt()
}

fn goldens() {
    println!("## Seed 1 against the reference\n");
    println!("Mean worth of an answer, ours and, in brackets, what the reference has.\n");
    println!("| policy | S1 | S2 | S3 | S4 | S5 | S6 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let rows: [(&str, Make, [f64; 6]); 5] = [
        ("random", || Box::new(Random), [0.6227, 0.6178, 0.6361, 0.6213, 0.6202, 0.6098]),
        ("a fixed order", || Box::new(Priority), [0.7242, 0.7048, 0.7242, 0.7238, 0.7076, 0.6848]),
        (
            "plain means, coin 10 %",
            || learning(Parts::coin(0.10)),
            [0.7673, 0.7402, 0.7869, 0.7779, 0.7498, 0.7378],
        ),
        ("full", || learning(Parts::full(0.05)), [0.7902, 0.7656, 0.8123, 0.8014, 0.7765, 0.7576]),
        ("all known", || Box::new(Clairvoyant), [0.7853, 0.7620, 0.8168, 0.8008, 0.7728, 0.7751]),
    ];
    for (name, make, reference) in rows {
        print!("| {name} |");
        for (number, reference) in (1..=6).zip(reference) {
            print!(" {:.4} ({reference:.4}) |", weeks(&make, number, &(1..=1))[0].mean());
        }
        println!();
    }
    println!();
}

fn table(title: &str, seeds: &Seeds, reference: bool) {
    println!("## {title}: {} to {}\n", seeds.start(), seeds.end());
    let of = if reference { "; in brackets what the reference has over seeds 1 to 20" } else { "" };
    println!(
        "Mean regret of a week{of}. S1 is a quiet week of 14000 requests, S2 a busy one of 42000 with outages, in S3 a \
         better model comes, in S4 prices change, in S5 allowances are short, in S6 a model becomes worse and nobody says \
         so; S7 are worlds drawn from the seed, with the worst of them in brackets.\n"
    );
    println!(
        "| policy | S1 | S2 | S3 | S4 | S5 | S6 | S7 (worst) | tried out | failed of 1000 | $ of S1 | S3: code requests until half go to the new one |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let clairvoyant = || -> Box<dyn Policy> { Box::new(Clairvoyant) };
    let best: Vec<Vec<Week>> = (1..=7).map(|number| weeks(&clairvoyant, number, seeds)).collect();
    for (name, make, known) in POLICIES {
        print!("| {name} |");
        let (mut tried, mut failed, mut requests, mut dollars) = (0, 0, 0.0, 0.0);
        let mut adopted = Vec::new();
        for number in 1..=7 {
            let weeks = weeks(&make, number, seeds);
            let lost = regrets(&weeks, &best[number - 1]);
            print!(" {:.0}", mean(&lost));
            if let (Some(known), true) = (known, reference && number < 7) {
                print!(" ({})", known[number - 1]);
            }
            if number == 7 {
                print!(" ({:.0})", lost.iter().copied().fold(f64::MIN, f64::max));
            }
            print!(" |");
            for week in &weeks {
                (tried, failed, requests) =
                    (tried + week.explored, failed + week.failed, requests + week.requests);
            }
            if number == 1 {
                dollars = mean(&weeks.iter().map(|week| week.dollars).collect::<Vec<_>>());
            }
            if number == 3 {
                adopted = weeks.iter().map(|week| week.adopted.unwrap_or(u64::MAX)).collect();
            }
        }
        adopted.sort_unstable();
        let middle = match adopted[adopted.len() / 2] {
            u64::MAX => "never".to_owned(),
            requests => requests.to_string(),
        };
        let found = adopted.iter().filter(|requests| **requests < u64::MAX).count();
        let (share, failed) = (100.0 * tried as f64 / requests, 1_000.0 * failed as f64 / requests);
        println!(" {share:.1} % | {failed:.0} | {dollars:.0} | {middle} ({found} of {}) |", adopted.len());
    }
    println!();
}

fn judge(what: &str, seeds: &Seeds) {
    println!("## Gates, {what}: {} to {}\n", seeds.start(), seeds.end());
    println!("The twin is the same policy, broken on purpose; each check has to refuse it.\n");
    println!("| gate | figures | full | twin |\n| --- | --- | --- | --- |");
    let passes = |ok: bool| if ok { "pass" } else { "**FAIL**" };
    let refuses = |ok: bool| if ok { "**passes: the check is blind**" } else { "refused" };
    let full = || learning(Parts::full(0.05));
    let deaf = || learning(Parts { listens: false, ..Parts::full(0.05) });
    let random = || -> Box<dyn Policy> { Box::new(Random) };
    let of = |make: gates::Make<'_>| gates::means(make, seeds.clone());
    let (own, coin, fixed) = (of(&full), of(&gates::coin), of(&gates::fixed));
    let (unheard, any) = (of(&deaf), of(&random));
    let all = |means: &gates::Means| mean(&means.iter().map(|seeds| mean(seeds)).collect::<Vec<_>>());
    println!(
        "| more than a coin of 5 %, S1 to S6 together | {:.4} against {:.4}; twin {:.4} | {} | hears no judgement: {} |",
        all(&own),
        all(&coin),
        all(&unheard),
        passes(gates::beats_the_coin(&own, &coin)),
        refuses(gates::beats_the_coin(&unheard, &coin)),
    );
    let (worse, twin) = (gates::worse_than_fixed(&own, &fixed), gates::worse_than_fixed(&any, &fixed));
    println!(
        "| no scenario below a fixed order | below in {} of 6; twin in {} | {} | chooses at random: {} |",
        worse.len(),
        twin.len(),
        passes(worse.is_empty()),
        refuses(twin.is_empty()),
    );
    let worst =
        |make: gates::Make<'_>| seeds.clone().map(|seed| gates::overrated(make(), seed)).fold(0.0, f64::max);
    let least =
        |make: gates::Make<'_>| seeds.clone().map(|seed| gates::overrated(make(), seed)).fold(1.0, f64::min);
    let (kept, twin) = (worst(&full), least(&deaf));
    println!(
        "| an overrated place (.1 for .95) has less than {:.0} % after {} judgements, worst seed | {:.2} %; twin, best seed \
         {:.2} % | {} | hears no judgement: {} |",
        100.0 * gates::REST,
        gates::SOON,
        100.0 * kept,
        100.0 * twin,
        passes(kept < gates::REST),
        refuses(twin < gates::REST),
    );
    let loose = || learning(Parts { trials: Trials::Drawn, ..Parts::full(0.05) });
    let most = |make: &(dyn Fn() -> Box<dyn Policy> + Sync)| {
        let all: Vec<Week> = (1..=6).flat_map(|number| weeks(make, number, seeds)).collect();
        let share = all.iter().map(|week| week.explored as f64 / week.requests).fold(0.0, f64::max);
        (share, all.iter().all(|week| gates::within_budget(week, 0.05)))
    };
    let (own, twin) = (most(&full), most(&loose));
    println!(
        "| trials within budget and what newcomers may owe it, most of any week | {:.2} %; twin {:.2} % | {} | no budget: {} |",
        100.0 * own.0,
        100.0 * twin.0,
        passes(own.1),
        refuses(twin.1),
    );
    let path = |policy: &mut dyn Policy, seed| run(world::scenario(3), policy, seed, JUDGED).path;
    let straight = |seed| path(&mut Learning::new(Parts::full(0.05)), seed);
    let same = |forgets: bool| {
        let restarted = |seed| path(&mut gates::Restarting::new(forgets), seed);
        seeds.clone().filter(|seed| restarted(*seed) == straight(*seed)).count()
    };
    let (all, own, twin) = (seeds.clone().count(), same(false), same(true));
    println!(
        "| saved and loaded every thousand requests, all decisions of S3 the same | in {own} of {all} weeks; twin in {twin} | \
         {} | starts from nothing: {} |",
        passes(own == all),
        refuses(twin == all),
    );
    println!();
}

const RATES: [f64; 6] = [0.0, 0.01, 0.02, 0.05, 0.10, 0.20];

fn how_much(seeds: &Seeds) {
    println!("## How much should be tried out, seeds {} to {}\n", seeds.start(), seeds.end());
    println!(
        "Regret of the full policy by its budget (newcomers keep their 5 %), and the 95 % interval of the difference to a \
         budget of 5 %, seed by seed. Nothing means no trials and no newcomers' share either.\n"
    );
    println!(
        "| budget | S1 quiet | difference | S2 busy | difference | S3 newcomer | difference | S7 drawn worlds | difference | tried out in S1 |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let numbers = [1, 2, 3, 7];
    let of = |rate: f64, number| weeks(&|| learning(Parts::full(rate)), number, seeds);
    let usual: Vec<Vec<Week>> = numbers.iter().map(|number| of(0.05, *number)).collect();
    for rate in RATES {
        print!("| {:.0} % |", 100.0 * rate);
        let mut tried = 0.0;
        for (at, number) in numbers.into_iter().enumerate() {
            let weeks = of(rate, number);
            let best = self::weeks(&|| Box::new(Clairvoyant), number, seeds);
            let more = regrets(&weeks, &usual[at]);
            print!(" {:.0} | {:+.0} ± {:.0} |", mean(&regrets(&weeks, &best)), mean(&more), doubt(&more));
            if number == 1 {
                tried =
                    mean(&weeks.iter().map(|week| week.explored as f64 / week.requests).collect::<Vec<_>>());
            }
        }
        println!(" {:.1} % |", 100.0 * tried);
    }
    println!();
}

fn session(seeds: &Seeds) {
    println!("## One long session, seeds {} to {}\n", seeds.start(), seeds.end());
    println!(
        "S8: 300 requests in five hours, all of them coding, debugging or analysis, each longer than the one before by what \
         was said; at 150000 tokens the client sums up. Whoever answered last reads what it has seen at a tenth of the \
         price; everybody else pays for all of it. Worth of the session less that of one in which nothing is tried out, \
         with its 95 % interval, seed by seed: once for who has learned nothing before, once after a quiet week.\n"
    );
    println!("| trials | worth, fresh | $ | tried out | worth, after a week | $ | tried out |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let rows: Vec<(String, Parts)> = [0.0, 0.02, 0.05, 0.10, 0.20]
        .into_iter()
        .flat_map(|rate| {
            let anywhere = Parts::full(rate);
            let first = Parts { between_sessions: true, ..anywhere };
            let name = format!("budget {:.0} %", 100.0 * rate);
            if rate == 0.0 {
                vec![("nothing".to_owned(), anywhere)]
            } else {
                vec![
                    (format!("{name}, anywhere"), anywhere),
                    (format!("{name}, only in its first request"), first),
                ]
            }
        })
        .chain([(
            "coin 5 %, anywhere".to_owned(),
            Parts { trials: Trials::Coin(0.05), newcomers: None, ..Parts::full(0.0) },
        )])
        .collect();
    let sessions = |parts: Parts, week_before: bool| -> Vec<Week> {
        let one = |seed: u64| {
            // The week before is the same for all: as it ships.
            let mut policy = Learning::new(Parts::full(0.05));
            if week_before {
                run(world::scenario(1), &mut policy, seed, JUDGED);
            }
            run(world::scenario(8), &mut policy.with(parts), seed + 1_000_000, JUDGED)
        };
        seeds.clone().map(one).collect()
    };
    let nothing = [sessions(rows[0].1, false), sessions(rows[0].1, true)];
    for (name, parts) in rows {
        print!("| {name} |");
        for (at, before) in [false, true].into_iter().enumerate() {
            let weeks = sessions(parts, before);
            let more = regrets(&nothing[at], &weeks);
            let dollars = mean(&weeks.iter().map(|week| week.dollars).collect::<Vec<_>>());
            let tried = mean(&weeks.iter().map(|week| week.explored as f64).collect::<Vec<_>>());
            let share = 100.0 * tried / 300.0;
            print!(" {:+.2} ± {:.2} | {dollars:.2} | {share:.1} % |", mean(&more), doubt(&more));
        }
        println!();
    }
    println!();
}
