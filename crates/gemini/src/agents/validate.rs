//! Arguments of a call, checked against the inputs of a definition before any model is called.

use serde_json::Value;

use super::{AgentInputs, InputConfig, InputType};

/// An argument that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// It is missing.
    #[error("the input `{name}` is missing")]
    Missing {
        /// The input.
        name: String,
    },
    /// It is of another type.
    #[error("the input `{name}` must be {expected}, not {found}")]
    WrongType {
        /// The input.
        name: String,
        /// The type that it should have.
        expected: &'static str,
        /// The type that it has.
        found: &'static str,
    },
    /// The agent has no such input.
    #[error("there is no input `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The inputs that there are.
        known: Vec<String>,
    },
}

impl InputConfig {
    /// Checks that required inputs are there and that the simple ones have their type. Inputs with a schema of their own, and
    /// inputs that are missing from the schema, are left to a JSON Schema checker.
    pub fn validate(&self, inputs: &AgentInputs) -> Result<(), InputError> {
        let required = self.schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = required.find(|name| !inputs.contains_key(*name)) {
            let name = name.to_owned();
            return Err(InputError::Missing { name });
        }
        for (name, value) in inputs {
            let expected = self
                .input_type(name)
                .filter(|expected| !expected.fits(value));
            if let Some(expected) = expected {
                return Err(wrong_type(name, expected, type_of(value)));
            }
        }
        Ok(())
    }

    /// The value of a text that a person wrote for an input, by the type of the input. Lists are JSON, or texts with commas.
    pub fn parse_input(&self, name: &str, text: &str) -> Result<Value, InputError> {
        if !self.names().contains(&name) {
            return Err(InputError::Unknown {
                name: name.to_owned(),
                known: self.names().into_iter().map(str::to_owned).collect(),
            });
        }
        let Some(expected) = self.input_type(name) else {
            return Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()));
        };
        let parsed = expected.parse(text).filter(|value| expected.fits(value));
        parsed.ok_or_else(|| wrong_type(name, expected, "this text"))
    }

    /// The type of an input, if it is a simple one.
    pub fn input_type(&self, name: &str) -> Option<InputType> {
        InputType::from_schema(self.schema.get("properties")?.get(name)?)
    }
}

impl InputType {
    /// Whether a value is of this type.
    pub fn fits(self, value: &Value) -> bool {
        let all = |is_fine: fn(&Value) -> bool| {
            value
                .as_array()
                .is_some_and(|items| items.iter().all(is_fine))
        };
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::StringList => all(Value::is_string),
            Self::NumberList => all(Value::is_number),
        }
    }

    fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::String => Some(text.into()),
            Self::Number | Self::Integer | Self::Boolean => serde_json::from_str(text.trim()).ok(),
            Self::StringList | Self::NumberList if text.trim_start().starts_with('[') => {
                serde_json::from_str(text).ok()
            }
            Self::StringList => Some(text.split(',').map(str::trim).collect()),
            Self::NumberList => text
                .split(',')
                .map(|one| serde_json::from_str(one.trim()).ok())
                .collect::<Option<Vec<Value>>>()
                .map(Value::Array),
        }
    }
}

fn wrong_type(name: &str, expected: InputType, found: &'static str) -> InputError {
    InputError::WrongType {
        name: name.to_owned(),
        expected: match expected {
            InputType::String => "a text",
            InputType::Number => "a number",
            InputType::Boolean => "true or false",
            InputType::Integer => "a whole number",
            InputType::StringList => "a list of texts",
            InputType::NumberList => "a list of numbers",
        },
        found,
    }
}

fn type_of(value: &Value) -> &'static str {
    crate::settings::value_kind(value)
}
