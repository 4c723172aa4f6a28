//! Which tools the model may call: the model API's `toolConfig` and what hooks see of it.

use serde_json::Value;

use super::output::is_truthy;
use super::{HookOutput, JsonObject};

/// What hooks see of the model API's `toolConfig`.
pub fn to_tool_config(config: &JsonObject) -> JsonObject {
    let calling = config.get("functionCallingConfig");
    let fields = ["mode", "allowedFunctionNames"].into_iter();
    let known = fields.filter_map(|key| Some((key.to_owned(), calling?.get(key)?.clone())));
    known.collect()
}

/// The model API's `toolConfig` for a hook's answer. A hook that names neither mode nor tools removes the limits.
pub fn from_tool_config(said: &JsonObject) -> JsonObject {
    let fields = ["mode", "allowedFunctionNames"].into_iter();
    let known = fields.filter_map(|key| Some((key.to_owned(), said.get(key)?.clone())));
    let calling: JsonObject = known.collect();
    let mut config = JsonObject::new();
    if calling.values().any(is_truthy) {
        config.insert("functionCallingConfig".to_owned(), calling.into());
    }
    config
}

/// The part of a request that is about tools, after a `BeforeToolSelection` hook has answered: `tools` and `toolConfig`.
pub fn apply_tool_config(output: &HookOutput, target: &JsonObject) -> JsonObject {
    let Some(said) = output.specific("toolConfig").filter(|it| is_truthy(it)) else {
        return target.clone();
    };
    let none = JsonObject::new();
    let config = from_tool_config(said.as_object().unwrap_or(&none));
    let mut target = target.clone();
    if !target.get("tools").is_some_and(is_truthy) {
        target.insert("tools".to_owned(), Value::Array(Vec::new()));
    }
    target.insert("toolConfig".to_owned(), config.into());
    target
}
