//! Why a schema is refused.

/// Why a schema is refused. Each names the place by its JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is too long.
    #[error("it has more than {} KiB", most / 1024)]
    TooLarge {
        /// The limit, in bytes.
        most: usize,
    },
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It nests too deeply.
    #[error("it is nested more than {most} levels deep")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// A schema is neither an object nor a boolean.
    #[error(
        "{} is not a schema: a schema is an object, `true` or `false`",
        pointer_words(pointer)
    )]
    NotASchema {
        /// Where.
        pointer: String,
    },
    /// `$schema` names a version that is not supported.
    #[error(
        "{} names `{uri}`, a version of JSON Schema that is not supported",
        pointer_words(pointer)
    )]
    Dialect {
        /// Where.
        pointer: String,
        /// The version.
        uri: String,
    },
    /// A keyword is not known.
    #[error(
        "{} has the keyword `{keyword}`, which is not supported",
        pointer_words(pointer)
    )]
    UnknownKeyword {
        /// Where.
        pointer: String,
        /// The keyword.
        keyword: String,
    },
    /// The value of a keyword is none that it can have.
    #[error("{} is not a valid `{keyword}`: it must be {expected}", pointer_words(&format!("{pointer}/{keyword}")))]
    Value {
        /// The schema that has the keyword.
        pointer: String,
        /// The keyword.
        keyword: String,
        /// The values that the keyword takes.
        expected: &'static str,
    },
    /// A regular expression cannot be used.
    #[error("{} has the pattern `{pattern}`: {reason}", pointer_words(pointer))]
    Pattern {
        /// Where.
        pointer: String,
        /// The pattern.
        pattern: String,
        /// The mistake in it.
        reason: String,
    },
    /// A reference leaves the document.
    #[error(
        "{} refers to `{target}`, outside the document",
        pointer_words(pointer)
    )]
    Outside {
        /// Where.
        pointer: String,
        /// The reference.
        target: String,
    },
    /// A reference leads to no schema.
    #[error(
        "{} refers to `{target}`, where there is no schema",
        pointer_words(pointer)
    )]
    NoTarget {
        /// Where.
        pointer: String,
        /// The reference.
        target: String,
    },
    /// A schema refers to itself for one and the same value.
    #[error("{} refers to itself without end", pointer_words(pointer))]
    Endless {
        /// Where.
        pointer: String,
    },
    /// Draft 7 ignores a keyword beside `$ref`.
    #[error(
        "{} has `{keyword}` beside `$ref`, where draft 7 ignores it",
        pointer_words(pointer)
    )]
    BesideReference {
        /// Where.
        pointer: String,
        /// The keyword.
        keyword: String,
    },
    /// An `$id` below the root would change the meaning of references.
    #[error(
        "{} has an `$id`, which only the whole document can have",
        pointer_words(pointer)
    )]
    NestedId {
        /// Where.
        pointer: String,
    },
}

/// A place in words. The empty pointer is the whole schema.
fn pointer_words(pointer: &str) -> String {
    match pointer {
        "" => "the schema".to_owned(),
        pointer => format!("`{pointer}`"),
    }
}

/// Misspelt and foreign keywords, and the keyword that does the same here.
const INSTEAD: [(&str, &str); 9] = [
    (
        "nullable",
        "use a list of types: `\"type\": [\"string\", \"null\"]`",
    ),
    (
        "additionalItems",
        "use `prefixItems` and `items` of draft 2020-12",
    ),
    (
        "dependencies",
        "use `dependentRequired` or `dependentSchemas`",
    ),
    (
        "unevaluatedProperties",
        "list all properties in one place and use `additionalProperties`",
    ),
    ("unevaluatedItems", "use `prefixItems` and `items`"),
    ("$dynamicRef", "use `$ref`"),
    ("$recursiveRef", "use `$ref`"),
    (
        "$anchor",
        "refer to the place by its pointer, such as `#/$defs/name`",
    ),
    ("id", "use `$id`"),
];

impl SchemaError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownKeyword { keyword, .. } => {
                let found = INSTEAD.iter().find(|(foreign, _)| foreign == keyword);
                found.map_or(
                    "it would not be checked, so it is refused: remove it, or say the same with other keywords",
                    |(_, hint)| hint,
                )
            }
            Self::Outside { .. } => {
                "nothing is fetched: copy the schema into `$defs` and refer to it as `#/$defs/name`"
            }
            Self::Dialect { .. } => {
                "use `https://json-schema.org/draft/2020-12/schema`, 2019-09 or draft-07, or leave `$schema` out"
            }
            Self::NoTarget { .. } => "references are pointers, such as `#/$defs/name`",
            Self::Endless { .. } => {
                "put a keyword such as `properties` or `items` between the schema and its reference"
            }
            Self::BesideReference { .. } => "put both into `allOf`, or use draft 2020-12",
            Self::TooLarge { .. } | Self::TooDeep { .. } => {
                "the agent gets the whole schema: leave out the parts that it does not need"
            }
            Self::NotJson(_)
            | Self::NotASchema { .. }
            | Self::Value { .. }
            | Self::Pattern { .. }
            | Self::NestedId { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
