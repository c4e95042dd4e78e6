//! Where a consumer's requests last worked.

use std::sync::{Mutex, PoisonError};

use omniroute_core::route::{Candidates, RouteContext};
use omniroute_core::{FailureKind, Outcome, Principal, Purpose, SessionId, Target, UnixMs};

use crate::bounded::Bounded;

const MOST: usize = 10_000;
const LASTS: i64 = 24 * 3_600_000;

type Key = (Principal, Option<SessionId>);

/// The last target that worked, by consumer, and by session where there is one.
#[derive(Debug)]
pub struct LastGood {
    map: Mutex<Bounded<Key, (Target, UnixMs)>>,
}

impl Default for LastGood {
    fn default() -> Self {
        LastGood { map: Mutex::new(Bounded::new(MOST)) }
    }
}

impl LastGood {
    /// The position among the candidates of what last worked: the same target, else the same model at the provider, else
    /// the provider. The session's memory goes before the consumer's; a day is as long as it lasts.
    pub fn position(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Option<usize> {
        let target = self.target(cx)?;
        let entries = candidates.pool().entries();
        let (mut model, mut provider) = (None, None);
        for (position, index) in candidates.indices().iter().enumerate() {
            let found = &entries[*index as usize].target;
            if *found == target {
                return Some(position);
            }
            if found.provider == target.provider {
                provider = provider.or(Some(position));
                if found.model == target.model {
                    model = model.or(Some(position));
                }
            }
        }
        model.or(provider)
    }

    /// Notes how an attempt ended. Only clients' requests count, and nothing that was tried out.
    pub fn observe(&self, session: Option<&SessionId>, outcome: &Outcome) {
        if outcome.purpose != Purpose::Production || outcome.explored {
            return;
        }
        let mut map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = [
            Some((outcome.consumer.clone(), session.cloned())),
            session.map(|_| (outcome.consumer.clone(), None)),
        ];
        for key in keys.into_iter().flatten() {
            match &outcome.failure {
                None => map.insert(key, (outcome.target.clone(), outcome.at)),
                Some(failure) if terminal(failure.kind) => {
                    if map.get(&key).is_some_and(|(target, _)| *target == outcome.target) {
                        map.remove(&key);
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn target(&self, cx: &RouteContext<'_>) -> Option<Target> {
        let map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        let consumer = &cx.request.consumer;
        let session = cx.session.map(|session| (consumer.clone(), Some(session.id.clone())));
        let fresh = |key: &Key| map.get(key).filter(|(_, at)| cx.now.wall.0.saturating_sub(at.0) <= LASTS);
        let found = session.as_ref().and_then(fresh).or_else(|| fresh(&(consumer.clone(), None)))?;
        Some(found.0.clone())
    }
}

fn terminal(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Banned | FailureKind::CreditsExhausted | FailureKind::Unauthorized)
}
