//! Is it the provider, or our own network? Failures of several origins at once, and no success, say it is us.

use std::collections::HashMap;
use std::sync::Arc;

use omniroute_core::Mono;

use crate::Span;
use crate::config::EgressConfig;

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
    /// The origin or our own network: nothing came from anywhere lately, and too few have failed to say which. It
    /// counts against the origin, but no connection is to blame yet.
    Unsure,
}

/// One network path.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    last_success: Option<Mono>,
    /// Last dial and last transport failure of each origin.
    origins: HashMap<Arc<str>, (Mono, Option<Mono>)>,
    pub(crate) suspect: bool,
    /// When the last suspicion ended.
    recovered: Option<Mono>,
}

impl Egress {
    /// An attempt starts.
    pub(crate) fn dialled(&mut self, origin: &Arc<str>, now: Mono, config: &EgressConfig) {
        match self.origins.get_mut(origin) {
            Some((dialled, _)) => *dialled = now,
            None => {
                if self.origins.len() >= MOST {
                    self.origins.retain(|_, (dialled, _)| recent(*dialled, now, config.in_use));
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
        if self.suspect {
            self.recovered = Some(now);
        }
        std::mem::take(&mut self.suspect)
    }

    /// A transport failure of an attempt that began at `started`.
    pub(crate) fn failed(
        &mut self,
        origin: &Arc<str>,
        started: Mono,
        now: Mono,
        config: &EgressConfig,
    ) -> Meaning {
        if self.recovered.is_some_and(|at| started <= at) {
            // It began while the path was down and says nothing about the time since.
            return Meaning::Suspect;
        }
        self.dialled(origin, now, config);
        if let Some((_, failed)) = self.origins.get_mut(origin) {
            *failed = Some(now);
        }
        let silence = config.silence;
        let dialled = self.origins.values().filter(|(at, _)| recent(*at, now, config.in_use)).count();
        let failing = self.origins.values().filter(|(_, at)| at.is_some_and(|at| recent(at, now, silence)));
        let failing = failing.count();
        let silent = self.last_success.is_none_or(|at| !recent(at, now, silence));
        if silent && failing >= 2 && failing >= dialled.min(config.origins as usize) {
            self.suspect = true;
            Meaning::Suspect
        } else if dialled <= 1 {
            Meaning::Uncorroborated
        } else if silent {
            Meaning::Unsure
        } else {
            Meaning::Provider
        }
    }
}

fn recent(at: Mono, now: Mono, span: Span) -> bool {
    now.0.saturating_sub(at.0) <= span.as_ms().saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_pulled_plug_blames_nobody() {
        let origins: Vec<Arc<str>> = (0..10).map(|n| Arc::from(format!("o{n}"))).collect();
        let (mut egress, config) = (Egress::default(), EgressConfig::default());
        let mut now = Mono(100 * SECOND);
        for origin in &origins {
            egress.dialled(origin, now, &config);
        }
        egress.answered(now);
        now = Mono(now.0 + 11 * SECOND);
        let began = Mono(now.0 - SECOND);
        let meanings: Vec<_> =
            origins.iter().map(|origin| egress.failed(origin, began, now, &config)).collect();
        let (first, rest) = meanings.split_at(2);
        assert_eq!(first, [Meaning::Unsure; 2], "three origins make it a suspicion");
        assert_eq!(rest, [Meaning::Suspect; 8]);
        assert!(egress.suspect);
        assert!(egress.answered(now));
        let later = Mono(now.0 + 9 * SECOND);
        assert_eq!(
            egress.failed(&origins[0], now, later, &config),
            Meaning::Suspect,
            "it began before the path came back"
        );
        let after = Mono(now.0 + 1);
        assert_eq!(egress.failed(&origins[0], after, later, &config), Meaning::Provider, "others work");
    }

    #[test]
    fn one_origin_among_working_ones_is_to_blame_and_a_lone_one_perhaps() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let (mut egress, config) = (Egress::default(), EgressConfig::default());
        assert_eq!(egress.failed(&a, Mono(0), Mono(SECOND), &config), Meaning::Uncorroborated);
        egress.dialled(&b, Mono(SECOND), &config);
        egress.answered(Mono(SECOND));
        assert_eq!(egress.failed(&a, Mono(SECOND), Mono(2 * SECOND), &config), Meaning::Provider);
    }
}
