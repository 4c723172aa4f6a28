//! The smallest value that a JSON schema accepts.
//!
//! Agents ask models for JSON on the side (which model suits this prompt? is this a loop?) and choke on prose. Any answer that
//! fits the schema lets them go on.

use serde_json::{Map, Value, json};

/// How many values an instance has at most. Arrays of arrays multiply, and a small schema can ask for more than memory holds;
/// further values become `null`, or are left out. (How deep a schema nests is bounded already, by the reader of JSON.)
const MOST_VALUES: u64 = 10_000;

/// An instance of the schema, which may be of JSON Schema's or of `OpenAPI`'s kind (types in capitals).
pub(super) fn schema_instance(schema: &Value) -> Value {
    instance_value(schema, &mut { MOST_VALUES })
}

fn instance_value(schema: &Value, left: &mut u64) -> Value {
    let Some(fewer) = left.checked_sub(1) else {
        return Value::Null;
    };
    *left = fewer;
    let first = |key: &str| schema.get(key)?.as_array()?.first();
    if let Some(given) = schema.get("const").or_else(|| schema.get("default")) {
        return given.clone();
    }
    if let Some(word) = first("enum") {
        return word.clone();
    }
    if let Some(choice) = ["anyOf", "oneOf", "allOf"].into_iter().find_map(first) {
        return instance_value(choice, left);
    }
    match type_name(schema).as_str() {
        "object" => instance_object(schema, left),
        "array" => instance_array(schema, left),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => false.into(),
        "null" => Value::Null,
        _ => "stand-in".into(),
    }
}

/// The type, the first that is not `null` if there are several.
fn type_name(schema: &Value) -> String {
    let name = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null")
        }
        _ => schema.get("properties").map(|_| "object"),
    };
    name.unwrap_or_default().to_lowercase()
}

/// The required members; all of them if the schema does not say.
fn instance_object(schema: &Value, left: &mut u64) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let names: Vec<&str> = match (required, properties) {
        (Some(required), _) => required.iter().filter_map(Value::as_str).collect(),
        (None, Some(properties)) => properties.keys().map(String::as_str).collect(),
        (None, None) => Vec::new(),
    };
    let mut member = |name: &str| match properties.and_then(|all| all.get(name)) {
        Some(schema) => instance_value(schema, left),
        None => Value::Null,
    };
    let members = names
        .into_iter()
        .map(|name| (name.to_owned(), member(name)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn instance_array(schema: &Value, left: &mut u64) -> Value {
    let wanted = schema.get("minItems").and_then(Value::as_u64);
    let items = schema.get("items").unwrap_or(&Value::Null);
    let item = |_| (*left > 0).then(|| instance_value(items, left));
    (0..wanted.unwrap_or_default()).map_while(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &Value) {
        assert_eq!(&schema_instance(schema), expected);
    }

    #[test]
    fn an_instance_has_what_the_schema_requires() {
        check(
            &json!({
                "type": "object",
                "properties": {
                    "reasoning": { "type": "string" },
                    "complexity_score": { "type": "integer", "minimum": 1, "maximum": 100 },
                    "aside": { "type": "string" },
                },
                "required": ["reasoning", "complexity_score"],
            }),
            &json!({ "reasoning": "stand-in", "complexity_score": 1 }),
        );
    }

    #[test]
    fn types_may_be_in_capitals_or_several() {
        check(
            &json!({ "type": "OBJECT", "properties": { "ok": { "type": "BOOLEAN" }, "by": { "type": ["null", "number"] } } }),
            &json!({ "ok": false, "by": 1 }),
        );
    }

    #[test]
    fn the_first_of_several_choices_is_taken() {
        check(
            &json!({ "anyOf": [{ "const": 7 }, { "type": "null" }] }),
            &json!(7),
        );
        check(&json!({ "enum": ["flash", "pro"] }), &json!("flash"));
    }

    #[test]
    fn arrays_are_as_long_as_they_must_be_and_never_huge() {
        check(
            &json!({ "type": "array", "items": { "type": "null" }, "minItems": 2 }),
            &json!([null, null]),
        );
        let million =
            |items: Value| json!({ "type": "array", "items": items, "minItems": 1_000_000 });
        let huge = schema_instance(&million(million(million(json!({})))));
        assert!(huge.to_string().len() < 200_000);
    }
}
