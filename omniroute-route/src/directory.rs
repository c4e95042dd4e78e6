//! What is configured and what the catalogue knows of it, as far as names have to be resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use omniroute_core::ModelFact;
use omniroute_core::route::{AccountTier, Billing, OfferTier};

/// One configured connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// Whose API.
    pub provider: Arc<str>,
    /// Its name.
    pub id: Arc<str>,
    /// What kind of account.
    pub account: AccountTier,
    /// How calls are paid.
    pub billing: Billing,
    /// Signed in as a person.
    pub sign_in: bool,
    /// Switched off.
    pub disabled: bool,
    /// Nothing to sign in with.
    pub no_credential: bool,
    /// Takes part only where somebody names it: no key, or the vendor's terms are against it.
    pub only_named: bool,
}

impl Connection {
    /// A connection paid by the token.
    pub fn new(provider: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Connection {
            provider: provider.into(),
            id: id.into(),
            account: AccountTier::Standard,
            billing: Billing::Metered,
            sign_in: false,
            disabled: false,
            no_credential: false,
            only_named: false,
        }
    }
}

/// What names are resolved against.
pub trait Directory: Send + Sync + fmt::Debug + 'static {
    /// All configured connections, in the operator's order.
    fn connections(&self) -> &[Connection];

    /// Models of a configured provider that are not hidden, in the catalogue's order.
    fn models(&self, provider: &str) -> Vec<Arc<str>>;

    /// Facts about a model; none: it is not in the catalogue, which does not say that it does not exist.
    fn facts(&self, provider: &str, model: &str) -> Option<ModelFact>;

    /// What an operator says an offer costs. By default nobody says anything.
    fn tier(&self, provider: &str, model: &str) -> Option<OfferTier> {
        let _ = (provider, model);
        None
    }

    /// How good an operator says a model is, by class of task. By default the built-in table is used.
    fn fitness(&self, provider: &str, model: &str) -> Option<[f32; 7]> {
        let _ = (provider, model);
        None
    }

    /// Configured providers, each once, in the order of their first connections.
    fn providers(&self) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        for connection in self.connections() {
            if !found.contains(&connection.provider) {
                found.push(connection.provider.clone());
            }
        }
        found
    }
}

/// What a text names among the configured providers.
pub(crate) enum Named {
    /// A provider and its model, whether the catalogue has it or not.
    Full(Arc<str>, Arc<str>),
    /// A model that only this provider has.
    Bare(Arc<str>),
    /// A model that all of these have.
    Several(Vec<Arc<str>>),
    /// Nothing.
    Nobody,
}

/// Reads `provider/model`, or a model by itself. Case does not count for the provider.
pub(crate) fn named(text: &str, providers: &[Arc<str>], directory: &dyn Directory) -> Named {
    if let Some((provider, model)) = text.split_once('/')
        && !model.is_empty()
        && let Some(provider) = providers.iter().find(|known| known.eq_ignore_ascii_case(provider))
    {
        return Named::Full(provider.clone(), model.into());
    }
    let mut owners = providers.to_vec();
    owners.retain(|provider| directory.facts(provider, text).is_some());
    match owners.len() {
        0 => Named::Nobody,
        1 => Named::Bare(owners.swap_remove(0)),
        _ => Named::Several(owners),
    }
}

/// A directory in memory.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    connections: Vec<Connection>,
    models: BTreeMap<Arc<str>, Vec<(Arc<str>, ModelFact)>>,
}

impl Listed {
    /// Without anything.
    pub fn new() -> Self {
        Listed::default()
    }

    /// With one more connection.
    #[must_use]
    pub fn connection(mut self, connection: Connection) -> Self {
        self.connections.push(connection);
        self
    }

    /// With one more model.
    #[must_use]
    pub fn model(mut self, provider: &str, model: &str, facts: ModelFact) -> Self {
        self.models.entry(provider.into()).or_default().push((model.into(), facts));
        self
    }
}

impl Directory for Listed {
    fn connections(&self) -> &[Connection] {
        &self.connections
    }

    fn models(&self, provider: &str) -> Vec<Arc<str>> {
        self.models.get(provider).into_iter().flatten().map(|(model, _)| model.clone()).collect()
    }

    fn facts(&self, provider: &str, model: &str) -> Option<ModelFact> {
        let models = self.models.get(provider)?;
        models.iter().find(|(known, _)| **known == *model).map(|(_, facts)| facts.clone())
    }
}
