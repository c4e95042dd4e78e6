//! One policy through one week.

use omniroute_core::route::hash;

use crate::policy::{Policy, Request};
use crate::world::{DAY, Scenario, u};

/// What one policy made of a week.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Week {
    pub(crate) utility: f64,
    pub(crate) requests: f64,
    pub(crate) explored: u64,
    pub(crate) dollars: f64,
    pub(crate) failed: u64,
    /// Requests for code since the newcomer came until it had half of the last fifty.
    pub(crate) adopted: Option<u64>,
    /// Who was asked first, folded into one number.
    pub(crate) path: u64,
    /// Attempts by arm.
    pub(crate) attempts: [u64; 9],
}

impl Week {
    pub(crate) fn mean(&self) -> f64 {
        self.utility / self.requests
    }
}

pub(crate) fn run(mut scenario: Scenario, policy: &mut dyn Policy, seed: u64, judged: f64) -> Week {
    let mut week = Week::default();
    let arms = scenario.arms.len();
    let mut streak = vec![0_u32; arms];
    let mut resting = vec![0.0_f64; arms];
    let before = policy.explored();
    let (mut asked, mut recent) = (0_u64, 0_u64);
    for i in 0..scenario.requests {
        let t = i as f64 * DAY / scenario.per_day as f64;
        scenario.turn(t);
        let (class, tokens) = scenario.request(seed, i);
        let existing: Vec<usize> = (0..arms).filter(|arm| scenario.exists(*arm, t)).collect();
        let mut eligible: Vec<usize> =
            existing.iter().copied().filter(|arm| resting[*arm] <= t && scenario.has_room(*arm)).collect();
        if eligible.is_empty() {
            eligible = existing;
        }
        let order = policy.order(&scenario, &Request { seed, i, t, class, tokens, eligible: &eligible });
        week.path = hash(week.path, &[order[0] as u64]);
        let mut worth = -0.10;
        for (attempt, arm) in order.iter().copied().take(4).enumerate() {
            scenario.spend(arm);
            week.attempts[arm] += 1;
            if u(seed, &[60, i, arm as u64, attempt as u64]) < scenario.fails(arm, t) {
                streak[arm] += 1;
                week.failed += 1;
                policy.outcome(arm, false);
                if streak[arm] >= 2 {
                    resting[arm] = t + 60.0 * f64::from(2_u32.pow((streak[arm] - 2).min(5))).min(15.0);
                }
                continue;
            }
            streak[arm] = 0;
            policy.outcome(arm, true);
            let q = scenario.q(arm, class, t);
            let cost = scenario.cost(arm, t, tokens);
            week.dollars += cost;
            scenario.answered(arm, tokens);
            if class == 0 && scenario.exists(8, t) && week.adopted.is_none() {
                asked += 1;
                recent = (recent << 1 | u64::from(arm == 8)) & ((1 << 50) - 1);
                week.adopted = (recent.count_ones() >= 25).then_some(asked);
            }
            worth = q
                - 0.30 * (cost / 0.05).min(1.0)
                - 0.10 * (scenario.seconds(arm, tokens.1) / 20.0).min(1.0)
                - 0.03 * attempt as f64;
            if u(seed, &[61, i]) < judged {
                let reward = if u(seed, &[62, i, arm as u64]) < q { 1.0 } else { 0.0 };
                policy.feedback(arm, class, reward, t);
            }
            break;
        }
        week.utility += worth;
        week.requests += 1.0;
    }
    week.explored = policy.explored() - before;
    week
}
