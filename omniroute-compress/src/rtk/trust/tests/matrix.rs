//! Two formats, every way to be trusted or not, four policies.

use std::fs;

use super::super::{Format, Note, ReadError, Reason, Refusal, Scope, TRUST_VARIABLE, Trust};
use super::{EnvView, FILTERS, Folders};

type Prepare = fn(&mut Folders, Format);
type Expected = Result<Reason, Refusal>;

const POLICIES: [Trust; 4] = [Trust::Project, Trust::User, Trust::Both, Trust::Never];

fn env(value: &'static str, ci: bool) -> EnvView {
    EnvView::new(|name| match name {
        TRUST_VARIABLE => Some(value.to_owned()),
        "CI" if ci => Some("true".to_owned()),
        _ => None,
    })
}

fn vouch_and_approve(folders: &mut Folders, format: Format) {
    folders.vouch(format, FILTERS);
    folders.approve(&folders.path(Scope::Project, format), FILTERS);
}

fn other(format: Format) -> Format {
    if format == Format::Toml { Format::Json } else { Format::Toml }
}

fn trust_file(folders: &Folders, text: &str) {
    fs::write(folders.sources.project_trust_file().unwrap(), text).unwrap();
}

/// Name, preparation, and what the policies project, user and both say; `never` always refuses.
fn rows() -> Vec<(&'static str, Prepare, [Expected; 3])> {
    let untrusted = || Err(Refusal::Untrusted);
    let changed = || Err(Refusal::Changed);
    let all = |expected: Expected| [expected.clone(), expected.clone(), expected];
    vec![
        ("nothing", |_, _| {}, all(untrusted())),
        ("flag", |f, _| f.sources.policy.trust_project_filters = true, all(Ok(Reason::Configuration))),
        ("env 1", |f, _| f.sources.env = env("1", false), all(Ok(Reason::Environment))),
        ("env true", |f, _| f.sources.env = env("true", true), all(untrusted())),
        ("env yes", |f, _| f.sources.env = env("yes", true), all(untrusted())),
        ("env 1 and a blank", |f, _| f.sources.env = env("1 ", true), all(untrusted())),
        (
            "env in CI only, outside",
            |f, _| {
                f.sources.env = env("1", false);
                f.sources.policy.env_requires_ci = true;
            },
            all(untrusted()),
        ),
        (
            "env in CI only, inside",
            |f, _| {
                f.sources.env = env("1", true);
                f.sources.policy.env_requires_ci = true;
            },
            all(Ok(Reason::Environment)),
        ),
        (
            "project hash",
            |f, format| f.vouch(format, FILTERS),
            [Ok(Reason::ProjectFile), untrusted(), untrusted()],
        ),
        (
            "user hash",
            |f, format| f.approve(&f.path(Scope::Project, format), FILTERS),
            [untrusted(), Ok(Reason::UserStore), untrusted()],
        ),
        (
            "both hashes",
            vouch_and_approve,
            [Ok(Reason::ProjectFile), Ok(Reason::UserStore), Ok(Reason::Both)],
        ),
        (
            "both hashes, file changed",
            |f, format| {
                vouch_and_approve(f, format);
                f.write(Scope::Project, format, b"changed");
            },
            all(changed()),
        ),
        (
            "file and project hash changed",
            |f, format| {
                vouch_and_approve(f, format);
                f.write(Scope::Project, format, b"changed");
                f.vouch(format, b"changed");
            },
            [Ok(Reason::ProjectFile), changed(), changed()],
        ),
        ("wrong project hash", |f, format| f.vouch(format, b"x"), [changed(), untrusted(), changed()]),
        ("key of the other format", |f, format| f.vouch(other(format), FILTERS), all(untrusted())),
        ("trust file empty object", |f, _| trust_file(f, "{}"), all(untrusted())),
        ("trust file bad JSON", |f, _| trust_file(f, "{\"filtersSha256\": "), all(untrusted())),
        ("trust file array", |f, _| trust_file(f, "[]"), all(untrusted())),
        (
            "trust file with 63 digits",
            |f, format| trust_file(f, &format!("{{\"{}\": \"{}\"}}", format.trust_key(), "a".repeat(63))),
            all(untrusted()),
        ),
        (
            "trust file oversize",
            |f, _| trust_file(f, &format!("{{}}{}", " ".repeat(70_000))),
            all(untrusted()),
        ),
        (
            "store bad JSON, project hash",
            |f, format| {
                f.vouch(format, FILTERS);
                fs::write(f.sources.store_file().unwrap(), "{").unwrap();
            },
            [Ok(Reason::ProjectFile), untrusted(), untrusted()],
        ),
        (
            "no data folder, project hash",
            |f, format| {
                f.vouch(format, FILTERS);
                f.sources.data_dir = None;
            },
            [Ok(Reason::ProjectFile), untrusted(), untrusted()],
        ),
        (
            "oversize",
            |f, format| {
                f.write(Scope::Project, format, &vec![b' '; (1 << 20) + 1]);
                f.sources.policy.trust_project_filters = true;
            },
            all(Err(Refusal::Unread(ReadError::TooLarge { limit: 1 << 20 }))),
        ),
        (
            "folder",
            |f, format| {
                let path = f.path(Scope::Project, format);
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
            },
            all(Err(Refusal::Unread(ReadError::NotRegular))),
        ),
    ]
}

