//! Keys and passwords: where they are said to be, and how they are fetched. None is ever shown.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

/// Longest secret in a file, in bytes.
const MOST: u64 = 64 << 10;

/// Where a secret is.
#[derive(Clone, Deserialize)]
pub(crate) struct Secret {
    env: Option<String>,
    file: Option<PathBuf>,
    plain: Option<String>,
    /// The source that says so.
    #[serde(default)]
    pub(super) source: usize,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

impl Secret {
    /// Paths are meant from here.
    pub(super) fn from(&mut self, folder: &std::path::Path) {
        self.file = self.file.take().map(|file| folder.join(file));
    }

    /// Where it is, in words.
    pub(crate) fn place(&self) -> String {
        match (&self.env, &self.file) {
            (Some(name), _) => format!("the variable {name}"),
            (_, Some(file)) => format!("the file \"{}\"", file.display()),
            _ => "the configuration".to_owned(),
        }
    }

    /// Whether it is there, as far as can be seen without reading it.
    pub(crate) fn is_there(&self) -> bool {
        match (&self.env, &self.file) {
            (Some(name), _) => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
            (_, Some(file)) => file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() > 0),
            _ => true,
        }
    }

    /// The secret.
    ///
    /// # Errors
    /// Why there is none; the secret is not in the words.
    pub(crate) fn fetch(&self) -> Result<String, String> {
        let text = match (&self.env, &self.file, &self.plain) {
            (Some(name), ..) => std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => format!("{} is not set", self.place()),
                std::env::VarError::NotUnicode(_) => format!("{} is no text in UTF-8", self.place()),
            })?,
            (_, Some(file), _) => {
                let facts = file.metadata().map_err(|_| format!("{} cannot be read", self.place()))?;
                if facts.len() > MOST {
                    return Err(format!("{} has {} bytes, allowed are {MOST}", self.place(), facts.len()));
                }
                if too_open(&facts) {
                    return Err(format!("{} can be read by others; chmod 600 it", self.place()));
                }
                std::fs::read_to_string(file).map_err(|_| format!("{} cannot be read", self.place()))?
            }
            (.., Some(text)) => text.clone(),
            _ => String::new(),
        };
        let text = text.trim();
        if text.is_empty() { Err(format!("{} is empty", self.place())) } else { Ok(text.to_owned()) }
    }
}

/// Whether others than its owner can read a file.
#[cfg(unix)]
pub(crate) fn too_open(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    facts.permissions().mode() & 0o077 != 0
}

/// Whether others than its owner can read a file: this system does not say it in a mode.
#[cfg(not(unix))]
pub(crate) fn too_open(_: &std::fs::Metadata) -> bool {
    false
}
