//! The trust matrix, reading once, links and special files, the user's store, previews.

mod matrix;
mod once;
mod user;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use omniroute_core::UnixMs;

use super::{
    Digest, DiskReader, EnvView, FilterSources, Format, Outcome, Scope, Trust, TrustPolicy, TrustStore, load,
};

const NOW: UnixMs = UnixMs(1_700_000_000_000);
const FILTERS: &[u8] = b"schema_version = 2\n";

/// A project and a data folder that are removed at the end.
struct Folders {
    root: PathBuf,
    sources: FilterSources,
}

impl Folders {
    fn new() -> Folders {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("omniroute-trust-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(root.join("project/.rtk")).unwrap();
        fs::create_dir_all(root.join("data/rtk")).unwrap();
        let sources = FilterSources {
            project_root: Some(root.join("project")),
            data_dir: Some(root.join("data")),
            env: EnvView::default(),
            policy: TrustPolicy::default(),
        };
        Folders { root, sources }
    }

    fn path(&self, scope: Scope, format: Format) -> PathBuf {
        self.sources.file(scope, format).unwrap()
    }

    fn write(&self, scope: Scope, format: Format, bytes: &[u8]) {
        fs::write(self.path(scope, format), bytes).unwrap();
    }

    /// The project vouches for these bytes.
    fn vouch(&self, format: Format, bytes: &[u8]) {
        let text = format!("{{\"{}\": \"{}\"}}", format.trust_key(), Digest::of(bytes));
        fs::write(self.sources.project_trust_file().unwrap(), text).unwrap();
    }

    /// The user trusts these bytes at the place of a file.
    fn approve(&self, path: &Path, bytes: &[u8]) {
        let file = self.sources.store_file().unwrap();
        let old = fs::read(&file).ok().map(|text| TrustStore::parse(&text).unwrap());
        let mut store = old.unwrap_or_default();
        store.insert(fs::canonicalize(path).unwrap().to_str().unwrap(), Digest::of(bytes), NOW);
        fs::write(&file, store.to_json()).unwrap();
    }

    fn trust(&mut self, trust: Trust) -> &mut Self {
        self.sources.policy.trust = trust;
        self
    }

    fn load(&self) -> Outcome {
        load(&self.sources, &DiskReader, NOW)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
