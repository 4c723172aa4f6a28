//! Input and output of Gemini CLI's hooks, as of 0.61.
//!
//! Unlike the rest of this crate these are JSON values and not tokens: hooks are small, and their answers are merged and edited.

mod event;
mod input;
mod model;
mod output;
mod tools;

pub use event::{HookEvent, MatcherKind, UnknownEvent};
pub use input::{EventDetails, HookInput, HookInputBase, HookToolCall};
pub use model::{apply_request, from_response, to_request, to_response};
pub use output::{HookOutput, is_truthy, said};
pub use tools::{apply_tool_config, from_tool_config, to_tool_config};

/// A JSON object, in the order in which it was written.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
