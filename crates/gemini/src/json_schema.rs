//! JSON Schema: the one checker, for the inputs and results of agents, the arguments of tools and the answers of any agent.
//!
//! It speaks in Ajv's sentences, because Gemini CLI answers a model with them: `params/report must have required property 'x'`.
//! [`check`] does as Ajv in Gemini CLI: keywords in Ajv's order, the first error ends the check, unknown keywords are ignored.
//! [`JsonSchema`] is for schemas that a user wrote and relies on: [`JsonSchema::parse`] refuses every schema that could not be checked
//! exactly, and [`JsonSchema::violations`] finds every violation.
//!
//! Nothing is fetched: references stay within the document. Time and memory are bounded for every schema and value.

mod assertions;
mod audit;
mod equality;
mod evaluation;
mod keywords;
mod number;
mod rebase;
mod schema_error;
mod strict_value;

use std::collections::BTreeSet;

use serde_json::Value;

pub use rebase::rebased;
pub use schema_error::SchemaError;

use evaluation::SchemaEvaluation;

/// How deep schemas may nest. A deeper one is refused.
const DEEPEST_SCHEMA: usize = 128;

/// The largest schema that is read, in bytes. Agents get it with every prompt.
pub const LARGEST_SCHEMA: usize = 256 * 1024;

/// How many violations of a value are reported. A model that repairs its answer needs a few.
const MOST_VIOLATIONS: usize = 20;

/// A value that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// Where: a JSON pointer into the value, empty for the whole value.
    pub path: String,
    /// Ajv's sentence, without its subject.
    pub message: String,
}

/// Checks a value as Ajv does.
///
/// # Errors
/// The violations, of which there is more than one only below `anyOf` and `oneOf`.
///
/// ```
/// use lapidary_gemini::json_schema::{check, sentence};
/// use serde_json::json;
/// let schema = json!({"type": "object", "required": ["result"]});
/// let violations = check(&schema, &json!({})).unwrap_err();
/// assert_eq!(sentence("params", &violations), "params must have required property 'result'");
/// ```
pub fn check(schema: &Value, value: &Value) -> Result<(), Vec<SchemaViolation>> {
    match SchemaEvaluation::first_only(schema).run(value) {
        none if none.is_empty() => Ok(()),
        violations => Err(violations),
    }
}

/// All violations in one line, with `subject` for the whole value.
pub fn sentence(subject: &str, violations: &[SchemaViolation]) -> String {
    let one = |it: &SchemaViolation| format!("{subject}{} {}", it.path, it.message);
    let all: Vec<_> = violations.iter().map(one).collect();
    all.join(", ")
}

/// The keywords of a schema that [`check`] does not know, sorted. Annotations such as `description` are known.
pub fn unknown_keywords(schema: &Value) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    let mut waiting = vec![schema];
    while let Some(schema) = waiting.pop() {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match keywords::keyword_form(keyword) {
                Some(form) => {
                    waiting.extend(form.inner_schemas(value).into_iter().map(|(_, it)| it));
                }
                None => {
                    unknown.insert(keyword.clone());
                }
            }
        }
    }
    unknown
}

/// A schema that can be checked exactly: every keyword is known and valid, every reference leads to a schema of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonSchema {
    document: Value,
}

impl JsonSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The first reason why values could not be checked against it exactly.
    ///
    /// ```
    /// use lapidary_gemini::json_schema::JsonSchema;
    /// let schema = JsonSchema::parse(r#"{"type": "object", "required": ["title"]}"#).unwrap();
    /// assert!(schema.violations(r#"{"title": "x"}"#).is_empty());
    /// assert_eq!(schema.violations("{}")[0].message, "must have required property 'title'");
    /// let error = JsonSchema::parse(r#"{"properties": {"a": {"unevaluatedItems": false}}}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "`/properties/a` has the keyword `unevaluatedItems`, which is not supported");
    /// ```
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        if text.len() > LARGEST_SCHEMA {
            return Err(SchemaError::TooLarge {
                most: LARGEST_SCHEMA,
            });
        }
        let document = strict_value::parse(text).map_err(not_json)?;
        Self::from_value(document)
    }

    /// A schema that is read already.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_value(document: Value) -> Result<Self, SchemaError> {
        audit::audit_document(&document)?;
        Ok(Self { document })
    }

    /// The schema as it was written.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The violations of a value in JSON text, none if it fits. Text that is not exactly one JSON value, or has a key twice, violates
    /// every schema.
    pub fn violations(&self, text: &str) -> Vec<SchemaViolation> {
        match strict_value::parse(text) {
            Ok(value) => {
                SchemaEvaluation::complete_up_to(&self.document, MOST_VIOLATIONS).run(&value)
            }
            Err(reason) => vec![SchemaViolation {
                path: String::new(),
                message: format!("cannot be checked: {reason}"),
            }],
        }
    }
}

fn not_json(reason: String) -> SchemaError {
    if reason.starts_with("recursion limit exceeded") {
        SchemaError::TooDeep {
            most: DEEPEST_SCHEMA,
        }
    } else {
        SchemaError::NotJson(reason)
    }
}
