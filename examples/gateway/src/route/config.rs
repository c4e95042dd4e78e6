//! Where the commands of routes get their configuration from: a file, and options on top of it.

use std::path::{Path, PathBuf};

use clap::Args;

pub(crate) use crate::config::model::{Account, Billing, Config, ConnectionLine, ModelLine};
use crate::config::{self, Sources};
use crate::exit::Failure;
use crate::input;
use crate::progress::Progress;

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration; by default the file that OMNIROUTE_CONFIG names, else omniroute/omniroute.toml in your folder for
    /// configurations ($XDG_CONFIG_HOME, ~/.config). The working folder is not searched
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A connection beside those of the configuration, such as openai/work; several times for several
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) connection: Vec<String>,
    /// Where random numbers start, instead of the seed of the configuration
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl ConfigArgs {
    /// Reads it.
    pub(super) fn read(&self) -> Result<Config, Failure> {
        let config = self.read_or_empty()?;
        if config.connections.is_empty() {
            return Err(Failure::usage(
                "no connections are configured: name a file with --config, or a connection with --connection",
            ));
        }
        Ok(config)
    }

    /// Everything that was read, right or wrong.
    pub(crate) fn sources(&self) -> Result<Sources, Failure> {
        config::read(config::locate(self.config.as_deref()).as_deref())
    }

    /// Reads it; without one there is nothing in it.
    pub(crate) fn read_or_empty(&self) -> Result<Config, Failure> {
        self.with_options(&self.sources()?)
    }

    /// The configuration of what was read, with the options on top.
    pub(crate) fn with_options(&self, sources: &Sources) -> Result<Config, Failure> {
        let mut config = Config::of(sources)?;
        for id in &self.connection {
            config.connections.push(ConnectionLine::named(id.clone()));
        }
        config.routing.seed = self.seed.unwrap_or(config.routing.seed);
        Ok(config)
    }
}

/// Text of a file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = input::read(Some(path), false, &mut Progress::new(true))?;
    match input::as_text(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Failure::failed(format!("cannot read \"{}\": {error}", path.display()))),
    }
}

/// A mistake with its line and column. The line itself is not shown.
pub(super) fn wrong(path: &Path, text: &str, error: &toml::de::Error) -> Failure {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Failure::failed(format!("\"{}\":{line}:{column}: {}", path.display(), error.message()))
}
