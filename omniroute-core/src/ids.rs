//! Names of things, as types: a session cannot be passed where a tenant is meant.

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
    };
}

id! {
    /// One conversation of one agent.
    SessionId
}

id! {
    /// The tenant a request belongs to. Everything remembered or stored is keyed by it.
    Principal
}

impl Default for Principal {
    /// `"embedded"`: the one tenant of a library that is linked into a program.
    fn default() -> Self {
        Principal::new("embedded")
    }
}
