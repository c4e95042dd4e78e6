//! What the embedder gives: where filters may stand, what the environment says, how much is trusted.

use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variable that trusts project filters when it is exactly `1`.
pub const TRUST_VARIABLE: &str = "OMNIROUTE_RTK_TRUST_PROJECT_FILTERS";

/// Variables of which at least one is set where a program runs in continuous integration.
const CI_VARIABLES: [&str; 12] = [
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BUILDKITE",
    "CIRCLECI",
    "TRAVIS",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "BITBUCKET_BUILD_NUMBER",
    "CODEBUILD_BUILD_ID",
    "APPVEYOR",
];

/// Where filters are looked for and on what terms they are loaded.
#[derive(Debug, Clone, Default)]
pub struct FilterSources {
    /// The project's folder; none: no project filters.
    pub project_root: Option<PathBuf>,
    /// The user's data folder; none: no user filters, and no store unless the policy names one.
    pub data_dir: Option<PathBuf>,
    /// What the environment says.
    pub env: EnvView,
    /// How much is trusted.
    pub policy: TrustPolicy,
}

impl FilterSources {
    /// Where a file with filters stands, if that scope has a folder.
    pub fn file(&self, scope: Scope, format: Format) -> Option<PathBuf> {
        let folder = match scope {
            Scope::Project => self.project_root.as_deref()?,
            Scope::User => self.data_dir.as_deref()?,
        };
        Some(folder.join(scope.folder()).join(format.file_name()))
    }

    /// Where the project says which hashes it vouches for.
    pub fn project_trust_file(&self) -> Option<PathBuf> {
        Some(self.project_root.as_deref()?.join(Scope::Project.folder()).join("trust.json"))
    }

    /// The user's store: the policy's, else `rtk/trusted.json` in the data folder.
    pub fn store_file(&self) -> Option<PathBuf> {
        let own = || self.data_dir.as_deref().map(|dir| dir.join(Scope::User.folder()).join("trusted.json"));
        self.policy.store.clone().or_else(own)
    }

    /// The folder out of which no link of this scope may lead.
    pub(crate) fn fence(&self, scope: Scope) -> Option<&Path> {
        match scope {
            Scope::Project => self.project_root.as_deref(),
            Scope::User => None,
        }
    }
}

/// What the environment says, read once by the embedder. Keeps no values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EnvView {
    pub(crate) trusts: bool,
    pub(crate) set: bool,
    pub(crate) ci: bool,
}

impl EnvView {
    /// Asks `lookup` for the variables that matter, for instance `|name| std::env::var(name).ok()`.
    pub fn new(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let value = lookup(TRUST_VARIABLE);
        let on = |name: &&str| lookup(name).is_some_and(|v| !matches!(v.as_str(), "" | "0" | "false"));
        EnvView {
            trusts: value.as_deref() == Some("1"),
            set: value.is_some_and(|v| !v.is_empty()),
            ci: CI_VARIABLES.iter().any(on),
        }
    }
}

/// Who has to vouch for a project's filters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The project's own `.rtk/trust.json`.
    Project,
    /// The user's store.
    User,
    /// Both, with the same hash: a repository cannot vouch for itself alone.
    #[default]
    Both,
    /// Nobody: project filters are never loaded, whatever flag or environment say.
    Never,
}

impl Trust {
    /// Reads the name that stands in a configuration.
    ///
    /// # Errors
    /// The message names the value and what is allowed.
    pub fn parse(name: &str) -> Result<Trust, String> {
        match name {
            "project" => Ok(Trust::Project),
            "user" => Ok(Trust::User),
            "both" => Ok(Trust::Both),
            "never" => Ok(Trust::Never),
            _ => Err(format!("trust is {name:?}, allowed are \"project\", \"user\", \"both\", \"never\"")),
        }
    }

    /// The name that stands in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Project => "project",
            Trust::User => "user",
            Trust::Both => "both",
            Trust::Never => "never",
        }
    }
}

/// On what terms filters are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    /// Who has to vouch for a project's filters. Default: both.
    pub trust: Trust,
    /// The configuration's `trustProjectFilters`: load them without a hash. Default: no.
    pub trust_project_filters: bool,
    /// Listen to [`TRUST_VARIABLE`] only in continuous integration. Default: no.
    pub env_requires_ci: bool,
    /// Refuse what others can write to, instead of warning. Default: no.
    pub strict: bool,
    /// Notice when a user's file has changed since it was first loaded. Default: yes.
    pub global_baseline: bool,
    /// The user's store, if not `rtk/trusted.json` in the data folder.
    pub store: Option<PathBuf>,
}

impl Default for TrustPolicy {
    fn default() -> Self {
        TrustPolicy {
            trust: Trust::Both,
            trust_project_filters: false,
            env_requires_ci: false,
            strict: false,
            global_baseline: true,
            store: None,
        }
    }
}

/// Whose filters these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// They came with the project.
    Project,
    /// The user's own.
    User,
}

impl Scope {
    /// `"project"` or `"user"`.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }

    /// The folder of filters inside the project or the data folder.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Scope::Project => ".rtk",
            Scope::User => "rtk",
        }
    }
}

/// How filters are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `filters.toml`
    Toml,
    /// `filters.json`
    Json,
}

impl Format {
    /// Both, in the order in which they are loaded.
    pub const ALL: [Format; 2] = [Format::Toml, Format::Json];

    /// The name of the file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Format::Toml => "filters.toml",
            Format::Json => "filters.json",
        }
    }

    /// The key of its hash in a project's `trust.json`.
    pub const fn trust_key(self) -> &'static str {
        match self {
            Format::Toml => "filtersTomlSha256",
            Format::Json => "filtersSha256",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Toml => "toml",
            Format::Json => "json",
        })
    }
}
