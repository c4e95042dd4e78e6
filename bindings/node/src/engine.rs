//! One compressor.

use std::borrow::Cow;
use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi_derive::napi;
use omniroute::{Compressor, Config, Error, Stopwatch};

use crate::errors::raised;
use crate::job::{Call, Cancel, Job, run};
use crate::outcome::Outcome;

/// A compressor. Belongs to the JavaScript thread that made it; its work may run on others.
#[napi]
#[derive(Debug)]
pub struct Engine {
    compressor: Arc<Compressor>,
    clock: Stopwatch,
}

#[napi]
impl Engine {
    /// From the text of a configuration: TOML, or JSON if `json` is true.
    #[napi(constructor)]
    pub fn new(text: String, json: bool) -> napi::Result<Self> {
        let config = if json { Config::from_json(&text) } else { Config::from_toml(&text) };
        let config = config.map_err(|errors| raised(&Error::from(errors)))?;
        let compressor = Compressor::new(config).map_err(|error| raised(&error))?;
        Ok(Engine { compressor: Arc::new(compressor), clock: Stopwatch::start() })
    }

    /// Works here and now on a body or a text in UTF-8.
    #[napi]
    pub fn run(&self, call: Call, input: Uint8Array) -> napi::Result<Outcome> {
        let input = Cow::Borrowed(&*input);
        run(&self.compressor, &call, input, self.clock.now()).map_err(|error| raised(&error))
    }

    /// Works on a thread of the host's pool.
    #[napi]
    pub fn start(&self, call: Call, input: Uint8Array, cancel: Option<&Cancel>) -> AsyncTask<Job> {
        AsyncTask::new(Job::new(self.compressor.clone(), call, &input, self.clock.now(), cancel))
    }

    /// Sums over the calls so far, as JSON text.
    #[napi]
    pub fn stats(&self) -> String {
        serde_json::to_string(&self.compressor.stats()).expect("a few numbers are always JSON")
    }

    /// The plan of calls that name none.
    #[napi(getter)]
    pub fn plan(&self) -> &str {
        self.compressor.config().plan()
    }
}
