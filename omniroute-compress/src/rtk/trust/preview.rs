//! Looking at a file before trusting it: what its filters can do, and recording exactly the bytes that were shown.

use std::path::PathBuf;

use omniroute_core::UnixMs;

use super::digest::Digest;
use super::gate::MAX_FILTER_BYTES;
use super::project;
use super::read::{ReadError, Reader};
use super::sources::{FilterSources, Format, Scope, Trust};
use super::store::{StoreError, TrustStore};
use super::write::write_private;

/// What the filters of a file can do to an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RiskSummary {
    /// How many filters it has.
    pub filters: usize,
    /// Filters that rewrite text: they can turn one word into another.
    pub uses_replace: Vec<String>,
    /// Filters that put a fixed text in place of an output.
    pub uses_match_output: Vec<String>,
    /// Filters that apply to every command.
    pub matches_everything: Vec<String>,
    /// Filters that hide error lines of the canaries.
    pub hides_error_canaries: Vec<String>,
    /// Texts that stand for an output that becomes empty.
    pub on_empty_messages: Vec<String>,
}

impl RiskSummary {
    /// Whether nothing but dropping lines can happen.
    pub fn is_harmless(&self) -> bool {
        let lists = [
            &self.uses_replace,
            &self.uses_match_output,
            &self.matches_everything,
            &self.hides_error_canaries,
        ];
        lists.iter().all(|list| list.is_empty()) && self.on_empty_messages.is_empty()
    }
}

/// A file as it is shown to the user before he trusts it.
#[derive(Clone)]
pub struct Preview {
    /// Whose it is.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// Hash of the bytes that were shown.
    pub sha256: Digest,
    /// Number of bytes.
    pub bytes: usize,
    /// What its filters can do.
    pub risk: RiskSummary,
    canonical: PathBuf,
}

impl std::fmt::Debug for Preview {
    /// Without the path.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scope, format, sha256, bytes, .. } = self;
        write!(f, "Preview({} {format}, {bytes} bytes, {sha256:?})", scope.name())
    }
}

/// Why a file was not shown or not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The sources have no folder of this scope.
    #[error("there is no {} folder", .0.name())]
    NoFolder(Scope),
    /// The file cannot be read.
    #[error("{0}")]
    Read(ReadError),
    /// The file has no valid filters: what is wrong.
    #[error("the filters are not valid: {0}")]
    Invalid(String),
    /// The hash that the user confirmed is not that of the bytes shown.
    #[error("the hash {given} is not that of the file shown, {shown}")]
    OtherHash {
        /// First digits of the hash given.
        given: String,
        /// First digits of the hash of the file.
        shown: String,
    },
    /// The path is not UTF-8 and cannot stand in the store.
    #[error("the path of the file is not UTF-8")]
    PathNotUtf8,
    /// The policy trusts no project.
    #[error("the policy never loads project filters")]
    Never,
    /// The project's trust file is there and cannot be read; it is left as it is.
    #[error("trust.json is no JSON object")]
    TrustFile,
    /// The user's store is there and cannot be read or written.
    #[error("trust store: {0}")]
    Store(StoreError),
    /// The project's trust file cannot be written.
    #[error("trust.json cannot be written: {0:?}")]
    Write(std::io::ErrorKind),
}

impl Preview {
    /// Reads a file once and has `inspect` say what its filters can do. Hash and summary come from the same bytes.
    ///
    /// # Errors
    /// [`TrustError`] if it cannot be read or `inspect` refuses it.
    pub fn open(
        sources: &FilterSources,
        scope: Scope,
        format: Format,
        reader: &dyn Reader,
        inspect: impl FnOnce(Format, &[u8]) -> Result<RiskSummary, String>,
    ) -> Result<Preview, TrustError> {
        let path = sources.file(scope, format).ok_or(TrustError::NoFolder(scope))?;
        let snapshot =
            reader.read(&path, sources.fence(scope), MAX_FILTER_BYTES).map_err(TrustError::Read)?;
        let risk = inspect(format, &snapshot.bytes).map_err(TrustError::Invalid)?;
        let sha256 = Digest::of(&snapshot.bytes);
        Ok(Preview {
            scope,
            format,
            sha256,
            bytes: snapshot.bytes.len(),
            risk,
            canonical: snapshot.canonical,
        })
    }

    /// Records the file shown wherever the policy asks for it: in the user's store, in the project's trust file, or
    /// in both. `hash` is what the user confirmed.
    ///
    /// A file that has changed meanwhile is not trusted by this: its hash is another.
    ///
    /// # Errors
    /// [`TrustError`]. Store and trust file are read before either is written.
    pub fn trust(
        &self,
        sources: &FilterSources,
        reader: &dyn Reader,
        hash: &Digest,
        now: UnixMs,
    ) -> Result<(), TrustError> {
        if *hash != self.sha256 {
            return Err(TrustError::OtherHash { given: hash.short(), shown: self.sha256.short() });
        }
        let trust = sources.policy.trust;
        let project = self.scope == Scope::Project;
        if project && trust == Trust::Never {
            return Err(TrustError::Never);
        }
        let store = (!project || trust != Trust::Project)
            .then(|| self.new_store(sources, reader, now))
            .transpose()?;
        let file =
            (project && trust != Trust::User).then(|| self.new_trust_file(sources, reader)).transpose()?;
        if let Some((path, text)) = file {
            write_private(&path, text.as_bytes()).map_err(|error| TrustError::Write(error.kind()))?;
        }
        store.map_or(Ok(()), |(path, store)| store.save(&path).map_err(TrustError::Store))
    }

    fn new_store(
        &self,
        sources: &FilterSources,
        reader: &dyn Reader,
        now: UnixMs,
    ) -> Result<(PathBuf, TrustStore), TrustError> {
        let path = sources.store_file().ok_or(TrustError::NoFolder(Scope::User))?;
        let mut store = TrustStore::load(&path, reader, sources.policy.strict).map_err(TrustError::Store)?;
        store.insert(self.canonical.to_str().ok_or(TrustError::PathNotUtf8)?, self.sha256, now);
        Ok((path, store))
    }

    fn new_trust_file(
        &self,
        sources: &FilterSources,
        reader: &dyn Reader,
    ) -> Result<(PathBuf, String), TrustError> {
        let path = sources.project_trust_file().ok_or(TrustError::NoFolder(Scope::Project))?;
        let old = match reader.read(&path, sources.fence(Scope::Project), project::MAX_BYTES) {
            Ok(snapshot) => Some(snapshot.bytes),
            Err(ReadError::Missing) => None,
            Err(error) => return Err(TrustError::Read(error)),
        };
        let text =
            project::with_claim(old.as_deref(), self.format, &self.sha256).ok_or(TrustError::TrustFile)?;
        Ok((path, text))
    }
}
