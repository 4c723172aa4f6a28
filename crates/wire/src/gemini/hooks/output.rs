//! The answer of a hook, read as Gemini CLI 0.61 reads it.

use serde_json::Value;

use super::JsonObject;

/// A hook's answer. Fields stand as the hook wrote them: the accessors judge them, and unknown fields stay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutput(pub JsonObject);

impl HookOutput {
    /// An answer with one decision and its reason.
    pub fn decided(decision: &str, reason: Option<&str>) -> Self {
        let mut object = JsonObject::new();
        object.insert("decision".to_owned(), decision.into());
        if let Some(reason) = reason {
            object.insert("reason".to_owned(), reason.into());
        }
        Self(object)
    }

    /// The hook's decision: `ask`, `block`, `deny`, `approve`, `allow`, or an unknown word.
    pub fn decision(&self) -> Option<&str> {
        self.text("decision")
    }

    /// Whether the action is blocked.
    pub fn is_blocking(&self) -> bool {
        matches!(self.decision(), Some("block" | "deny"))
    }

    /// Whether the user is to be asked.
    pub fn is_asking(&self) -> bool {
        self.decision() == Some("ask")
    }

    /// Whether everything is to stop: `continue` is `false`, and nothing else than `false`.
    pub fn is_stopping(&self) -> bool {
        self.0.get("continue") == Some(&Value::Bool(false))
    }

    /// Whether the answer is to be kept out of the log.
    pub fn is_muted(&self) -> bool {
        self.0.get("suppressOutput").is_some_and(is_truthy)
    }

    /// The message for the user.
    pub fn system_message(&self) -> Option<String> {
        self.0
            .get("systemMessage")
            .filter(|it| is_truthy(it))
            .map(said)
    }

    /// Why the user is to be asked: the message for the user, else the reason.
    pub fn question(&self) -> Option<String> {
        let reason = || self.0.get("reason").filter(|it| is_truthy(it)).map(said);
        self.system_message().or_else(reason)
    }

    /// Why it stops or blocks: the reason for stopping, else the reason.
    pub fn effective_reason(&self) -> String {
        let reasons = ["stopReason", "reason"].into_iter();
        let mut reasons = reasons.filter_map(|key| self.0.get(key).filter(|it| is_truthy(it)));
        let none = || "No reason provided".to_owned();
        reasons.next().map_or_else(none, said)
    }

    /// A field of `hookSpecificOutput`, which has none if it is absent, empty or false.
    pub fn specific(&self, key: &str) -> Option<&Value> {
        self.0.get("hookSpecificOutput")?.get(key)
    }

    /// Text added for the model, with `<` and `>` escaped so that it cannot leave its frame.
    pub fn additional_context(&self) -> Option<String> {
        let context = self.specific("additionalContext")?.as_str()?;
        Some(context.replace('<', "&lt;").replace('>', "&gt;"))
    }

    /// The arguments that take the place of a tool's own (`BeforeTool`).
    pub fn tool_input(&self) -> Option<&JsonObject> {
        self.specific("tool_input")?.as_object()
    }

    /// The tool to run in place of the one that has run (`AfterTool`).
    pub fn tail_tool_call(&self) -> Option<&JsonObject> {
        self.specific("tailToolCallRequest")?.as_object()
    }

    /// Whether the conversation is to be forgotten (`AfterAgent`).
    pub fn clears_context(&self) -> bool {
        self.specific("clearContext") == Some(&Value::Bool(true))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}

/// What JavaScript takes for true.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(it) => *it,
        Value::Number(number) => number.as_f64().is_none_or(|it| it != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A value as text: a string as it is, any other value as JSON.
pub fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
