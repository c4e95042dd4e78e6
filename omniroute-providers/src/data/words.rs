//! Closed sets of words: an enum, its spelling in the files, its number in the packed form.

/// An enum whose values have a spelling and a small number.
pub(crate) trait Word: Copy + Sized + 'static {
    /// All values; the position is the number.
    const WORDS: &'static [Self];

    /// The number.
    fn code(self) -> u8;
}

/// Declares an enum of words. The first value is the default.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name { $(#[doc = concat!("`", $word, "`")] $(#[doc = ""] #[$about])* $variant,)+ }

        impl $name {
            /// All values, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The spelling in the catalogue files.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The value with this spelling.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::ALL[0]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(from)?;
                $name::from_word(&word).ok_or_else(|| {
                    serde::de::Error::custom(format_args!("{:?} is not known as {}", word, stringify!($name)))
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }
        }

        impl $crate::data::words::Word for $name {
            const WORDS: &'static [Self] = $name::ALL;

            fn code(self) -> u8 {
                self as u8
            }
        }
    };
}

pub(crate) use words;
