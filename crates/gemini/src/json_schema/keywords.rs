//! The keywords that are known: which value each takes, and in which versions of JSON Schema it has the meaning that it has here.

use serde_json::Value;

/// A version of JSON Schema, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaDialect {
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft2019,
    /// Draft 2020-12.
    Draft2020,
}

impl SchemaDialect {
    /// The version that `$schema` names.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let path = uri
            .strip_prefix("https://")
            .or(uri.strip_prefix("http://"))?;
        match path.trim_end_matches('#') {
            "json-schema.org/draft-07/schema" => Some(Self::Draft7),
            "json-schema.org/draft/2019-09/schema" => Some(Self::Draft2019),
            "json-schema.org/draft/2020-12/schema" => Some(Self::Draft2020),
            _ => None,
        }
    }

    /// Whether the keyword is one of this version.
    pub(super) fn has_keyword(self, keyword: &str) -> bool {
        match keyword {
            "prefixItems" => self >= Self::Draft2020,
            "dependentRequired" | "dependentSchemas" | "minContains" | "maxContains" => {
                self >= Self::Draft2019
            }
            // OpenAPI's, which Gemini's tools use.
            "nullable" => false,
            _ => true,
        }
    }
}

/// The value that a keyword takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordForm {
    /// Any value: an annotation, or a value to compare with.
    Any,
    /// Text: an annotation.
    Text,
    /// `true` or `false`.
    Flag,
    /// The name of a type, or a list of such names.
    Types,
    /// Any list.
    List,
    /// A list of different names.
    Names,
    /// A list of names for each member.
    NamesByMember,
    /// A whole number from 0.
    Count,
    /// A number.
    Number,
    /// A number above 0.
    PositiveNumber,
    /// A regular expression.
    Pattern,
    /// A reference.
    Reference,
    /// A version of JSON Schema.
    Dialect,
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A schema for each member.
    SchemaByMember,
    /// A schema for each pattern.
    SchemaByPattern,
}

/// The form of a keyword's value; none if the keyword is not known.
pub(super) fn keyword_form(keyword: &str) -> Option<KeywordForm> {
    Some(match keyword {
        "const" | "default" => KeywordForm::Any,
        "$id" | "$comment" | "title" | "description" | "format" | "contentEncoding"
        | "contentMediaType" => KeywordForm::Text,
        "uniqueItems" | "nullable" | "deprecated" | "readOnly" | "writeOnly" => KeywordForm::Flag,
        "type" => KeywordForm::Types,
        "enum" | "examples" => KeywordForm::List,
        "required" => KeywordForm::Names,
        "dependentRequired" => KeywordForm::NamesByMember,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordForm::Count,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => KeywordForm::Number,
        "multipleOf" => KeywordForm::PositiveNumber,
        "pattern" => KeywordForm::Pattern,
        "$ref" => KeywordForm::Reference,
        "$schema" => KeywordForm::Dialect,
        "items"
        | "additionalProperties"
        | "propertyNames"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else" => KeywordForm::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => KeywordForm::Schemas,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => KeywordForm::SchemaByMember,
        "patternProperties" => KeywordForm::SchemaByPattern,
        _ => return None,
    })
}

/// Whether a keyword says nothing about values.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "default"
            | "$id"
            | "$schema"
            | "$comment"
            | "title"
            | "description"
            | "format"
            | "contentEncoding"
            | "contentMediaType"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "examples"
            | "$defs"
            | "definitions"
    )
}

/// Whether the schemas of a keyword are about the same value as the schema that they are part of.
pub(super) fn applies_in_place(keyword: &str) -> bool {
    matches!(
        keyword,
        "anyOf" | "oneOf" | "allOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
    )
}

impl KeywordForm {
    /// The schemas within a keyword's value, each with its place there.
    pub(super) fn inner_schemas(self, value: &Value) -> Vec<(String, &Value)> {
        match (self, value) {
            // The list form of `items` is read, so that its schemas are found.
            (Self::Schema | Self::Schemas, Value::Array(list)) => {
                let numbered = list.iter().enumerate();
                numbered.map(|(at, it)| (format!("/{at}"), it)).collect()
            }
            (Self::Schema, one) => vec![(String::new(), one)],
            (Self::SchemaByMember | Self::SchemaByPattern, Value::Object(members)) => {
                let named = members.iter();
                named
                    .map(|(name, it)| (format!("/{}", escaped_part(name)), it))
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A name as a part of a JSON pointer.
pub(super) fn escaped_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
