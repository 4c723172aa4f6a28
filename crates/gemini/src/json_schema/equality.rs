//! Equality of JSON values: `1` and `1.0` are equal, and the order of members does not matter.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde_json::Value;

use super::number::ExactDecimal;

/// Whether two values are equal.
pub(super) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ExactDecimal::new(a) == ExactDecimal::new(b)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let matches = |(key, value)| b.get(key).is_some_and(|other| is_equal(value, other));
            a.len() == b.len() && a.iter().all(matches)
        }
        _ => one == other,
    }
}

/// The places of two equal items, as Ajv finds them: from the end. Equal items have equal keys, so that long lists cost no quadratic
/// time.
pub(super) fn equal_items(items: &[Value]) -> Option<(usize, usize)> {
    let mut seen = HashMap::new();
    let mut found = None;
    for (place, item) in items.iter().enumerate() {
        let mut key = String::new();
        write_key(item, &mut key);
        if let Some(earlier) = seen.insert(key, place) {
            found = Some((earlier, place));
        }
    }
    found
}

/// A text that equal values have in common.
fn write_key(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => {
            let _ = write!(out, "{:?}", ExactDecimal::new(number));
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_key(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            out.push('{');
            for (name, member) in sorted {
                out.push_str(&Value::from(name.as_str()).to_string());
                write_key(member, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}
