//! A file that is swapped between check and use cannot be loaded, because nobody reads it twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::{DiskReader, ReadError, Reader, Snapshot};
use super::{Digest, FILTERS, Folders, Format, NOW, Scope, load};

/// Gives other bytes from the second read of a path on, and counts.
#[derive(Default)]
struct Swapping {
    reads: RefCell<BTreeMap<PathBuf, u32>>,
}

impl Reader for Swapping {
    fn read(&self, path: &Path, fence: Option<&Path>, limit: u64) -> Result<Snapshot, ReadError> {
        let mut snapshot = DiskReader.read(path, fence, limit)?;
        let mut reads = self.reads.borrow_mut();
        let count = reads.entry(path.to_owned()).or_default();
        *count += 1;
        if *count > 1 {
            snapshot.bytes = b"swapped".to_vec();
        }
        Ok(snapshot)
    }
}

type Loader = fn(&Folders, &dyn Reader) -> Vec<Vec<u8>>;

fn real(folders: &Folders, reader: &dyn Reader) -> Vec<Vec<u8>> {
    load(&folders.sources, reader, NOW).files.into_iter().map(|file| file.bytes).collect()
}

/// What is loaded is what was trusted, and each path is read once.
fn loads_what_it_checked(loader: Loader) -> Result<(), String> {
    let folders = Folders::new();
    for format in Format::ALL {
        folders.write(Scope::Project, format, FILTERS);
        folders.approve(&folders.path(Scope::Project, format), FILTERS);
    }
    let keys = Format::ALL.map(|format| format!("\"{}\": \"{}\"", format.trust_key(), Digest::of(FILTERS)));
    std::fs::write(folders.sources.project_trust_file().unwrap(), format!("{{{}}}", keys.join(","))).unwrap();
    let reader = Swapping::default();
    let loaded = loader(&folders, &reader);
    if loaded != [FILTERS, FILTERS] {
        return Err(format!("{} files, not all as trusted", loaded.len()));
    }
    match reader.reads.borrow().values().find(|count| **count != 1) {
        Some(count) => Err(format!("a file was read {count} times")),
        None => Ok(()),
    }
}

#[test]
fn a_swapped_file_is_not_loaded() {
    loads_what_it_checked(real).unwrap();
    let twice: Loader = |folders, reader| {
        let checked = load(&folders.sources, reader, NOW).files;
        let again = |scope, format| reader.read(&folders.path(scope, format), None, 1 << 20).unwrap().bytes;
        checked.into_iter().map(|file| again(file.scope, file.format)).collect()
    };
    assert!(loads_what_it_checked(twice).is_err());
}
