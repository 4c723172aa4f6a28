//! The arguments that an agent takes.

use serde_json::{Map, Value, json};

/// The arguments of an agent, as the JSON Schema of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct InputConfig {
    /// The JSON Schema.
    pub schema: Value,
}

/// One argument, as simple as most are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSpec {
    /// The description of the argument.
    pub description: String,
    /// Its type.
    pub input_type: InputType,
    /// Whether a call must have it.
    pub is_required: bool,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputType {
    /// A text.
    String,
    /// A number.
    Number,
    /// A truth value.
    Boolean,
    /// A whole number.
    Integer,
    /// A list of texts.
    StringList,
    /// A list of numbers.
    NumberList,
}

impl InputType {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::String,
        Self::Number,
        Self::Boolean,
        Self::Integer,
        Self::StringList,
        Self::NumberList,
    ];

    /// The word for it: `string`, `number`, `boolean`, `integer`, `string[]`, `number[]`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::StringList => "string[]",
            Self::NumberList => "number[]",
        }
    }

    /// The JSON Schema of a value of this type.
    pub fn to_schema(self) -> Value {
        match self {
            Self::StringList => json!({"type": "array", "items": {"type": "string"}}),
            Self::NumberList => json!({"type": "array", "items": {"type": "number"}}),
            simple => json!({"type": simple.as_str()}),
        }
    }

    /// The type that a JSON Schema describes, if it is one of these.
    pub fn from_schema(schema: &Value) -> Option<Self> {
        let bare = |key: &str| schema.get(key).cloned().unwrap_or(Value::Null);
        let wanted = (bare("type"), bare("items"));
        Self::ALL.into_iter().find(|one| {
            let own = one.to_schema();
            let own = |key: &str| own.get(key).cloned().unwrap_or(Value::Null);
            (own("type"), own("items")) == wanted
        })
    }
}

impl InputConfig {
    /// The arguments that a JSON Schema of an object describes.
    pub fn from_schema(schema: Value) -> Self {
        Self { schema }
    }

    /// The arguments of a map, in its order.
    ///
    /// ```
    /// use lapidary_gemini::agents::{InputConfig, InputSpec, InputType};
    ///
    /// let objective = InputSpec {
    ///     description: "the goal".to_owned(),
    ///     input_type: InputType::String,
    ///     is_required: true,
    /// };
    /// let config = InputConfig::from_inputs([("objective".to_owned(), objective.clone())]);
    /// assert_eq!(config.schema["required"][0], "objective");
    /// assert_eq!(config.inputs(), Some(vec![("objective".to_owned(), objective)]));
    /// ```
    pub fn from_inputs(inputs: impl IntoIterator<Item = (String, InputSpec)>) -> Self {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, input) in inputs {
            let mut schema = input.input_type.to_schema();
            schema["description"] = input.description.into();
            required.extend(input.is_required.then(|| Value::from(name.clone())));
            properties.insert(name, schema);
        }
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Self { schema }
    }

    /// The arguments as a map, where the schema is as simple as that.
    pub fn inputs(&self) -> Option<Vec<(String, InputSpec)>> {
        let properties = self.schema.get("properties")?.as_object()?;
        let input = |(name, schema): (&String, &Value)| {
            let description = schema.get("description").and_then(Value::as_str);
            let input = InputSpec {
                description: description.unwrap_or_default().to_owned(),
                input_type: InputType::from_schema(schema)?,
                is_required: self.is_required(name),
            };
            Some((name.clone(), input))
        };
        properties.iter().map(input).collect()
    }

    /// The names of the arguments, in their order.
    pub fn names(&self) -> Vec<&str> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        names.map(String::as_str).collect()
    }

    /// Whether a call must have the argument.
    pub fn is_required(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|one| one == name))
    }
}

/// The one optional argument of an agent that a file defines: `query`.
impl Default for InputConfig {
    fn default() -> Self {
        let query = InputSpec {
            description: "The task for the agent.".to_owned(),
            input_type: InputType::String,
            is_required: false,
        };
        Self::from_inputs([("query".to_owned(), query)])
    }
}
