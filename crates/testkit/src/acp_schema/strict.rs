//! The schema, without its tolerance.
//!
//! It allows members that it does not know, which is right for who reads: tomorrow's agents know more. Who writes must not invent any,
//! says the protocol, and a misspelled one would be read as absent.

use serde_json::Value;

/// Forbids unknown members of everything that has known ones.
pub(super) fn tighten_schema(schema: &mut Value) {
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        for (name, definition) in definitions {
            tighten_inside(definition);
            if definition.get("x-method").is_some() || name == "Error" {
                forbid_unknown(definition);
            }
        }
    }
}

/// Shapes are composed of several, so a component must not forbid unknown members: only at the place of a value, in a member or
/// in a list, is the whole shape known.
fn tighten_inside(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(members)) => {
                        members.values_mut().for_each(tighten_place);
                    }
                    ("items" | "additionalProperties", value) => tighten_place(value),
                    ("default" | "const" | "enum", _) => {}
                    (_, value) => tighten_inside(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(tighten_inside),
        _ => {}
    }
}

fn tighten_place(schema: &mut Value) {
    tighten_inside(schema);
    let is_anything = ["type", "$ref", "allOf", "anyOf", "oneOf"]
        .into_iter()
        .all(|keyword| schema.get(keyword).is_none());
    if !is_anything {
        forbid_unknown(schema);
    }
}

fn forbid_unknown(schema: &mut Value) {
    if let Some(keywords) = schema.as_object_mut() {
        keywords.insert("unevaluatedProperties".to_owned(), false.into());
    }
}
