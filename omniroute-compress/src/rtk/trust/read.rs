//! Reading a file once, without following it out of the project, without waiting and without end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Gives a file's bytes. The gate asks once a file and load; a test may count that.
pub trait Reader {
    /// Reads a regular file of at most `limit` bytes. With a `fence`, the file that a link leads to must lie in that
    /// folder.
    ///
    /// # Errors
    /// [`ReadError`]; a file that is not there is [`ReadError::Missing`].
    fn read(&self, path: &Path, fence: Option<&Path>, limit: u64) -> Result<Snapshot, ReadError>;
}

/// A file as it was at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its path with all links resolved.
    pub canonical: PathBuf,
    /// Whether any user of the machine may write the file or its folder.
    pub world_writable: bool,
    /// What tells this state of the file from another.
    pub stamp: Stamp,
}

impl std::fmt::Debug for Snapshot {
    /// Sizes only: contents and home folders are nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (bytes, open) = (self.bytes.len(), self.world_writable);
        f.debug_struct("Snapshot")
            .field("bytes", &bytes)
            .field("world_writable", &open)
            .finish_non_exhaustive()
    }
}

/// What tells one state of a file from another, for callers that keep what they have parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Device and inode; 0 where there are none.
    pub node: (u64, u64),
    /// Last change, in nanoseconds since 1970; 0 if unknown.
    pub modified: u128,
    /// Length in bytes.
    pub length: u64,
}

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such file.
    #[error("the file does not exist")]
    Missing,
    /// A link leads out of the project.
    #[error("a symbolic link leaves the project")]
    LeavesProject,
    /// A folder, pipe, socket or device.
    #[error("it is no regular file")]
    NotRegular,
    /// It is larger than the limit.
    #[error("the file has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It was replaced between looking and opening.
    #[error("the file was replaced while it was opened")]
    Replaced,
    /// Anything else.
    #[error("the file cannot be read: {0:?}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error.kind())
    }
}

/// Reads from the file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskReader;

impl Reader for DiskReader {
    fn read(&self, path: &Path, fence: Option<&Path>, limit: u64) -> Result<Snapshot, ReadError> {
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
                return Err(ReadError::Missing);
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(fence) = fence
            && !canonical.starts_with(fs::canonicalize(fence)?)
        {
            return Err(ReadError::LeavesProject);
        }
        // Looked at before it is opened: opening a pipe would wait for its writer.
        let seen = fs::symlink_metadata(&canonical)?;
        check(&seen, limit)?;
        let mut file = File::open(&canonical)?;
        let opened = file.metadata()?;
        if node(&opened) != node(&seen) {
            return Err(ReadError::Replaced);
        }
        check(&opened, limit)?;
        let bytes = bounded(&mut file, limit)?;
        let folder = canonical.parent().and_then(|folder| fs::metadata(folder).ok());
        let world_writable = open_to_all(&opened) || folder.is_some_and(|folder| open_to_all(&folder));
        let modified = opened.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        let stamp = Stamp {
            node: node(&opened),
            modified: modified.map_or(0, |age| age.as_nanos()),
            length: bytes.len() as u64,
        };
        Ok(Snapshot { bytes, canonical, world_writable, stamp })
    }
}

fn check(metadata: &Metadata, limit: u64) -> Result<(), ReadError> {
    match metadata {
        m if !m.is_file() => Err(ReadError::NotRegular),
        m if m.len() > limit => Err(ReadError::TooLarge { limit }),
        _ => Ok(()),
    }
}

/// Everything, but never more than `limit` bytes: a file may grow while it is read.
fn bounded(file: &mut File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(bytes) }
}

#[cfg(unix)]
fn node(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Without inodes: what can be compared, kind and length.
#[cfg(not(unix))]
fn node(metadata: &Metadata) -> (u64, u64) {
    (u64::from(metadata.is_file()), metadata.len())
}

#[cfg(unix)]
fn open_to_all(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.mode() & 0o002 != 0
}

#[cfg(not(unix))]
fn open_to_all(_: &Metadata) -> bool {
    false
}
