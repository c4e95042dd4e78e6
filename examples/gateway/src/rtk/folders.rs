//! Where filter files are looked for, and loading those that are trusted.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use omniroute_compress::rtk::trust::{
    Decision, DiskReader, EnvView, FilterSources, Format, Scope, TrustPolicy, load,
};
use omniroute_compress::rtk::{FilterError, FilterFormat, FilterSet, FilterSource, FilterWarning};
use omniroute_core::UnixMs;

use crate::exit::{Failure, note};
use crate::terminal::harmless;

/// Where filter files are.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Folder of the project, whose filters in .rtk are used if you trust them; by default the current one
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Your folder, with filters and the trust store in rtk; by default $DATA_DIR, else ~/.omniroute
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// The filters in force and what was found on the way.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Built-in filters and those of trusted files.
    pub(crate) set: FilterSet,
    /// One decision for each file that exists.
    pub(crate) decisions: Vec<Decision>,
    /// What is wrong with trusted files.
    pub(crate) errors: Vec<FilterError>,
    /// What their authors should know.
    pub(crate) warnings: Vec<FilterWarning>,
}

impl FolderArgs {
    /// The folders, with what the environment says about trust.
    pub(crate) fn sources(&self, env: EnvView) -> Result<FilterSources, Failure> {
        // A folder that was named must be there; one that is only the default need not.
        for named in [&self.root, &self.data_dir].into_iter().flatten() {
            let found = named.metadata().map_err(|e| Failure::path("read", named, &e))?;
            if !found.is_dir() {
                return Err(Failure::failed(format!("\"{}\" is no directory", named.display())));
            }
        }
        Ok(FilterSources {
            project_root: self.root.clone().or_else(|| env::current_dir().ok()),
            data_dir: self.data_dir.clone().or_else(own_folder),
            env,
            policy: TrustPolicy::default(),
        })
    }

    /// Loads the files that are trusted. Nothing of the others is parsed.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        let sources = self.sources(EnvView::new(|name| env::var(name).ok()))?;
        let outcome = load(&sources, &DiskReader, now());
        let mut builder = FilterSet::builder();
        for file in &outcome.files {
            let (source, folder) = match file.scope {
                Scope::Project => (FilterSource::Project, ".rtk"),
                Scope::User => (FilterSource::User, "rtk"),
            };
            let path = format!("{folder}/{}", file.format.file_name());
            builder = builder.file(source, format(file.format), &path, &file.bytes);
        }
        let loaded = builder.build();
        Ok(Loaded {
            set: loaded.set,
            decisions: outcome.decisions,
            errors: loaded.errors,
            warnings: loaded.warnings,
        })
    }
}

impl Loaded {
    /// Says on standard error which files are not in force, and why.
    pub(crate) fn tell(&self) {
        self.tell_decisions();
        self.errors.iter().for_each(|error| note(&harmless(&error.to_string())));
    }

    /// As [`Loaded::tell`], without the mistakes inside files.
    pub(crate) fn tell_decisions(&self) {
        let odd = |d: &&Decision| !d.loaded() || !d.notes.is_empty();
        self.decisions.iter().filter(odd).for_each(|d| note(&harmless(&d.to_string())));
    }
}

/// The time, for what is written beside a hash.
#[expect(clippy::disallowed_methods, reason = "a program has its own clock; nothing depends on this time")]
pub(super) fn now() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn format(format: Format) -> FilterFormat {
    match format {
        Format::Toml => FilterFormat::Toml,
        Format::Json => FilterFormat::Json,
    }
}

fn own_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    set("DATA_DIR").or_else(|| Some(set(home)?.join(".omniroute")))
}
