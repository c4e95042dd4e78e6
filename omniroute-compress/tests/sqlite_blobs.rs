//! Blobs in a file: the same rules as in memory, and they are there after the process has gone.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use omniroute_compress::SqliteBlobs;
use omniroute_core::{BlobError, BlobId, BlobLimits, BlobStore, Held, MemoryBlobs, Principal, UnixMs};
use proptest::prelude::*;

fn folder(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("blobs-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(path: &Path, limits: BlobLimits) -> SqliteBlobs {
    SqliteBlobs::open(path, limits).unwrap()
}

#[test]
fn keeps_apart_ages_and_makes_room_as_memory_does() {
    let limits =
        BlobLimits::default().bytes(24).principal_bytes(12).blob_bytes(10).ttl(Duration::from_secs(60));
    let file = folder("rules").join("deep").join("blobs.db");
    let stores: [Box<dyn BlobStore>; 2] =
        [Box::new(MemoryBlobs::with_limits(limits)), Box::new(open(&file, limits))];
    for store in stores {
        let (a, b) = (Principal::new("a"), Principal::new("b"));
        store.tick(UnixMs(1_000));
        let of_b = store.put(&b, b"12345").unwrap();
        assert_eq!(store.look(&a, of_b).unwrap(), Held::Never);
        let first = store.put(&a, b"first").unwrap();
        let second = store.put(&a, b"second").unwrap();
        let third = store.put(&a, b"third").unwrap();
        assert_eq!(store.look(&a, first).unwrap(), Held::Gone, "its own oldest went");
        assert_eq!(store.list(&a, 9).unwrap().iter().map(|f| f.id).collect::<Vec<_>>(), [third, second]);
        assert!(matches!(store.put(&a, &[0; 11]), Err(BlobError::TooLarge { bytes: 11, limit: 10 })));
        store.tick(UnixMs(50_000));
        assert_eq!(store.touch(&a, &[second, first]).unwrap(), [first]);
        store.tick(UnixMs(70_000));
        assert!(matches!(store.look(&a, second).unwrap(), Held::Here { kept: UnixMs(1_000), .. }));
        assert_eq!(store.look(&a, third).unwrap(), Held::Gone, "too old");
        assert_eq!(store.look(&b, of_b).unwrap(), Held::Gone);
        assert_eq!(store.put(&a, b"third").unwrap(), third);
        assert_eq!(store.get(&a, third).unwrap().as_deref(), Some(&b"third"[..]));
        assert!(store.remove(&a, third).unwrap() && !store.remove(&a, third).unwrap());
        assert_eq!(store.look(&a, third).unwrap(), Held::Never);
        assert_eq!(store.ttl_ms(), Some(60_000));
    }
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("modes");
    let file = folder.join("blobs.db");
    let store = open(&file, BlobLimits::default());
    store.put(&Principal::default(), b"text").unwrap();
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn other_files_are_refused() {
    let folder = folder("other");
    std::fs::create_dir_all(&folder).unwrap();
    let text = folder.join("text");
    std::fs::write(&text, "no database, but long enough to be taken for one if nobody looks".repeat(99))
        .unwrap();
    let error = SqliteBlobs::open(&text, BlobLimits::default()).unwrap_err();
    assert!(error.to_string().ends_with("the file is damaged"), "{error}");
    assert!(SqliteBlobs::open(&folder, BlobLimits::default()).is_err());
}

/// The child is killed in the middle of its writing; whatever it was told is kept, is kept.
#[test]
fn what_was_acknowledged_outlasts_a_kill() {
    const CHILD: &str = "BLOBS_OF_CHILD";
    if let Some(path) = std::env::var_os(CHILD) {
        let store = open(&PathBuf::from(path), BlobLimits::default());
        for n in 0..100_000_u32 {
            store.put(&Principal::default(), format!("text {n} {}", "x".repeat(500)).as_bytes()).unwrap();
            std::fs::write(format!("{}.last", store_path()), n.to_string()).unwrap();
        }
        return;
    }
    let file = folder("kill").join("blobs.db");
    drop(open(&file, BlobLimits::default()));
    for _ in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_was_acknowledged_outlasts_a_kill"])
            .env(CHILD, &file)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let last = PathBuf::from(format!("{}.last", file.display()));
        let _ = std::fs::remove_file(&last);
        let enough = |text: String| text.parse::<u32>().is_ok_and(|n| n > 20);
        while !std::fs::read_to_string(&last).is_ok_and(enough) {
            assert!(child.try_wait().unwrap().is_none(), "the child has gone by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(&file, BlobLimits::default());
        let told = std::fs::read_to_string(&last).unwrap().parse::<u32>().unwrap_or(20);
        for n in 0..=told {
            let id = BlobId::of(format!("text {n} {}", "x".repeat(500)).as_bytes());
            assert!(store.get(&Principal::default(), id).unwrap().is_some(), "text {n} of {told}");
        }
    }
}

fn store_path() -> String {
    std::env::var("BLOBS_OF_CHILD").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn two_principals_never_see_each_others_texts(ops in prop::collection::vec((0..2_usize, ".{0,20}"), 1..20)) {
        let store = open(&folder("apart").join("blobs.db"), BlobLimits::default());
        let who = [Principal::new("a"), Principal::new("b")];
        let mut kept = [Vec::new(), Vec::new()];
        for (owner, text) in ops {
            let id = store.put(&who[owner], text.as_bytes()).unwrap();
            kept[owner].push((id, text));
        }
        for (owner, texts) in kept.iter().enumerate() {
            for (id, text) in texts {
                let got = store.get(&who[owner], *id).unwrap();
                prop_assert_eq!(got.as_deref(), Some(text.as_bytes()));
                let other = kept[1 - owner].iter().any(|(other, _)| other == id);
                prop_assert_eq!(store.get(&who[1 - owner], *id).unwrap().is_some(), other);
            }
        }
    }
}