#[cfg(unix)]
fn unix_rows() -> Vec<(&'static str, Prepare, [Expected; 3])> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let all = |expected: Expected| [expected.clone(), expected.clone(), expected];
    let out = || all(Err(Refusal::Unread(ReadError::LeavesProject)));
    let trusted = || [Ok(Reason::ProjectFile), Ok(Reason::UserStore), Ok(Reason::Both)];
    fn link_out(f: &mut Folders, format: Format) {
        vouch_and_approve(f, format);
        let (path, target) = (f.path(Scope::Project, format), f.root.join("elsewhere"));
        fs::rename(&path, &target).unwrap();
        symlink(&target, &path).unwrap();
    }
    vec![
        (
            "link to a file inside",
            |f, format| {
                let (path, target) = (f.path(Scope::Project, format), f.root.join("project/shared"));
                fs::rename(&path, &target).unwrap();
                symlink("../shared", &path).unwrap();
                vouch_and_approve(f, format);
            },
            trusted(),
        ),
        ("link to a file outside", link_out, out()),
        (
            "link to a file outside, flag set",
            |f, format| {
                link_out(f, format);
                f.sources.policy.trust_project_filters = true;
            },
            out(),
        ),
        (
            "folder is a link that leads outside",
            |f, format| {
                vouch_and_approve(f, format);
                fs::rename(f.root.join("project/.rtk"), f.root.join("elsewhere")).unwrap();
                symlink(f.root.join("elsewhere"), f.root.join("project/.rtk")).unwrap();
            },
            out(),
        ),
        (
            "link to nothing",
            |f, format| {
                let path = f.path(Scope::Project, format);
                fs::remove_file(&path).unwrap();
                symlink("nothing", &path).unwrap();
            },
            all(Err(Refusal::Unread(ReadError::Io(std::io::ErrorKind::NotFound)))),
        ),
        (
            "trust file is a link that leads outside",
            |f, format| {
                f.vouch(format, FILTERS);
                let path = f.sources.project_trust_file().unwrap();
                fs::rename(&path, f.root.join("trust")).unwrap();
                symlink(f.root.join("trust"), &path).unwrap();
            },
            all(Err(Refusal::Untrusted)),
        ),
        (
            "pipe",
            |f, format| {
                let path = f.path(Scope::Project, format);
                fs::remove_file(&path).unwrap();
                assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
                f.sources.policy.trust_project_filters = true;
            },
            all(Err(Refusal::Unread(ReadError::NotRegular))),
        ),
        (
            "others can write",
            |f, format| {
                vouch_and_approve(f, format);
                fs::set_permissions(f.path(Scope::Project, format), fs::Permissions::from_mode(0o666))
                    .unwrap();
            },
            trusted(),
        ),
        (
            "others can write, strict",
            |f, format| {
                vouch_and_approve(f, format);
                fs::set_permissions(f.path(Scope::Project, format), fs::Permissions::from_mode(0o666))
                    .unwrap();
                f.sources.policy.strict = true;
            },
            all(Err(Refusal::OthersCanWrite)),
        ),
        (
            "others can write the folder, strict",
            |f, format| {
                vouch_and_approve(f, format);
                fs::set_permissions(f.root.join("project/.rtk"), fs::Permissions::from_mode(0o777)).unwrap();
                f.sources.policy.strict = true;
            },
            all(Err(Refusal::OthersCanWrite)),
        ),
    ]
}

