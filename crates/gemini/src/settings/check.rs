//! Whether a file of settings is what Gemini CLI expects, key by key.
//!
//! A file that is all right is also read more kindly: the text `"true"` where true is meant, `"12"` where a number is. One
//! mistake, and the whole file is taken as it is written.

use serde_json::{Map, Number, Value};

use super::edit::value_kind;
use super::schema::{self, KeyShape, ValueKind};

/// A value at a path of keys that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsMisfit {
    pub(super) keys: Vec<String>,
    pub(super) sentence: String,
}

/// Checks an object whose variables are filled in. It is changed only if all of it fits. Messages show the value as `written`:
/// the value of a variable may be a secret.
pub(super) fn check(
    object: &mut Map<String, Value>,
    written: &Map<String, Value>,
) -> Vec<SettingsMisfit> {
    let mut check = SettingsCheck {
        written,
        path: Vec::new(),
        misfits: Vec::new(),
    };
    let fitted = check.check_object(schema::root_shape(), object);
    if check.misfits.is_empty() {
        *object = fitted;
    }
    check.misfits
}

struct SettingsCheck<'a> {
    written: &'a Map<String, Value>,
    path: Vec<String>,
    misfits: Vec<SettingsMisfit>,
}

impl SettingsCheck<'_> {
    /// The value as it is meant. Values that do not fit are reported.
    fn check_value(&mut self, shape: &KeyShape, value: &Value) -> Value {
        let shape = shape.resolved_shape();
        match (shape.kind, value) {
            (ValueKind::Any, _)
            | (ValueKind::Boolean, Value::Bool(_))
            | (ValueKind::Number, Value::Number(_))
            | (ValueKind::String, Value::String(_)) => value.clone(),
            (ValueKind::Boolean, Value::String(text)) => {
                self.or_misfit(parse_boolean(text), shape, value)
            }
            (ValueKind::Number, Value::String(text)) => {
                self.or_misfit(parse_number(text), shape, value)
            }
            (ValueKind::Enum, Value::String(word)) if shape.options.contains(word) => value.clone(),
            (ValueKind::List, Value::Array(list)) => self.check_list(shape, list),
            (ValueKind::Object, Value::Object(object)) => {
                Value::Object(self.check_object(shape, object))
            }
            (ValueKind::OneOf, _) => self.one_of(shape, value),
            _ => self.or_misfit(None, shape, value),
        }
    }

    fn or_misfit(&mut self, found: Option<Value>, shape: &KeyShape, value: &Value) -> Value {
        found.unwrap_or_else(|| {
            let found = self
                .as_written()
                .map_or_else(|| value_kind(value).to_owned(), short_value);
            self.add_misfit(format!("is {found}, not {}", expected_words(shape)));
            value.clone()
        })
    }

    fn check_list(&mut self, shape: &KeyShape, list: &[Value]) -> Value {
        let Some(items) = &shape.items else {
            return Value::Array(list.to_vec());
        };
        let checked = list.iter().enumerate();
        checked
            .map(|(at, item)| self.check_below(at.to_string(), items, item))
            .collect()
    }

    fn check_object(
        &mut self,
        shape: &KeyShape,
        object: &Map<String, Value>,
    ) -> Map<String, Value> {
        for key in &shape.required {
            if !object.contains_key(key) {
                self.add_misfit(format!("has no `{key}`"));
            }
        }
        let mut checked = Map::new();
        for (key, value) in object {
            let known = shape.keys.as_ref().and_then(|keys| keys.get(key));
            let fitted = match known.or(shape.others.as_deref()) {
                Some(shape) => self.check_below(key.clone(), shape, value),
                None if shape.strict => {
                    self.path.push(key.clone());
                    self.add_misfit("is not a key that Gemini CLI knows".to_owned());
                    self.path.pop();
                    value.clone()
                }
                None => value.clone(),
            };
            checked.insert(key.clone(), fitted);
        }
        checked
    }

    fn one_of(&mut self, shape: &KeyShape, value: &Value) -> Value {
        let mut first = Vec::new();
        for choice in &shape.of {
            let mut attempt = Self {
                written: self.written,
                path: self.path.clone(),
                misfits: Vec::new(),
            };
            let fitted = attempt.check_value(choice, value);
            if attempt.misfits.is_empty() {
                return fitted;
            }
            // A problem inside an object is more telling than the remark that it fits no other shape.
            let is_deeper = |found: &SettingsMisfit| found.keys.len() > self.path.len();
            if attempt.misfits.iter().any(is_deeper) {
                first = attempt.misfits;
            }
        }
        if first.is_empty() {
            return self.or_misfit(None, shape, value);
        }
        self.misfits.append(&mut first);
        value.clone()
    }

    fn check_below(&mut self, key: String, shape: &KeyShape, value: &Value) -> Value {
        self.path.push(key);
        let fitted = self.check_value(shape, value);
        self.path.pop();
        fitted
    }

    /// The file's value at the current path.
    fn as_written(&self) -> Option<&Value> {
        let (first, rest) = self.path.split_first()?;
        let start = self.written.get(first)?;
        rest.iter().try_fold(start, |value, key| match value {
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        })
    }

    fn add_misfit(&mut self, sentence: String) {
        self.misfits.push(SettingsMisfit {
            keys: self.path.clone(),
            sentence,
        });
    }
}

fn parse_boolean(text: &str) -> Option<Value> {
    match text.to_lowercase().as_str() {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        _ => None,
    }
}

/// A text that JavaScript takes for a number.
fn parse_number(text: &str) -> Option<Value> {
    let text = text.trim();
    let based = [("0x", 16), ("0o", 8), ("0b", 2)];
    let based = based.into_iter().find_map(|(prefix, base)| {
        let digits = text.to_ascii_lowercase();
        let digits = digits.strip_prefix(prefix)?;
        let is_sound = digits.chars().all(|digit| digit.is_digit(base));
        u64::from_str_radix(digits, base).ok().filter(|_| is_sound)
    });
    if let Some(number) = based {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let is_decimal = text
        .chars()
        .all(|letter| matches!(letter, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
    let number = text.parse::<f64>().ok().filter(|_| is_decimal)?;
    Number::from_f64(number).map(Value::Number)
}

/// A value as one names it: short ones as they are.
fn short_value(value: &Value) -> String {
    const SHORT: usize = 40;
    match value {
        Value::Array(_) | Value::Object(_) => value_kind(value).to_owned(),
        single => {
            let text = single.to_string();
            let is_short = text.chars().count() <= SHORT;
            let text = if is_short {
                text
            } else {
                value_kind(single).to_owned()
            };
            if is_short { format!("`{text}`") } else { text }
        }
    }
}

fn expected_words(shape: &KeyShape) -> String {
    let shape = shape.resolved_shape();
    match shape.kind {
        ValueKind::Boolean => "true or false".to_owned(),
        ValueKind::Number => "a number".to_owned(),
        ValueKind::String => "a text".to_owned(),
        ValueKind::Enum => format!("one of `{}`", shape.options.join("`, `")),
        ValueKind::List => "a list".to_owned(),
        ValueKind::Object => "an object".to_owned(),
        ValueKind::Any | ValueKind::Shape => "a value".to_owned(),
        ValueKind::OneOf => {
            let choices: Vec<_> = shape.of.iter().map(expected_words).collect();
            choices.join(" or ")
        }
    }
}
