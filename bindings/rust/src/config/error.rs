//! Every mistake in a configuration with its place.

use std::fmt;

/// A place in a text, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    path: String,
    message: String,
    place: Option<Place>,
}

impl Mistake {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>, place: Option<Place>) -> Self {
        Mistake { path: path.into(), message: message.into(), place }
    }

    /// The way to the value, for instance `compression.engines.rows.min_rows`; empty for the whole text.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it stands, if the configuration came as TOML.
    pub fn place(&self) -> Option<Place> {
        self.place
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// Every mistake in a configuration, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub(crate) Vec<Mistake>);

impl ConfigErrors {
    /// The mistakes.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