#[cfg(not(unix))]
fn unix_rows() -> Vec<(&'static str, Prepare, [Expected; 3])> {
    Vec::new()
}

#[test]
fn matrix() {
    for (name, prepare, expected) in rows().into_iter().chain(unix_rows()) {
        for format in Format::ALL {
            let mut folders = Folders::new();
            folders.write(Scope::Project, format, FILTERS);
            prepare(&mut folders, format);
            for (n, policy) in POLICIES.into_iter().enumerate() {
                let wanted = expected.get(n).cloned().unwrap_or_else(|| match &expected[0] {
                    Err(error @ (Refusal::Unread(_) | Refusal::OthersCanWrite)) => Err(error.clone()),
                    _ => Err(Refusal::Never),
                });
                check(name, &format!("{name}, {format}, {}", policy.name()), folders.trust(policy), &wanted);
            }
        }
    }
}

fn check(name: &str, case: &str, folders: &Folders, wanted: &Expected) {
    let outcome = folders.load();
    let [decision] = outcome.decisions.as_slice() else { panic!("{case}: {outcome:?}") };
    assert_eq!(decision.result, *wanted, "{case}: {decision}");
    assert_eq!(outcome.files.len(), usize::from(wanted.is_ok()), "{case}");
    assert!(outcome.files.iter().all(|file| file.bytes == FILTERS || name.contains("changed")), "{case}");
    // What is said holds neither the place on this machine nor what is in the file.
    let said = format!("{decision} {outcome:?}");
    assert!(!said.contains(folders.root.to_str().unwrap()) && !said.contains("schema_version"), "{said}");
}

/// The rule of `both`: loaded only if each of the two names exactly this hash.
fn both_must_agree(accepts: fn(bool, bool) -> bool) -> Result<(), String> {
    for (project, user) in [(false, false), (false, true), (true, false), (true, true)] {
        if accepts(project, user) != (project && user) {
            return Err(format!("project {project}, user {user}"));
        }
    }
    Ok(())
}

#[test]
fn a_repository_cannot_vouch_for_itself() {
    both_must_agree(|project, user| {
        let folders = Folders::new();
        folders.write(Scope::Project, Format::Toml, FILTERS);
        if project {
            folders.vouch(Format::Toml, FILTERS);
        }
        if user {
            folders.approve(&folders.path(Scope::Project, Format::Toml), FILTERS);
        }
        !folders.load().files.is_empty()
    })
    .unwrap();
    assert!(both_must_agree(|project, user| project || user).is_err());
    assert!(both_must_agree(|project, _| project).is_err());
}

#[test]
fn decisions_say_what_to_do() {
    let mut folders = Folders::new();
    folders.write(Scope::Project, Format::Json, b"{}");
    folders.vouch(Format::Json, b"{}");
    assert_eq!(
        folders.load().decisions[0].to_string(),
        "project json filters .rtk/filters.json (44136fa355b3) skipped: untrusted; to load it, look at the file, then \
         run `omniroute rtk trust .rtk/filters.json`; .rtk/trust.json names its hash as \"filtersSha256\""
    );
    let loaded = folders.trust(Trust::Project).load();
    assert_eq!(loaded.decisions[0].notes, [Note::TrustFileInsideProject]);
    assert_eq!(
        loaded.decisions[0].to_string(),
        "project json filters .rtk/filters.json (44136fa355b3) loaded: trusted by the project's trust file; trust file \
         is inside the project"
    );
    folders.sources.env = env("yes", false);
    assert!(folders.load().decisions[0].to_string().contains("counts only as exactly 1"));
    assert!(Trust::parse("Both").unwrap_err().starts_with("trust is \"Both\", allowed are"));
    assert!(POLICIES.iter().all(|policy| Trust::parse(policy.name()) == Ok(*policy)));
}

#[test]
fn the_two_formats_are_independent() {
    let mut folders = Folders::new();
    folders.trust(Trust::Project);
    folders.write(Scope::Project, Format::Json, b"{}");
    folders.write(Scope::Project, Format::Toml, FILTERS);
    folders.vouch(Format::Toml, FILTERS);
    let outcome = folders.load();
    let results: Vec<_> = outcome.decisions.iter().map(|d| (d.format, d.loaded())).collect();
    assert_eq!(results, [(Format::Toml, true), (Format::Json, false)]);
}
