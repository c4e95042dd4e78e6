//! Reads the JSON files. A bad row is skipped and told, a bad file is an error.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::model::ModelRow;
use super::provider::ProviderRow;

/// Names for people that stand for a `provider/model`.
pub type Aliases = BTreeMap<String, String>;

/// Head of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Version of the form; ours is 1.
    pub schema: u64,
    /// Day of the facts, `YYYY-MM-DD`.
    pub as_of: String,
}

/// `providers.json`.
#[derive(Clone, Debug, Default)]
pub struct ProviderFile {
    /// Head.
    pub meta: Meta,
    /// Rows, as they stand.
    pub rows: Vec<ProviderRow<'static>>,
    /// Rows that could not be read.
    pub skipped: Vec<Skipped>,
}

/// `models.json`.
#[derive(Clone, Debug, Default)]
pub struct ModelFile {
    /// Head.
    pub meta: Meta,
    /// Names that stand for a `provider/model`.
    pub aliases: Aliases,
    /// Rows, as they stand.
    pub rows: Vec<ModelRow<'static>>,
    /// Rows that could not be read.
    pub skipped: Vec<Skipped>,
}

/// A row that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Id of the row, or its number.
    pub row: String,
    /// Why.
    pub reason: String,
}

/// A file that cannot be read at all.
#[derive(Debug)]
pub struct FileError(serde_json::Error);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "catalogue file: {}", self.0)
    }
}

impl std::error::Error for FileError {}

impl ProviderFile {
    /// Reads `providers.json`.
    ///
    /// # Errors
    /// [`FileError`] if it is not JSON of that shape; single rows are skipped.
    pub fn read(text: &str) -> Result<Self, FileError> {
        #[derive(Deserialize)]
        struct Given {
            #[serde(default)]
            meta: Meta,
            providers: Vec<serde_json::Value>,
        }
        let given: Given = serde_json::from_str(text).map_err(FileError)?;
        let (rows, skipped) = rows(given.providers);
        Ok(ProviderFile { meta: given.meta, rows, skipped })
    }
}

impl ModelFile {
    /// Reads `models.json`.
    ///
    /// # Errors
    /// [`FileError`] if it is not JSON of that shape; single rows are skipped.
    pub fn read(text: &str) -> Result<Self, FileError> {
        #[derive(Deserialize)]
        struct Given {
            #[serde(default)]
            meta: Meta,
            #[serde(default)]
            aliases: Aliases,
            models: Vec<serde_json::Value>,
        }
        let given: Given = serde_json::from_str(text).map_err(FileError)?;
        let (rows, skipped) = rows(given.models);
        Ok(ModelFile { meta: given.meta, aliases: given.aliases, rows, skipped })
    }
}

fn rows<T: DeserializeOwned>(given: Vec<serde_json::Value>) -> (Vec<T>, Vec<Skipped>) {
    let mut skipped = Vec::new();
    let mut rows = Vec::with_capacity(given.len());
    for (at, value) in given.into_iter().enumerate() {
        let row =
            value.get("id").and_then(|id| id.as_str()).map_or_else(|| format!("row {at}"), str::to_owned);
        match serde_json::from_value(value) {
            Ok(read) => rows.push(read),
            Err(error) => skipped.push(Skipped { row, reason: error.to_string() }),
        }
    }
    (rows, skipped)
}
