//! What was decided about a file and why, for logs and for the user.

use std::fmt;

use super::digest::Digest;
use super::read::{ReadError, Stamp};
use super::sources::{Format, Scope};

/// A file that may be used: the bytes that were checked, not a path to read again.
#[derive(Clone, PartialEq, Eq)]
pub struct TrustedFile {
    /// Whose it is.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// Its bytes; parse these.
    pub bytes: Vec<u8>,
    /// Their hash.
    pub sha256: Digest,
    /// The state of the file, for callers that keep what they parsed.
    pub stamp: Stamp,
}

impl fmt::Debug for TrustedFile {
    /// No contents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, format, bytes, sha256, .. } = self;
        write!(f, "TrustedFile({} {format}, {} bytes, {sha256:?})", scope.name(), bytes.len())
    }
}

/// What was decided about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whose file it is.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// Its path inside the project or data folder, for instance `.rtk/filters.toml`.
    pub path: String,
    /// Hash of its bytes, unless they could not be read.
    pub sha256: Option<Digest>,
    /// Why it is loaded, or why it is not.
    pub result: Result<Reason, Refusal>,
    /// Remarks on the way.
    pub notes: Vec<Note>,
}

impl Decision {
    /// Whether the file is loaded.
    pub fn loaded(&self) -> bool {
        self.result.is_ok()
    }

    /// How the user can make it load; nothing if it is loaded or cannot be trusted as it is.
    pub fn remedy(&self) -> Option<String> {
        let key = self.format.trust_key();
        let command = format!("look at the file, then run `omniroute rtk trust {}`", self.path);
        match (&self.result, self.scope) {
            (Err(Refusal::Untrusted | Refusal::Changed), Scope::Project) => {
                Some(format!("{command}; .rtk/trust.json names its hash as {key:?}"))
            }
            (Err(Refusal::Untrusted | Refusal::Changed), Scope::User) => Some(command),
            (Err(Refusal::OthersCanWrite), _) => Some("take write permission away from others".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for Decision {
    /// One line: scope, format, path, hash, decision, reason, remarks, what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.sha256.map_or_else(|| "unread".to_owned(), |hash| hash.short());
        write!(f, "{} {} filters {} ({hash}) ", self.scope.name(), self.format, self.path)?;
        match &self.result {
            Ok(reason) => write!(f, "loaded: {reason}")?,
            Err(refusal) => write!(f, "skipped: {refusal}")?,
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; to load it, {remedy}"))
    }
}

/// Why a file is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The configuration trusts project filters.
    Configuration,
    /// The environment does.
    Environment,
    /// The project's `trust.json` names the hash.
    ProjectFile,
    /// The user's store names it.
    UserStore,
    /// Both do.
    Both,
    /// A user's file, the same as when it was first loaded.
    Unchanged,
    /// A user's file, loaded for the first time.
    FirstLoad,
    /// A user's file; changes are not watched.
    Unwatched,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Configuration => "the configuration trusts project filters",
            Reason::Environment => "the environment trusts project filters",
            Reason::ProjectFile => "trusted by the project's trust file",
            Reason::UserStore => "trusted by the user",
            Reason::Both => "trusted by the user and the project's trust file",
            Reason::Unchanged => "unchanged since its first load",
            Reason::FirstLoad => "first load, hash recorded",
            Reason::Unwatched => "the user's own file",
        })
    }
}

/// Why a file is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Nobody who has to vouch for it does.
    Untrusted,
    /// A hash is recorded, and the file has another.
    Changed,
    /// The policy loads no project filters.
    Never,
    /// Others can write it, and the policy is strict.
    OthersCanWrite,
    /// It could not be read.
    Unread(ReadError),
    /// Its path is not UTF-8 and cannot stand in the store.
    PathNotUtf8,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Untrusted => f.write_str("untrusted"),
            Refusal::Changed => f.write_str("changed since trusted"),
            Refusal::Never => f.write_str("the policy never loads project filters"),
            Refusal::OthersCanWrite => f.write_str("others can write it"),
            Refusal::Unread(error) => write!(f, "untrusted, {error}"),
            Refusal::PathNotUtf8 => f.write_str("untrusted, its path is not UTF-8"),
        }
    }
}

/// A remark on the way to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The file that vouches came with what it vouches for.
    TrustFileInsideProject,
    /// Others can write the file or its folder.
    OthersCanWrite,
    /// The project's trust file cannot be used: why.
    TrustFile(String),
    /// The user's store cannot be used: why.
    Store(String),
    /// The variable is set to something other than `1`.
    EnvironmentNotOne,
    /// The variable is set, but this is no continuous integration.
    EnvironmentOutsideCi,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::TrustFileInsideProject => f.write_str("trust file is inside the project"),
            Note::OthersCanWrite => f.write_str("others can write the file or its folder"),
            Note::TrustFile(why) => write!(f, "trust.json: {why}"),
            Note::Store(why) => write!(f, "trust store: {why}"),
            Note::EnvironmentNotOne => write!(f, "{} counts only as exactly 1", super::TRUST_VARIABLE),
            Note::EnvironmentOutsideCi => {
                write!(f, "{} counts only in continuous integration", super::TRUST_VARIABLE)
            }
        }
    }
}
