//! A strategy that is written in Python. Called while a call is polled, by the Python thread that polls it.

use std::fmt;

use omniroute::core::Outcome;
use omniroute::core::route::{
    Candidates, Layer, Pick, Plan, Reason, RouteContext, RouteError, RouteErrorKind, RoutingStrategy,
    Sequence, Why,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Calls `object.plan(cx, candidates)`, which gives the positions of candidates in the order in which they are to be asked.
pub(crate) struct HostStrategy {
    id: String,
    object: Py<PyAny>,
}

impl HostStrategy {
    pub(crate) fn new(id: &str, object: Py<PyAny>) -> Self {
        HostStrategy { id: id.to_owned(), object }
    }

    fn ask(
        &self,
        py: Python<'_>,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
    ) -> PyResult<Vec<usize>> {
        let around = PyDict::new(py);
        around.set_item("input_tokens", cx.request.input_tokens)?;
        around.set_item("max_output", cx.request.max_output)?;
        around.set_item("task", cx.request.class.name())?;
        around.set_item("session", cx.session.map(|session| session.id.as_str()))?;
        around.set_item("seed", cx.seed)?;
        around.set_item("ticket", cx.ticket)?;
        around.set_item("now_ms", cx.now.wall.0)?;
        let list = PyList::empty(py);
        for one in candidates.iter() {
            let row = PyDict::new(py);
            let target = &one.entry.target;
            row.set_item("key", target.to_string())?;
            row.set_item("provider", target.provider.as_str())?;
            row.set_item("connection", target.connection.as_str())?;
            row.set_item("model", target.model.as_str())?;
            row.set_item("rank", one.entry.rank)?;
            row.set_item("weight", one.entry.weight)?;
            row.set_item("tags", one.entry.tags.iter().map(|tag| &**tag).collect::<Vec<_>>())?;
            row.set_item("context", one.entry.model.context_window)?;
            row.set_item("price_in", one.facts.price_in)?;
            row.set_item("price_out", one.facts.price_out)?;
            row.set_item("mean_ms", one.facts.mean_ms)?;
            row.set_item("error_rate", one.facts.error_rate)?;
            row.set_item("quota_left", one.facts.quota_left)?;
            row.set_item("in_flight", one.facts.in_flight)?;
            list.append(row)?;
        }
        self.object.bind(py).call_method1(intern!(py, "plan"), (around, list))?.extract()
    }
}

impl fmt::Debug for HostStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostStrategy").field("id", &self.id).finish_non_exhaustive()
    }
}

impl RoutingStrategy for HostStrategy {
    fn id(&self) -> &str {
        &self.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        let wrong = |message: String| RouteError::new(RouteErrorKind::StrategyError, message);
        let order = Python::attach(|py| {
            self.ask(py, cx, candidates).map_err(|error| {
                let kind =
                    error.get_type(py).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
                wrong(format!("strategy {:?} failed: {kind}: {}", self.id, error.value(py)))
            })
        })?;
        let mut picks = Vec::with_capacity(order.len());
        for position in order {
            if let Some(twice) = picks.iter().position(|pick: &Pick| {
                candidates.get(position).is_some_and(|one| one.index == pick.candidate)
            }) {
                return Err(wrong(format!(
                    "strategy {:?} gave candidate {position} twice, as number {twice}",
                    self.id
                )));
            }
            let Some(one) = candidates.get(position) else {
                let most = candidates.len();
                return Err(wrong(format!(
                    "strategy {:?} gave candidate {position}, there are {most}, from 0 on",
                    self.id
                )));
            };
            picks.push(Pick::new(one.index, Why::of(Layer::Strategy, Reason::Named)));
        }
        Ok(Plan::Sequence(Sequence::new(picks, 0)))
    }

    fn observe(&self, outcome: &Outcome) {
        let told = |py: Python<'_>| -> PyResult<()> {
            let row = PyDict::new(py);
            row.set_item("key", outcome.target.to_string())?;
            row.set_item("failed", outcome.failure.as_ref().map(|failure| failure.kind.code()))?;
            row.set_item("latency_ms", outcome.latency.as_secs_f64() * 1e3)?;
            row.set_item("first_ms", outcome.first_content.map(|time| time.as_secs_f64() * 1e3))?;
            self.object.bind(py).call_method1(intern!(py, "observe"), (row,))?;
            Ok(())
        };
        // Nobody waits for it: what it raises goes where Python puts such errors.
        Python::attach(|py| {
            if let Err(error) = told(py) {
                error.write_unraisable(py, Some(self.object.bind(py)));
            }
        });
    }
}
