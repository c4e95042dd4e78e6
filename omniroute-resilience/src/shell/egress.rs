//! Is it the provider, or our own network? Failures of several origins at once, and no success, say it is us.

use std::collections::HashMap;
use std::sync::Arc;

use omniroute_core::Mono;

const LOOK_BACK: u64 = 10_000_000_000;
const DIALLED: u64 = 60_000_000_000;
/// Origins remembered for one path.
const MOST: usize = 4_096;

/// What a transport failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Our own network: nobody is to blame.
    Suspect,
    /// The origin.
    Provider,
    /// The origin, as far as one alone can tell.
    Uncorroborated,
}

/// One network path.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    last_success: Option<Mono>,
    /// Last dial and last transport failure of each origin.
    origins: HashMap<Arc<str>, (Mono, Option<Mono>)>,
    pub(crate) suspect: bool,
}

impl Egress {
    /// An attempt starts.
    pub(crate) fn dialled(&mut self, origin: &Arc<str>, now: Mono) {
        match self.origins.get_mut(origin) {
            Some((dialled, _)) => *dialled = now,
            None => {
                if self.origins.len() >= MOST {
                    self.origins.retain(|_, (dialled, _)| now.0.saturating_sub(dialled.0) <= DIALLED);
                }
                if self.origins.len() < MOST {
                    self.origins.insert(Arc::clone(origin), (now, None));
                }
            }
        }
    }

    /// Something answered. True if that ends a suspicion.
    pub(crate) fn answered(&mut self, now: Mono) -> bool {
        self.last_success = Some(now);
        std::mem::take(&mut self.suspect)
    }

    /// A transport failure.
    pub(crate) fn failed(&mut self, origin: &Arc<str>, now: Mono) -> Meaning {
        self.dialled(origin, now);
        if let Some((_, failed)) = self.origins.get_mut(origin) {
            *failed = Some(now);
        }
        let recent = |at: Mono, span: u64| now.0.saturating_sub(at.0) <= span;
        let dialled = self.origins.values().filter(|(at, _)| recent(*at, DIALLED)).count();
        let failing =
            self.origins.values().filter(|(_, at)| at.is_some_and(|at| recent(at, LOOK_BACK))).count();
        let silent = self.last_success.is_none_or(|at| !recent(at, LOOK_BACK));
        if silent && failing >= 2 && failing >= dialled.min(3) {
            self.suspect = true;
            Meaning::Suspect
        } else if dialled <= 1 {
            Meaning::Uncorroborated
        } else {
            Meaning::Provider
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn p25_t_4_20_a_pulled_plug_blames_nobody() {
        let origins: Vec<Arc<str>> = (0..10).map(|n| Arc::from(format!("o{n}"))).collect();
        let mut egress = Egress::default();
        let mut now = Mono(100 * SECOND);
        for origin in &origins {
            egress.dialled(origin, now);
        }
        egress.answered(now);
        now = Mono(now.0 + 11 * SECOND);
        let blamed = origins.iter().filter(|origin| egress.failed(origin, now) == Meaning::Provider).count();
        assert!(blamed <= 2, "{blamed}: three origins make it a suspicion");
        assert!(egress.suspect);
        assert!(egress.answered(now));
        assert_eq!(egress.failed(&origins[0], now), Meaning::Provider, "others work");
    }

    #[test]
    fn t_4_21_one_origin_among_working_ones_is_to_blame_and_a_lone_one_perhaps() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut egress = Egress::default();
        assert_eq!(egress.failed(&a, Mono(SECOND)), Meaning::Uncorroborated);
        egress.dialled(&b, Mono(SECOND));
        egress.answered(Mono(SECOND));
        assert_eq!(egress.failed(&a, Mono(2 * SECOND)), Meaning::Provider);
    }
}
