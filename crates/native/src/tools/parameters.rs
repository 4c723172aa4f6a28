//! Whether arguments fit a tool's declaration, in the sentences of Ajv, of which only the first is told.

use serde_json::{Map, Value};

/// Checks arguments against a declaration of type `object`.
pub(super) fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    object(schema, arguments, "params")
}

fn object(schema: &Value, value: &Map<String, Value>, at: &str) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    for name in names {
        if !value.contains_key(name) {
            return Err(format!("{at} must have required property '{name}'"));
        }
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        let known = schema.get("properties").and_then(Value::as_object);
        if value
            .keys()
            .any(|name| !known.is_some_and(|known| known.contains_key(name)))
        {
            return Err(format!("{at} must NOT have additional properties"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if let Some(value) = value.get(name) {
            property(schema, value, &format!("{at}/{name}"))?;
        }
    }
    Ok(())
}

fn property(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !is_kind(kind, value) {
        return Err(format!("{at} must be {kind}"));
    }
    if let Some(least) = schema.get("minimum").and_then(Value::as_f64)
        && value.as_f64().is_some_and(|number| number < least)
    {
        return Err(format!("{at} must be >= {least}"));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Err(format!("{at} must be equal to one of the allowed values"));
    }
    match value {
        Value::Array(items) => items.iter().enumerate().try_for_each(|(place, item)| {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            property(schema, item, &format!("{at}/{place}"))
        }),
        Value::Object(inner) => object(schema, inner, at),
        _ => Ok(()),
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}
