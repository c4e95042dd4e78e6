//! Which rows are built, and why the others are not.

use crate::data::{Access, Implement, ProviderRow, Status, WireId};
use crate::prepare::PrepareError;

/// What can be done with a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Availability {
    /// Calls can be prepared.
    Built,
    /// Calls can be prepared once the settings give the address.
    NeedsBaseUrl,
    /// Has an address and is listed only; the reason.
    ListedOnly(String),
    /// Not written yet; the reason.
    NotYet(String),
    /// Never; the reason.
    ByPolicy(&'static str),
}

impl Availability {
    /// What can be done with this row.
    pub fn of(row: &ProviderRow<'_>) -> Self {
        match row.implement {
            Implement::CatalogOnly => Availability::ByPolicy(policy(row)),
            Implement::Later => Availability::NotYet(interface(row)),
            Implement::Yes => match (&row.listed_only, &row.base_url) {
                (Some(reason), _) => Availability::ListedOnly(reason.to_string()),
                (None, None) => Availability::NeedsBaseUrl,
                (None, Some(_)) => Availability::Built,
            },
        }
    }

    /// One word for lists: `built`, `needs-base-url`, `listed-only`, `not-yet`, `by-policy`.
    pub fn word(&self) -> &'static str {
        match self {
            Availability::Built => "built",
            Availability::NeedsBaseUrl => "needs-base-url",
            Availability::ListedOnly(_) => "listed-only",
            Availability::NotYet(_) => "not-yet",
            Availability::ByPolicy(_) => "by-policy",
        }
    }

    /// Why the row is not built; empty if it is.
    pub fn reason(&self) -> &str {
        match self {
            Availability::Built => "",
            Availability::NeedsBaseUrl => "no base address is known",
            Availability::ListedOnly(reason) | Availability::NotYet(reason) => reason,
            Availability::ByPolicy(reason) => reason,
        }
    }

    /// Refuses what cannot be called.
    pub(crate) fn allows(self, row: &ProviderRow<'_>, own_base_url: bool) -> Result<(), PrepareError> {
        let provider = row.id.to_string();
        match self {
            Availability::Built => Ok(()),
            Availability::NeedsBaseUrl if own_base_url => Ok(()),
            Availability::NeedsBaseUrl => Err(PrepareError::MissingBaseUrl { provider }),
            Availability::ListedOnly(reason) | Availability::NotYet(reason) => {
                Err(PrepareError::NotYet { provider, reason })
            }
            Availability::ByPolicy(reason) => {
                Err(PrepareError::ByPolicy { provider, access: row.access, reason })
            }
        }
    }
}

impl WireId {
    /// Whether requests can be made for this wire.
    pub fn is_written(self) -> bool {
        use WireId::{Custom, LocalCli, Native, None, WebSession};
        !matches!(self, Native | Custom | WebSession | LocalCli | None)
    }
}

fn policy(row: &ProviderRow<'_>) -> &'static str {
    match row.access {
        _ if row.status == Status::Removed => "the service is gone",
        Access::WebSession => "it needs the session of a browser",
        Access::ClientOauth => "it needs a sign-in that poses as another vendor's client",
        Access::ClientRestricted => "the vendor serves its own client only",
        Access::KeychainImport => "it needs a secret out of another program's store",
        _ => "there is no documented way to call it",
    }
}

fn interface(row: &ProviderRow<'_>) -> String {
    match row.wire {
        WireId::LocalCli => "it is a program, not an interface over http".to_owned(),
        WireId::Custom => "its chat interface is its own".to_owned(),
        WireId::Native => {
            let kinds: Vec<&str> = row.kinds.iter().map(|kind| kind.word()).collect();
            format!("it offers {}, and only chat is written", kinds.join(", "))
        }
        wire => format!("{wire} is not written for it"),
    }
}
