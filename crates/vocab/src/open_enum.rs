//! Enums that admit they do not know everything.

/// Declares an enum of known words plus `Other`, which keeps any word a newer version may send.
macro_rules! open_enum {
    (#[doc = $about:literal] pub enum $name:ident { $(#[doc = $meaning:literal] $variant:ident = $word:literal,)+ }) => {
        #[doc = $about]
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = $meaning] $variant,)+
            /// A word this version does not know. It is kept and written out as it came.
            Other(String),
        }

        impl $name {
            /// Every word this version knows, in the order of the documentation.
            pub const KNOWN: &'static [&'static str] = &[$($word),+];

            /// The word as it is written in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(|word| Self::from(word.as_str()))
            }
        }

        #[cfg(feature = "generate")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words = concat!($("\n- `", $word, "`:", $meaning),+);
                let about = concat!($about, " Open: readers must accept words that are not listed here.").trim();
                schemars::json_schema!({
                    "description": format!("{about}\n{words}"),
                    "anyOf": [{ "enum": Self::KNOWN }, { "type": "string" }],
                })
            }
        }
    };
}

pub(crate) use open_enum;
