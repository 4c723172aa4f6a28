//! Values against a JSON Schema, in Ajv's sentences.
//!
//! Gemini CLI answers a model with what Ajv says: `params/report must have required property 'x'`. Keywords are judged in Ajv's order,
//! and the first error ends the check, as Ajv does unless it is told otherwise. Keywords that are not known here are collected for the
//! caller, who decides whether a schema with them is acceptable.

mod keywords;

use std::collections::BTreeSet;

use serde_json::Value;

/// How deep values and schemas may nest. A deeper value does not fit.
const DEEPEST: usize = 128;

/// A value that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// Where: a JSON pointer into the value, empty for the whole value.
    pub path: String,
    /// Ajv's sentence, without its subject.
    pub message: String,
}

/// Checks a value.
///
/// # Errors
/// The violations, of which there is more than one only below `anyOf` and `oneOf`.
///
/// ```
/// use lapidary_native::schema::{check, sentence};
/// use serde_json::json;
/// let schema = json!({"type": "object", "required": ["result"]});
/// let violations = check(&schema, &json!({})).unwrap_err();
/// assert_eq!(sentence("params", &violations), "params must have required property 'result'");
/// ```
pub fn check(schema: &Value, value: &Value) -> Result<(), Vec<SchemaViolation>> {
    let check = keywords::Check::new(schema);
    check.value(schema, value, &mut String::new(), 0)
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
            match keywords::nesting(keyword) {
                Some(nesting) => waiting.extend(nesting.schemas(value)),
                None => {
                    unknown.insert(keyword.clone());
                }
            }
        }
    }
    unknown
}
