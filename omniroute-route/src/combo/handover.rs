//! What the next account of a session is told, as the settings of a combo say.

use std::sync::Arc;

use super::Combos;
use crate::auto_name::auto_name;
use crate::directory::Directory;
use crate::error::{ConfigCode, ConfigError};
use crate::options::OptionReader;

/// How a session is handed over when its account changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handover {
    /// Who writes the summary: `provider/model`, a combo or an `auto` name; none: `auto/cheap`.
    pub model: Option<Arc<str>>,
    /// Messages that are summed up at most. Default: 30.
    pub messages: usize,
    /// Also when the client sends its whole history. Default: no.
    pub always: bool,
}

impl Handover {
    pub(crate) fn read(reader: &mut OptionReader<'_>) -> Handover {
        Handover {
            model: reader.text("relay_model").map(Arc::from),
            messages: reader.whole("relay_messages", 30, 5, 100) as usize,
            always: reader.word("handover", 0, &["needed", "always"]) == 1,
        }
    }

    /// What is wrong with who writes the summary.
    pub(super) fn check(
        &self,
        path: &str,
        combos: &Combos,
        directory: &dyn Directory,
    ) -> Option<ConfigError> {
        combos.helper(self.model.as_deref()?, &format!("{path}.relay_model"), "write a summary", directory)
    }
}

impl Combos {
    /// What is wrong with who is named for one answer beside the request: a model, a combo that makes an order, or an
    /// `auto` name.
    pub(crate) fn helper(
        &self,
        model: &str,
        path: &str,
        task: &str,
        directory: &dyn Directory,
    ) -> Option<ConfigError> {
        let wrong =
            |code, why: &str| Some(ConfigError::new(code, path, format!("{path} is {model:?}, {why}")));
        if let Some(combo) = self.get(model) {
            let one = !matches!(combo.entry.id, "fusion" | "pipeline" | "context-relay");
            return if one {
                None
            } else {
                wrong(ConfigCode::BadValue, &format!("a combo that cannot {task}"))
            };
        }
        match auto_name(model) {
            Some(Ok(_)) => return None,
            Some(Err(error)) => return wrong(ConfigCode::BadValue, &error.message),
            None => {}
        }
        super::split(model, directory).err().and_then(|hint| wrong(ConfigCode::MissingReference, &hint))
    }
}
