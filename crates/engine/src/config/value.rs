//! A value as it was written, in TOML or in JSON.
//!
//! Messages name types and values as Python does, because the specification of the configuration is written in it and programs
//! that talk to us compare its messages.

use std::fmt::{self, Write as _};

use toml::de::DeValue;

/// How much of a value a message repeats.
const SHOWN: usize = 200;

/// A value of a configuration.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConfigValue {
    /// Nothing, which JSON can say and TOML cannot. As good as absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<ConfigValue>),
    /// A table. No key takes one, so its contents are of no interest.
    Table,
    /// A date or a time. No key takes one.
    DateTime,
}

impl ConfigValue {
    /// The name of its type in Python.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Table => "dict",
            Self::DateTime => "datetime",
        }
    }

    /// The value as Python would show it, cut if it is long.
    pub(crate) fn python_repr(&self) -> String {
        let whole = self.to_string();
        match whole.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &whole[..end]),
            None => whole,
        }
    }

    pub(super) fn from_toml(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Str(text.clone().into_owned()),
            DeValue::Boolean(value) => Self::Bool(*value),
            DeValue::Integer(digits) => whole_or_float(digits.as_str(), digits.radix()),
            DeValue::Float(digits) => Self::Float(digits.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Datetime(_) => Self::DateTime,
            DeValue::Table(_) => Self::Table,
            DeValue::Array(items) => items
                .iter()
                .map(|item| Self::from_toml(item.get_ref()))
                .collect(),
        }
    }
}

/// A whole number, or a float where it does not fit.
fn whole_or_float(digits: &str, radix: u32) -> ConfigValue {
    match i64::from_str_radix(digits, radix) {
        Ok(number) => ConfigValue::Int(number),
        Err(_) => ConfigValue::Float(digits.parse().unwrap_or(f64::INFINITY)),
    }
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) if number.is_nan() => f.write_str("nan"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Str(text) => write_quoted(f, text),
            Self::List(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            Self::Table => f.write_str("{…}"),
            Self::DateTime => f.write_str("a date"),
        }
    }
}

/// In single quotes, unless these are inside and double ones are not.
fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    f.write_char(quote)?;
    for letter in text.chars() {
        match letter {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            letter if letter == quote => write!(f, "\\{letter}")?,
            letter if letter.is_control() => write!(f, "\\x{:02x}", u32::from(letter))?,
            letter => f.write_char(letter)?,
        }
    }
    f.write_char(quote)
}

impl From<&serde_json::Value> for ConfigValue {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Float(number.as_f64().unwrap_or(f64::INFINITY)),
            },
            serde_json::Value::String(text) => Self::Str(text.clone()),
            serde_json::Value::Array(items) => items.iter().map(Self::from).collect(),
            serde_json::Value::Object(_) => Self::Table,
        }
    }
}

impl<T: Into<ConfigValue>> FromIterator<T> for ConfigValue {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<ConfigValue>> From<Vec<T>> for ConfigValue {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<ConfigValue>, const N: usize> From<[T; N]> for ConfigValue {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl From<bool> for ConfigValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for ConfigValue {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i64> for ConfigValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for ConfigValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for ConfigValue {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for ConfigValue {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}
