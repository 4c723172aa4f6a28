//! One object from several files, by the rule of each key.

use std::collections::HashSet;

use lapidary_wire::gemini::hooks::is_truthy;
use serde_json::{Map, Value};

use super::schema::{self, MergeStrategy};

/// The merged settings: the contents of the files, the weakest first, over the defaults.
pub(crate) fn merge_files<'a>(
    files: impl Iterator<Item = &'a Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = schema::default_settings();
    for file in files {
        into(&mut merged, file, &mut Vec::new());
    }
    // Only the account's administrator decides these, and no file.
    if let Some(Value::Object(admin)) = schema::default_settings().remove("admin") {
        merged.insert("admin".to_owned(), Value::Object(admin));
    }
    merged
}

fn into<'a>(
    target: &mut Map<String, Value>,
    source: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
) {
    for (key, value) in source {
        // In JavaScript they would change all objects.
        if matches!(key.as_str(), "__proto__" | "constructor" | "prototype") {
            continue;
        }
        path.push(key);
        let weaker = target.get_mut(key).map(Value::take);
        target.insert(key.clone(), merged_value(weaker, value, path));
        path.pop();
    }
}

fn merged_value<'a>(weaker: Option<Value>, value: &'a Value, path: &mut Vec<&'a str>) -> Value {
    let strategy = schema::merge_strategy(path);
    match (weaker, value, strategy) {
        (Some(weaker), value, Some(MergeStrategy::ShallowMerge))
            if is_truthy(&weaker) && is_truthy(value) =>
        {
            let mut object = spread_keys(weaker);
            object.extend(spread_keys(value.clone()));
            Value::Object(object)
        }
        (Some(Value::Array(mut list)), value, Some(MergeStrategy::Concat)) => {
            list.extend(as_list(value));
            Value::Array(list)
        }
        (Some(Value::Array(mut list)), value, Some(MergeStrategy::Union)) => {
            list.extend(as_list(value));
            Value::Array(each_once(list))
        }
        (Some(Value::Object(mut object)), Value::Object(value), _) => {
            into(&mut object, value, path);
            Value::Object(object)
        }
        (_, Value::Object(value), _) => {
            let mut object = Map::new();
            into(&mut object, value, path);
            Value::Object(object)
        }
        (_, value, _) => value.clone(),
    }
}

fn as_list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.clone(),
        single => vec![single.clone()],
    }
}

fn each_once(list: Vec<Value>) -> Vec<Value> {
    let mut known = HashSet::new();
    let is_new = |item: &Value| value_identity(item).is_none_or(|identity| known.insert(identity));
    list.into_iter().filter(is_new).collect()
}

/// What values that are the same in JavaScript share: `1` and `1.0` are one number. Two objects or lists are never the same.
fn value_identity(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) | Value::Array(_) => None,
        // A number that is added to nothing has no sign of zero.
        Value::Number(number) => number.as_f64().map(|number| (number + 0.0).to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) => Some(value.to_string()),
    }
}

/// A list has its positions for keys.
pub(super) fn spread_keys(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Array(list) => {
            let pairs = list.into_iter().enumerate();
            pairs.map(|(at, item)| (at.to_string(), item)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Map::new(),
    }
}
