//! Models: a request, and its answer piece by piece.
//!
//! The parts of an answer are kept token for token: a model wants its own thought signatures back unchanged, and refuses a
//! history in which one was lost.

mod content;
mod error;
mod gemini;
mod names;
mod quota;
mod reader;
mod retry;
mod scripted;

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::tool::{BoxFuture, ToolDeclaration};
pub use content::{Content, ContentRole, FunctionCall, ModelPart, PartKind};
pub use error::ModelError;
pub use gemini::{GeminiApi, GeminiEndpoint};
pub use names::concrete_model;
pub use reader::AnswerReader;
pub use retry::RetryPolicy;
pub use scripted::ScriptedModel;

/// A model that can be asked.
pub trait ModelClient: fmt::Debug + Send + Sync {
    /// Asks once, and again after errors that may pass. `listener` gets the answer piece by piece, and each retry before its wait.
    /// Dropping the future ends the request at any point.
    fn generate<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>>;
}

/// One request: a history, the tools that the model may call, and the settings of its answer.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The system instruction.
    pub system_instruction: Option<&'a str>,
    /// The conversation so far.
    pub contents: &'a [Content],
    /// The tools that the model may call.
    pub tools: &'a [ToolDeclaration],
    /// `toolConfig` of the Gemini API: which of the tools the model may or must call.
    pub tool_config: Option<&'a Value>,
    /// `generationConfig` of the Gemini API, as it stands.
    pub generation: &'a Map<String, Value>,
}

/// A piece of an answer, or what happens on the way to it.
#[derive(Debug, Clone)]
pub enum ModelEvent {
    /// A part of the answer.
    Part(ModelPart),
    /// A request failed, and will be made again after a wait. The parts since the last retry count no more.
    Retry(RetryNotice),
}

/// A retry, announced before its wait.
#[derive(Debug, Clone)]
pub struct RetryNotice {
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// How many attempts there are.
    pub max_attempts: u32,
    /// How long until the next one.
    pub delay: Duration,
    /// Why it failed.
    pub error: ModelError,
}

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub struct ModelAnswer {
    /// Its parts, in their order.
    pub parts: Vec<ModelPart>,
    /// Why it ended: `STOP`, `MAX_TOKENS`, `SAFETY`.
    pub finish_reason: Option<String>,
    /// The tokens spent.
    pub usage: Option<TokenUsage>,
    /// The model that answered, if it says so.
    pub model_version: Option<String>,
}

/// Tokens of one request, as the API counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Tokens of the prompt, the cached ones included.
    pub prompt: u64,
    /// Tokens of the answer, without thoughts.
    pub output: u64,
    /// Tokens of thoughts.
    pub thoughts: u64,
    /// How much of the prompt came from a cache.
    pub cached: u64,
    /// All tokens.
    pub total: u64,
}

impl ModelAnswer {
    /// The calls, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Call(call) => Some(call),
            PartKind::Text(_) | PartKind::Thought(_) | PartKind::Other => None,
        })
    }

    /// The text, without thoughts.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Text(text) => Some(text.as_str()),
            PartKind::Call(_) | PartKind::Thought(_) | PartKind::Other => None,
        });
        texts.collect()
    }
}
