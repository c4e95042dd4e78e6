//! Blobs in a file: the same rules as in memory, and they are there after the process has gone.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
fn other_files_are_refused_and_left_as_they_are() {
    let folder = folder("other");
    std::fs::create_dir_all(&folder).unwrap();
    let text = folder.join("text");
    std::fs::write(&text, "no database, but long enough to be taken for one if nobody looks".repeat(99))
        .unwrap();
    let other = folder.join("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')").unwrap();
    drop(connection);
    for (path, why) in [(&text, "the file is damaged"), (&other, "it belongs to another program")] {
        let state = || (std::fs::read(path).unwrap(), std::fs::metadata(path).unwrap().permissions());
        let before = state();
        let error = SqliteBlobs::open(path, BlobLimits::default()).unwrap_err().to_string();
        assert!(error.ends_with(why) && error.contains(&path.display().to_string()), "{error}");
        assert_eq!(state(), before, "{}", path.display());
    }
    let error = SqliteBlobs::open(&folder, BlobLimits::default()).unwrap_err().to_string();
    assert!(error.ends_with("is a directory"), "{error}");
}

/// Told to a child, which then only writes.
const CHILD: &str = "BLOBS_OF_CHILD";
/// Told to a child that says that it has kept what it has not.
const LIAR: &str = "BLOBS_OF_LIAR";
/// Number of its run.
const RUN: &str = "BLOBS_RUN";

/// A text of its own for every number and run; some are long, so that kills hit large writes, too.
fn text_of(run: u32, n: u32) -> Vec<u8> {
    let length = if n.is_multiple_of(5) { 20_000 } else { 300 + n as usize % 500 };
    format!("text {run}.{n} ").into_bytes().into_iter().cycle().take(length).collect()
}

/// Writes until it is killed. Says on standard output what is kept, once it is.
fn write_for_ever(path: &Path, run: u32, lies: bool) {
    let memory = MemoryBlobs::default();
    let file = open(path, BlobLimits::default());
    let store: &dyn BlobStore = if lies { &memory } else { &file };
    let mut out = std::io::stdout();
    for n in 0..1_000_000_u32 {
        store.put(&Principal::default(), &text_of(run, n)).unwrap();
        writeln!(out, "kept {n}").and_then(|()| out.flush()).unwrap();
    }
}

/// Kills a child after it has told so many times that something is kept. Returns how many it has told in all.
fn killed_child(file: &Path, run: u32, after: u32, lies: bool) -> u32 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "what_was_acknowledged_outlasts_kills", "--nocapture"]);
    command.env(CHILD, file).env(RUN, run.to_string());
    if lies {
        command.env(LIAR, "1");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut told = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        told += u32::from(line.contains("kept "));
        if told == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(told >= after, "the child has gone by itself after {told}");
    told
}

/// The texts of a run that were told to be kept and are not there, or are not what was kept.
fn lost(file: &Path, run: u32, told: u32) -> Vec<u32> {
    let store = open(file, BlobLimits::default());
    let here = |n: &u32| {
        let text = text_of(run, *n);
        let kept = store.get(&Principal::default(), BlobId::of(&text)).unwrap();
        kept.as_deref() == Some(text.as_slice())
    };
    // Room is made for later ones by the oldest; the child may have written more than there is room for.
    (told.saturating_sub(150)..told).filter(|n| !here(n)).collect()
}

/// A child is killed in the middle of its writing, again and again; whatever it was told is kept, is kept.
#[test]
fn what_was_acknowledged_outlasts_kills() {
    if let Some(path) = std::env::var_os(CHILD) {
        let run = std::env::var(RUN).unwrap().parse().unwrap();
        return write_for_ever(Path::new(&path), run, std::env::var_os(LIAR).is_some());
    }
    let file = folder("kill").join("blobs.db");
    let me = Principal::default();
    // A reader that has the file open all the time sees whole texts only.
    let reader = open(&file, BlobLimits::default());
    let mut first = None;
    for run in 0..20 {
        let told = killed_child(&file, run, 1 + run * 7 % 40, false);
        assert_eq!(lost(&file, run, told), [0; 0], "run {run}, {told} told");
        for blob in reader.list(&me, 100).unwrap() {
            let content = reader.get(&me, blob.id).unwrap().unwrap();
            assert!(BlobId::of(&content) == blob.id && content.len() as u64 == blob.bytes, "{blob:?}");
        }
        first.get_or_insert_with(|| text_of(0, told - 1));
    }
    assert!(reader.get(&me, BlobId::of(&first.unwrap())).unwrap().is_some(), "what the first child kept");
    // The twin: a child that keeps nothing.
    let told = killed_child(&file, 99, 20, true);
    assert_eq!(lost(&file, 99, told).len(), told.min(150) as usize);
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
