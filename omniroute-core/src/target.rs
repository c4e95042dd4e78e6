//! What a call is sent to: a model, at a connection, of a provider.

use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the name as it is.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                $name(name.into())
            }

            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map($name::new)
            }
        }
    };
}

id! {
    /// A vendor entry, for instance `openai`.
    ProviderId
}

id! {
    /// Exactly one credential of one provider: an account, a key, a local server.
    ConnectionId
}

id! {
    /// A model as its provider names it, aliases already resolved.
    ModelId
}

/// One place a request can go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Target {
    /// Whose API.
    pub provider: ProviderId,
    /// With which credential.
    pub connection: ConnectionId,
    /// Which model.
    pub model: ModelId,
}

impl Target {
    /// A target from its three names.
    pub fn new(
        provider: impl Into<Arc<str>>,
        connection: impl Into<Arc<str>>,
        model: impl Into<Arc<str>>,
    ) -> Self {
        Target {
            provider: ProviderId::new(provider),
            connection: ConnectionId::new(connection),
            model: ModelId::new(model),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.provider, self.connection, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_as_its_three_names() {
        let target = Target::new("openai", "acc-1", "gpt-4o");
        assert_eq!(target.to_string(), "openai/acc-1/gpt-4o");
        let json = serde_json::to_string(&target).unwrap();
        assert_eq!(json, r#"{"provider":"openai","connection":"acc-1","model":"gpt-4o"}"#);
        assert_eq!(serde_json::from_str::<Target>(&json).unwrap(), target);
    }
}
