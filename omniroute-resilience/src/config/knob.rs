//! How a number is written down once, with default, range and documentation, and checked by itself.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::span::Span;

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value} is not allowed: must be {allowed}")]
pub struct ConfigError {
    /// Where, for instance `classes.oauth.opens_at`.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What would do.
    pub allowed: String,
}

/// A value that knows whether it is allowed.
pub(crate) trait Knob {
    /// What is.
    type Allowed;
    /// Adds an error for everything that is not, with its place.
    fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>);
}

fn within<T: PartialOrd + Display>(
    value: &T,
    allowed: &RangeInclusive<T>,
    path: &str,
    errors: &mut Vec<ConfigError>,
) {
    if !allowed.contains(value) {
        errors.push(ConfigError {
            key: path.to_owned(),
            value: value.to_string(),
            allowed: format!("{} to {}", allowed.start(), allowed.end()),
        });
    }
}

macro_rules! number_knobs {
    ($($ty:ty),*) => {$(
        impl Knob for $ty {
            type Allowed = RangeInclusive<$ty>;
            fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>) {
                within(self, &allowed, path, errors);
            }
        }
        impl Knob for Option<$ty> {
            type Allowed = RangeInclusive<$ty>;
            fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>) {
                if let Some(value) = self {
                    within(value, &allowed, path, errors);
                }
            }
        }
    )*};
}
number_knobs!(u32, u64, Span);

impl Knob for bool {
    type Allowed = ();
    fn check(&self, (): (), _: &str, _: &mut Vec<ConfigError>) {}
}

macro_rules! knobs {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $default:expr, $allowed:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl Knob for $name {
            type Allowed = ();
            fn check(&self, (): (), path: &str, errors: &mut Vec<ConfigError>) {
                $(
                    let mut at = String::from(path);
                    if !at.is_empty() {
                        at.push('.');
                    }
                    at.push_str(stringify!($field));
                    self.$field.check($allowed, &at, errors);
                )*
            }
        }
    };
}

pub(crate) use knobs;
