//! The arguments of `submit_result`: the user's schema as it is, or as the schema of one argument.

use lapidary_gemini::json_schema::rebased;
use lapidary_json::SharedToken;
use lapidary_vocab::Json;
use lapidary_vocab::event::Provider;
use serde_json::{Value, json};

/// Keywords that APIs of models refuse at the root of a tool's schema. With them a schema becomes that of one argument.
const NOT_AT_ROOT: [&str; 9] = [
    "$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf",
];

/// The argument that has the result, where the schema cannot be that of all arguments.
const RESULT: &str = "result";

/// How a result stands in the arguments of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmissionForm {
    /// The arguments are the result.
    Arguments,
    /// One argument is the result: MCP has only objects as arguments, and a schema can ask for any value.
    OneArgument,
}

impl SubmissionForm {
    /// Gemini CLI (0.61) adds an argument `wait_for_previous` to every tool and passes it on: beside the argument `result` it is no
    /// part of the data.
    pub(super) fn new(schema: &Value, provider: &Provider) -> Self {
        if *provider == Provider::Gemini {
            return Self::OneArgument;
        }
        let is_object = schema["type"] == "object";
        let is_plain = NOT_AT_ROOT
            .iter()
            .all(|keyword| schema.get(keyword).is_none());
        if is_object && is_plain {
            Self::Arguments
        } else {
            Self::OneArgument
        }
    }

    /// The schema of the arguments. `$schema` and `$id` stay out: some clients try to load them.
    pub(super) fn input_schema(self, schema: &Value) -> Value {
        match self {
            Self::Arguments => rebased(schema, ""),
            Self::OneArgument => json!({
                "type": "object",
                "properties": { RESULT: rebased(schema, "/properties/result") },
                "required": [RESULT],
            }),
        }
    }

    /// The result in the arguments of a call, token for token. None if it is missing.
    pub(super) fn result_in(self, arguments: &Json) -> Option<Json> {
        match self {
            Self::Arguments => Some(arguments.clone()),
            Self::OneArgument => {
                let result = arguments.token().get(RESULT)?;
                Some(Json::from(SharedToken::from(result)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_the_arguments_and_any_other_value_is_one_of_them() {
        for (schema, expected) in [
            (json!({"type": "object"}), SubmissionForm::Arguments),
            (
                json!({"type": ["object", "null"]}),
                SubmissionForm::OneArgument,
            ),
            (json!({"type": "array"}), SubmissionForm::OneArgument),
            (
                json!({"type": "object", "anyOf": [{}]}),
                SubmissionForm::OneArgument,
            ),
            (json!(true), SubmissionForm::OneArgument),
            (json!({}), SubmissionForm::OneArgument),
        ] {
            let form = SubmissionForm::new(&schema, &Provider::Claude);
            assert_eq!(form, expected, "{schema}");
        }
        let object = json!({"type": "object"});
        let form = SubmissionForm::new(&object, &Provider::Gemini);
        assert_eq!(form, SubmissionForm::OneArgument);
        let arguments = r#"{"wait_for_previous": true, "result": {"n": 1}}"#;
        let arguments: Json = serde_json::from_str(arguments).unwrap();
        assert_eq!(form.result_in(&arguments).unwrap().as_str(), r#"{"n": 1}"#);
    }

    #[test]
    fn references_lead_to_the_same_parts_of_a_schema_that_became_an_argument() {
        let schema = json!({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}});
        let input = SubmissionForm::OneArgument.input_schema(&schema);
        assert_eq!(
            input["properties"]["result"]["items"]["$ref"],
            "#/properties/result/$defs/a"
        );
        let whole = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
        let input = SubmissionForm::Arguments.input_schema(&whole);
        assert_eq!(input["properties"]["a"]["$ref"], "#/$defs/a");
        assert!(input.get("$schema").is_none());
    }

    #[test]
    fn the_result_keeps_its_digits() {
        let arguments: Json =
            serde_json::from_str(r#"{"result": [9007199254740993, 1.10]}"#).unwrap();
        let result = SubmissionForm::OneArgument.result_in(&arguments).unwrap();
        assert_eq!(result.as_str(), "[9007199254740993, 1.10]");
        let empty = Json::empty_object();
        assert_eq!(SubmissionForm::OneArgument.result_in(&empty), None);
    }
}
