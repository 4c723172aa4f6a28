//! One object from several files, by the rule of each key.

use serde_json::{Map, Value};

use super::schema::{self, Strategy};

/// The settings that hold: what the files say, the weakest first, over the defaults.
pub(crate) fn merge<'a>(files: impl Iterator<Item = &'a Map<String, Value>>) -> Map<String, Value> {
    let mut merged = schema::defaults();
    for file in files {
        into(&mut merged, file, &mut Vec::new());
    }
    // Only the account's administrator decides these, and no file.
    if let Some(Value::Object(admin)) = schema::defaults().remove("admin") {
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
        target.insert(key.clone(), merged(weaker, value, path));
        path.pop();
    }
}

fn merged<'a>(weaker: Option<Value>, value: &'a Value, path: &mut Vec<&'a str>) -> Value {
    let strategy = schema::strategy(path);
    match (weaker, value, strategy) {
        (Some(weaker), value, Some(Strategy::ShallowMerge))
            if is_truthy(&weaker) && is_truthy(value) =>
        {
            let mut object = spread(weaker);
            object.extend(spread(value.clone()));
            Value::Object(object)
        }
        (Some(Value::Array(mut list)), value, Some(Strategy::Concat)) => {
            list.extend(as_list(value));
            Value::Array(list)
        }
        (Some(Value::Array(mut list)), value, Some(Strategy::Union)) => {
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

/// Two objects or lists are never the same in JavaScript.
fn each_once(list: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::with_capacity(list.len());
    for item in list {
        if item.is_object() || item.is_array() || !kept.iter().any(|known| is_same(known, &item)) {
            kept.push(item);
        }
    }
    kept
}

/// `1` and `1.0` are one number in JavaScript.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

pub(crate) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A list has its positions for keys.
pub(super) fn spread(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Array(list) => {
            let pairs = list.into_iter().enumerate();
            pairs.map(|(at, item)| (at.to_string(), item)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Map::new(),
    }
}
