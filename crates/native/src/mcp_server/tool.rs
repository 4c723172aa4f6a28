//! A tool of a server: a row with a function.

use std::fmt;
use std::sync::Arc;

use lapidary_vocab::Json;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::progress::CallProgress;
use crate::schema;
use crate::tool::BoxFuture;

/// The function behind a tool.
type ToolFunction = dyn Fn(ServerCall) -> BoxFuture<'static, CallAnswer> + Send + Sync;

/// A tool that a server offers.
#[derive(Clone)]
pub struct ServerTool {
    /// The name that is called.
    pub name: String,
    /// When to call it, for a model.
    pub description: String,
    /// The arguments, as a JSON Schema of type `object`.
    pub input_schema: Value,
    /// Whether it only reads.
    pub effect: ToolEffect,
    check: ArgumentCheck,
    function: Arc<ToolFunction>,
}

/// The place where the arguments of a call are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentCheck {
    /// The server answers a call that does not fit the schema.
    Server,
    /// The function gets every call.
    Function,
}

/// Whether a call changes the world, as a hint for the client's permission prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// It only reads.
    Reads,
    /// It starts or changes things.
    Acts,
}

/// One call of a tool, with arguments that fit its schema.
#[derive(Debug)]
pub struct ServerCall {
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The arguments token for token, as the client wrote them.
    pub written_arguments: Json,
    /// Cancelled when the client cancels the call or is gone. The tool then ends its processes and returns; its answer is dropped.
    pub cancelled: CancellationToken,
    /// Tells the client how far it is.
    pub progress: CallProgress,
}

impl ServerCall {
    /// An argument, if it is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallAnswer {
    /// The text for the client's model.
    pub text: String,
    /// The same as data: an object.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ServerTool {
    /// A tool. `function` is called for each call; calls may run at the same time.
    pub fn new<F, A>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        effect: ToolEffect,
        function: F,
    ) -> Self
    where
        F: Fn(ServerCall) -> A + Send + Sync + 'static,
        A: Future<Output = CallAnswer> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            effect,
            check: ArgumentCheck::Server,
            function: Arc::new(move |call| Box::pin(function(call))),
        }
    }

    /// Leaves the check of arguments to the function: it gets calls that do not fit the schema too.
    #[must_use]
    pub fn checked_by_function(mut self) -> Self {
        self.check = ArgumentCheck::Function;
        self
    }

    /// The arguments, if they fit the schema; else the answer that says why not.
    pub(super) fn check_arguments(
        &self,
        arguments: Value,
    ) -> Result<Map<String, Value>, CallAnswer> {
        if self.check == ArgumentCheck::Function {
            return Ok(match arguments {
                Value::Object(arguments) => arguments,
                _ => Map::new(),
            });
        }
        if let Err(violations) = schema::check(&self.input_schema, &arguments) {
            let sentence = schema::sentence("arguments", &violations);
            return Err(CallAnswer::from_error(sentence));
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(CallAnswer::from_error("arguments must be object")),
        }
    }

    pub(super) fn start_call(&self, call: ServerCall) -> BoxFuture<'static, CallAnswer> {
        (self.function)(call)
    }
}

impl fmt::Debug for ServerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ServerTool");
        debug.field("name", &self.name);
        debug.finish_non_exhaustive()
    }
}

impl CallAnswer {
    /// A success with one text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
            is_error: false,
        }
    }

    /// A success with data. Clients that know only texts get it as JSON.
    pub fn from_value(value: Value) -> Self {
        Self {
            text: value.to_string(),
            structured: Some(value),
            is_error: false,
        }
    }

    /// A failure, in a sentence for the client's model.
    pub fn from_error(message: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::from_text(message)
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let mut answer = json!({"content": [{"type": "text", "text": self.text}]});
        if let Some(structured) = &self.structured {
            answer["structuredContent"] = structured.clone();
        }
        if self.is_error {
            answer["isError"] = true.into();
        }
        Json::from_value(&answer)
    }
}
