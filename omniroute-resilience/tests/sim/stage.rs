//! Builds what is tested, and lets the run do things to it.

use std::rc::Rc;

use crate::sim::client::Scene;
use crate::sim::direct::Direct;
use crate::sim::plan::Event;
use crate::sim::run::Props;
use crate::sim::subject::{Steps, Subject};
use crate::sim::time::Spawner;

/// The tested thing with everything around it.
pub(crate) trait Stage {
    /// What clients talk to.
    fn subject(&self) -> Rc<dyn Subject>;

    /// Something happens to the infrastructure.
    fn event(&self, _event: Event) {}

    /// Starts tasks of its own, for instance owners of leases.
    fn start(&self, _spawner: &Spawner, _scene: &Rc<Scene>) {}

    /// At the end: what is still held although nobody holds it, and what must never be there; with its rule.
    fn idle(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Commits to records of the three layers, and reads.
    fn traffic(&self) -> (u64, u64) {
        (0, 0)
    }
}

struct DirectStage(Rc<Direct>);

impl Stage for DirectStage {
    fn subject(&self) -> Rc<dyn Subject> {
        self.0.clone()
    }
}

/// The step functions, real or broken, in the small shell.
pub(crate) fn direct(steps: impl Steps + Clone + 'static) -> impl Fn(&Props) -> Rc<dyn Stage> {
    move |props| {
        let world = props.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Rc::new(DirectStage(Rc::new(Direct::new(
            Box::new(steps.clone()),
            props.plan.config.clone(),
            world.classes.clone(),
            world.accounts.len(),
            props.seed,
            props.log.clone(),
            props.time.clone(),
        ))))
    }
}
