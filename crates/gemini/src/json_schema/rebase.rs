//! A schema as a part of another document.

use serde_json::Value;

/// The same schema for a place at `pointer` of another document: its references lead to its own parts again.
///
/// ```
/// use lapidary_gemini::json_schema::rebased;
/// use serde_json::json;
/// let schema = json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}});
/// let part = rebased(&schema, "/properties/result");
/// assert_eq!(part["items"]["$ref"], "#/properties/result/$defs/a");
/// ```
pub fn rebased(schema: &Value, pointer: &str) -> Value {
    let mut part = schema.clone();
    let mut waiting = vec![&mut part];
    while let Some(schema) = waiting.pop() {
        let Some(members) = schema.as_object_mut() else {
            continue;
        };
        members.remove("$schema"); // only a whole document has one
        members.remove("$id");
        for (keyword, value) in members.iter_mut() {
            match (super::keywords::keyword_form(keyword), value) {
                (Some(super::keywords::KeywordForm::Reference), Value::String(target)) => {
                    if let Some(inside) = target.strip_prefix('#') {
                        *target = format!("#{pointer}{inside}");
                    }
                }
                (Some(form), value) => waiting.extend(form.schemas_mut(value)),
                (None, _) => {}
            }
        }
    }
    part
}

impl super::keywords::KeywordForm {
    fn schemas_mut(self, value: &mut Value) -> Vec<&mut Value> {
        match (self, value) {
            (Self::Schema | Self::Schemas, Value::Array(list)) => list.iter_mut().collect(),
            (Self::Schema, one) => vec![one],
            (Self::SchemaByMember | Self::SchemaByPattern, Value::Object(members)) => {
                members.values_mut().collect()
            }
            _ => Vec::new(),
        }
    }
}
