//! Writing a file that is the user's alone, in one step; installing a user's filters.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why filters were not installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// They are not valid, or a test of theirs fails: what the check said.
    #[error("the filters are refused: {0}")]
    Refused(String),
    /// There is such a file already.
    #[error("the file exists, and overwrite is not set")]
    Exists,
    /// It cannot be written.
    #[error("the file cannot be written: {0:?}")]
    Io(io::ErrorKind),
}

/// Installs a user's filters: checked, then written in one step with permissions for the user alone. A file that
/// is overwritten is kept beside it as `.bak`.
///
/// `check` validates the bytes and runs the filters' own tests.
///
/// # Errors
/// [`InstallError`]; nothing is changed then.
pub fn install(
    path: &Path,
    bytes: &[u8],
    overwrite: bool,
    check: impl FnOnce(&[u8]) -> Result<(), String>,
) -> Result<(), InstallError> {
    check(bytes).map_err(InstallError::Refused)?;
    let io = |error: io::Error| InstallError::Io(error.kind());
    match fs::symlink_metadata(path) {
        Ok(_) if !overwrite => return Err(InstallError::Exists),
        Ok(metadata) if metadata.is_file() => {
            let old = fs::read(path).map_err(io)?;
            write_private(&beside(path, "bak"), &old).map_err(io)?;
        }
        Ok(_) => return Err(InstallError::Io(io::ErrorKind::InvalidInput)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    write_private(path, bytes).map_err(io)
}

/// Writes a file in one step: a temporary file of mode 0600 in a folder of mode 0700, synced, then renamed. A link
/// that stands at `path` is replaced, not followed.
///
/// # Errors
/// Any error of the file system; the old file is then still there.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let (temporary, mut file) = temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let done = written.and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        // The error to report is the first one.
        let _ = fs::remove_file(&temporary);
    }
    done?;
    sync_folder(folder)
}

/// A new file beside `path`. One that was left behind by a crash is not reused: another may be writing it.
fn temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for n in 0..64 {
        let candidate = beside(path, &format!("{}-{n}.tmp", std::process::id()));
        match create_private(&candidate) {
            Ok(file) => return Ok((candidate, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// `path` with another suffix behind its own.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Makes the new name last through a power cut, where folders can be synced.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
