//! The gate: which files with filters are loaded.

use std::path::Path;

use omniroute_core::UnixMs;

use super::decision::{Decision, Note, Reason, Refusal, TrustedFile};
use super::digest::Digest;
use super::project::{self, Claim};
use super::read::{ReadError, Reader, Snapshot};
use super::sources::{FilterSources, Format, Scope, Trust};
use super::store::TrustStore;

/// Larger files with filters are refused.
pub(crate) const MAX_FILTER_BYTES: u64 = 1 << 20;

/// What a load gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Files to parse: project before user, TOML before JSON.
    pub files: Vec<TrustedFile>,
    /// One decision for each file that exists, loaded or not.
    pub decisions: Vec<Decision>,
}

/// Decides about all files of `sources`. Every file is read once; trusted ones come back as bytes.
///
/// `now` is written beside the hash of a user's file that is loaded for the first time.
pub fn load(sources: &FilterSources, reader: &dyn Reader, now: UnixMs) -> Outcome {
    let mut load = Load { sources, reader, store: None, store_changed: false, trust_file: None };
    let mut outcome = Outcome::default();
    for (scope, format) in [Scope::Project, Scope::User].into_iter().flat_map(|s| Format::ALL.map(|f| (s, f)))
    {
        if let Some((decision, file)) = load.file(scope, format, now) {
            outcome.decisions.push(decision);
            outcome.files.extend(file);
        }
    }
    load.save(&mut outcome.decisions);
    outcome
}

struct Load<'s> {
    sources: &'s FilterSources,
    reader: &'s dyn Reader,
    /// Read when first needed, then kept: one read a load.
    store: Option<Result<TrustStore, String>>,
    store_changed: bool,
    trust_file: Option<Result<Option<Snapshot>, String>>,
}

