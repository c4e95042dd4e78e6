//! The user's own files, the store at rest, previews and installing.

use std::fs;

use omniroute_core::UnixMs;

use super::super::{InstallError, Note, Preview, Reason, Refusal, RiskSummary, TrustError, install};
use super::{Digest, DiskReader, FILTERS, Folders, Format, NOW, Scope, Trust, TrustStore};

fn result(folders: &Folders) -> Result<Reason, Refusal> {
    folders.load().decisions[0].result.clone()
}

fn look(folders: &Folders, scope: Scope) -> Result<Preview, TrustError> {
    let risk = RiskSummary { filters: 1, ..RiskSummary::default() };
    Preview::open(&folders.sources, scope, Format::Toml, &DiskReader, |_, bytes| match bytes {
        b"bad" => Err("line 1".to_owned()),
        _ => Ok(risk),
    })
}

#[test]
fn a_change_of_the_users_file_is_noticed() {
    let mut folders = Folders::new();
    folders.write(Scope::User, Format::Toml, FILTERS);
    assert_eq!(result(&folders), Ok(Reason::FirstLoad));
    assert_eq!(result(&folders), Ok(Reason::Unchanged));
    folders.write(Scope::User, Format::Toml, b"changed");
    assert_eq!(result(&folders), Err(Refusal::Changed));
    assert_eq!(folders.load().files, []);
    let preview = look(&folders, Scope::User).unwrap();
    preview.trust(&folders.sources, &DiskReader, &preview.sha256, NOW).unwrap();
    assert_eq!(result(&folders), Ok(Reason::Unchanged));
    fs::write(folders.sources.store_file().unwrap(), "{").unwrap();
    assert_eq!(result(&folders), Err(Refusal::Untrusted));
    folders.sources.policy.global_baseline = false;
    assert_eq!(result(&folders), Ok(Reason::Unwatched));
}

#[test]
fn a_store_that_cannot_be_written_is_remarked() {
    let mut folders = Folders::new();
    folders.write(Scope::User, Format::Toml, FILTERS);
    // A file where the folder of the store should be.
    fs::write(folders.root.join("blocked"), "").unwrap();
    folders.sources.policy.store = Some(folders.root.join("missing/trusted.json"));
    assert_eq!(result(&folders), Ok(Reason::FirstLoad));
    folders.sources.policy.store = Some(folders.root.join("blocked/trusted.json"));
    let decision = folders.load().decisions[0].clone();
    assert!(matches!(decision.notes.as_slice(), [Note::Store(_), ..]), "{decision:?}");
}

#[cfg(unix)]
#[test]
fn files_at_rest_are_the_users_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folders = Folders::new();
    let path = folders.root.join("new/folder/trusted.json");
    let mut store = TrustStore::default();
    store.insert("/a", Digest::of(b"a"), UnixMs(1));
    store.save(&path).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // A link is replaced, its target untouched.
    let (target, link) = (folders.root.join("target"), folders.root.join("new/folder/link"));
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    store.save(&link).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_eq!(TrustStore::parse(&fs::read(&link).unwrap()).unwrap(), store);
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}

#[test]
fn trusting_records_what_was_shown() {
    for (policy, in_store, in_project) in
        [(Trust::Project, false, true), (Trust::User, true, false), (Trust::Both, true, true)]
    {
        let mut folders = Folders::new();
        folders.trust(policy).write(Scope::Project, Format::Toml, FILTERS);
        fs::write(folders.sources.project_trust_file().unwrap(), "{\"note\": [1, 2]}").unwrap();
        let preview = look(&folders, Scope::Project).unwrap();
        assert_eq!(
            (preview.risk.filters, preview.bytes, preview.sha256),
            (1, FILTERS.len(), Digest::of(FILTERS))
        );
        assert!(preview.risk.is_harmless());
        let wrong = preview.trust(&folders.sources, &DiskReader, &Digest::of(b"x"), NOW);
        assert!(matches!(wrong, Err(TrustError::OtherHash { .. })));
        // What is trusted is what was shown, even if the file changes now.
        folders.write(Scope::Project, Format::Toml, b"changed");
        preview.trust(&folders.sources, &DiskReader, &preview.sha256, NOW).unwrap();
        assert_eq!(result(&folders), Err(Refusal::Changed));
        folders.write(Scope::Project, Format::Toml, FILTERS);
        assert!(result(&folders).is_ok(), "{}", policy.name());
        let text = fs::read_to_string(folders.sources.project_trust_file().unwrap()).unwrap();
        assert!(text.contains("\"note\": [1, 2]"));
        assert_eq!(text.contains("filtersTomlSha256"), in_project);
        assert_eq!(folders.sources.store_file().unwrap().exists(), in_store);
    }
}

#[test]
fn what_is_not_shown_is_not_trusted() {
    let mut folders = Folders::new();
    assert!(matches!(look(&folders, Scope::Project), Err(TrustError::Read(_))));
    folders.write(Scope::Project, Format::Toml, b"bad");
    assert_eq!(look(&folders, Scope::Project).unwrap_err().to_string(), "the filters are not valid: line 1");
    folders.write(Scope::Project, Format::Toml, FILTERS);
    let preview = look(&folders, Scope::Project).unwrap();
    fs::write(folders.sources.project_trust_file().unwrap(), "[]").unwrap();
    let trust = |folders: &Folders| preview.trust(&folders.sources, &DiskReader, &preview.sha256, NOW);
    assert_eq!(trust(&folders), Err(TrustError::TrustFile));
    assert!(
        !folders.sources.store_file().unwrap().exists(),
        "nothing is written when one of the two cannot be"
    );
    assert_eq!(trust(folders.trust(Trust::Never)), Err(TrustError::Never));
}

#[test]
fn installing_checks_first_and_keeps_the_old() {
    let folders = Folders::new();
    let path = folders.path(Scope::User, Format::Toml);
    let good = |_: &[u8]| Ok(());
    assert_eq!(
        install(&path, FILTERS, false, |_| Err("test 1 fails".to_owned())),
        Err(InstallError::Refused("test 1 fails".to_owned()))
    );
    assert!(!path.exists());
    install(&path, FILTERS, false, good).unwrap();
    assert_eq!(install(&path, b"new", false, good), Err(InstallError::Exists));
    install(&path, b"new", true, good).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read(path.with_file_name("filters.toml.bak")).unwrap(), FILTERS);
}