impl Load<'_> {
    /// The decision about one file, unless there is none.
    fn file(&mut self, scope: Scope, format: Format, now: UnixMs) -> Option<(Decision, Option<TrustedFile>)> {
        let path = self.sources.file(scope, format)?;
        let mut notes = Vec::new();
        let read = self.read(scope, &path, &mut notes);
        let (result, snapshot) = match read {
            Err(Refusal::Unread(ReadError::Missing)) => return None,
            Err(refusal) => (Err(refusal), None),
            Ok(snapshot) => {
                let sha256 = Digest::of(&snapshot.bytes);
                let result = match scope {
                    Scope::Project => self.project(format, &snapshot, sha256, &mut notes),
                    Scope::User => self.user(&snapshot, sha256, now, &mut notes),
                };
                (result, Some((snapshot, sha256)))
            }
        };
        let path = format!("{}/{}", scope.folder(), format.file_name());
        let sha256 = snapshot.as_ref().map(|(_, sha256)| *sha256);
        let decision = Decision { scope, format, path, sha256, result, notes };
        let trusted = |(snapshot, sha256): (Snapshot, Digest)| TrustedFile {
            scope,
            format,
            bytes: snapshot.bytes,
            sha256,
            stamp: snapshot.stamp,
        };
        let file = snapshot.filter(|_| decision.loaded()).map(trusted);
        Some((decision, file))
    }

    fn read(&self, scope: Scope, path: &Path, notes: &mut Vec<Note>) -> Result<Snapshot, Refusal> {
        let read = self.reader.read(path, self.sources.fence(scope), MAX_FILTER_BYTES);
        let snapshot = read.map_err(Refusal::Unread)?;
        if snapshot.world_writable {
            notes.push(Note::OthersCanWrite);
            if self.sources.policy.strict {
                return Err(Refusal::OthersCanWrite);
            }
        }
        Ok(snapshot)
    }

    /// Whether a project's file is trusted.
    fn project(
        &mut self,
        format: Format,
        snapshot: &Snapshot,
        sha256: Digest,
        notes: &mut Vec<Note>,
    ) -> Result<Reason, Refusal> {
        let (policy, env) = (&self.sources.policy, self.sources.env);
        let trust = policy.trust;
        if trust == Trust::Never {
            return Err(Refusal::Never);
        }
        if policy.trust_project_filters {
            return Ok(Reason::Configuration);
        }
        match env.trusts {
            true if env.ci || !policy.env_requires_ci => return Ok(Reason::Environment),
            true => notes.push(Note::EnvironmentOutsideCi),
            false if env.set => notes.push(Note::EnvironmentNotOne),
            false => {}
        }
        let by_project = match trust {
            Trust::User => None,
            _ => Some(self.project_claim(format, notes)),
        };
        let by_user = match trust {
            Trust::Project => None,
            _ => Some(self.user_claim(snapshot, notes)?),
        };
        let asked = || [&by_project, &by_user].into_iter().flatten();
        if asked().any(|claim| matches!(claim, Claim::Names(named) if *named != sha256)) {
            return Err(Refusal::Changed);
        }
        if asked().any(|claim| *claim != Claim::Names(sha256)) {
            return Err(Refusal::Untrusted);
        }
        if trust == Trust::Project {
            notes.push(Note::TrustFileInsideProject);
        }
        Ok(match trust {
            Trust::Project => Reason::ProjectFile,
            Trust::User => Reason::UserStore,
            Trust::Both | Trust::Never => Reason::Both,
        })
    }

    /// Whether a user's file is the one that was loaded before.
    fn user(
        &mut self,
        snapshot: &Snapshot,
        sha256: Digest,
        now: UnixMs,
        notes: &mut Vec<Note>,
    ) -> Result<Reason, Refusal> {
        if !self.sources.policy.global_baseline || self.sources.store_file().is_none() {
            return Ok(Reason::Unwatched);
        }
        match self.user_claim(snapshot, notes)? {
            Claim::Names(named) if named == sha256 => Ok(Reason::Unchanged),
            Claim::Names(_) => Err(Refusal::Changed),
            Claim::Bad(_) => Err(Refusal::Untrusted),
            Claim::Absent => {
                if let (Some(Ok(store)), Some(path)) = (&mut self.store, snapshot.canonical.to_str()) {
                    store.insert(path, sha256, now);
                    self.store_changed = true;
                }
                Ok(Reason::FirstLoad)
            }
        }
    }

    /// What the project's trust file says.
    fn project_claim(&mut self, format: Format, notes: &mut Vec<Note>) -> Claim {
        let (sources, reader) = (self.sources, self.reader);
        let file = self.trust_file.get_or_insert_with(|| {
            let path = sources.project_trust_file().ok_or_else(|| "no project".to_owned())?;
            match reader.read(&path, sources.fence(Scope::Project), project::MAX_BYTES) {
                Ok(snapshot) if snapshot.world_writable && sources.policy.strict => {
                    Err("others can write it".to_owned())
                }
                Ok(snapshot) => Ok(Some(snapshot)),
                Err(ReadError::Missing) => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        });
        if matches!(file, Ok(Some(snapshot)) if snapshot.world_writable)
            && !notes.contains(&Note::OthersCanWrite)
        {
            notes.push(Note::OthersCanWrite);
        }
        let claim = match file {
            Ok(Some(snapshot)) => project::claim(&snapshot.bytes, format),
            Ok(None) => Claim::Absent,
            Err(why) => Claim::Bad(why.clone()),
        };
        if let Claim::Bad(why) = &claim {
            notes.push(Note::TrustFile(why.clone()));
        }
        claim
    }

    /// What the user's store says.
    fn user_claim(&mut self, snapshot: &Snapshot, notes: &mut Vec<Note>) -> Result<Claim, Refusal> {
        let (sources, reader) = (self.sources, self.reader);
        let store = self.store.get_or_insert_with(|| {
            let path = sources.store_file().ok_or_else(|| "there is no data folder".to_owned())?;
            TrustStore::load(&path, reader, sources.policy.strict).map_err(|error| error.to_string())
        });
        let path = snapshot.canonical.to_str().ok_or(Refusal::PathNotUtf8)?;
        match store {
            Ok(store) => Ok(store.get(path).map_or(Claim::Absent, |entry| Claim::Names(entry.sha256))),
            Err(why) => {
                notes.push(Note::Store(why.clone()));
                Ok(Claim::Bad(why.clone()))
            }
        }
    }

    /// Writes first loads down. A store that cannot be written is remarked, the files stay loaded.
    fn save(&self, decisions: &mut [Decision]) {
        let (Some(Ok(store)), Some(path), true) =
            (&self.store, self.sources.store_file(), self.store_changed)
        else {
            return;
        };
        if let Err(error) = store.save(&path) {
            for decision in decisions.iter_mut().filter(|d| d.result == Ok(Reason::FirstLoad)) {
                decision.notes.push(Note::Store(error.to_string()));
            }
        }
    }
}
