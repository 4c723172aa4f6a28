//! The standard input of a hook, key for key in the order of Gemini CLI 0.61.

use serde_json::Value;

use super::{HookEvent, HookOutput, JsonObject};

/// The whole input of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// What every hook is told.
    pub base: HookInputBase,
    /// The fields of the event.
    pub details: EventDetails,
}

/// What every hook is told, the event's name aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookInputBase {
    /// The session.
    pub session_id: String,
    /// Where the session is recorded; empty if it is not.
    pub transcript_path: String,
    /// The project's directory, in which the hook runs.
    pub cwd: String,
    /// When, as RFC 3339 with milliseconds and `Z`.
    pub timestamp: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookToolCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// The same as JSON, for numbers that a [`Value`] cannot hold: the hook reads this text.
    pub verbatim: Option<String>,
    /// Which server it comes from, if it is an MCP tool.
    pub mcp_context: Option<Value>,
    /// The tool that was asked for, when a hook had this one run in its place.
    pub original_request_name: Option<String>,
}

/// The fields that an event adds to the [`HookInputBase`].
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the names are Gemini CLI's and say what they are"
)]
pub enum EventDetails {
    BeforeTool(HookToolCall),
    /// With the tool's result: `llmContent`, `returnDisplay` and perhaps `error`.
    AfterTool(HookToolCall, Value),
    BeforeAgent {
        prompt: String,
    },
    AfterAgent {
        prompt: String,
        prompt_response: String,
        stop_hook_active: bool,
    },
    Notification {
        notification_type: String,
        message: String,
        details: Value,
    },
    SessionStart {
        source: String,
    },
    SessionEnd {
        reason: String,
    },
    PreCompress {
        trigger: String,
    },
    BeforeModel {
        llm_request: Value,
    },
    AfterModel {
        llm_request: Value,
        llm_response: Value,
    },
    BeforeToolSelection {
        llm_request: Value,
    },
}

impl HookInput {
    /// The event it is for.
    pub fn event(&self) -> HookEvent {
        self.details.event()
    }

    /// What matchers are compared with: a tool's name, or the word of a session's event.
    pub fn context(&self) -> Option<&str> {
        match &self.details {
            EventDetails::BeforeTool(call) | EventDetails::AfterTool(call, _) => Some(&call.name),
            EventDetails::SessionStart { source: word }
            | EventDetails::SessionEnd { reason: word }
            | EventDetails::PreCompress { trigger: word } => Some(word),
            EventDetails::BeforeAgent { .. }
            | EventDetails::AfterAgent { .. }
            | EventDetails::Notification { .. }
            | EventDetails::BeforeModel { .. }
            | EventDetails::AfterModel { .. }
            | EventDetails::BeforeToolSelection { .. } => None,
        }
    }

    /// As one JSON object.
    pub fn to_object(&self) -> JsonObject {
        let mut object = JsonObject::new();
        let base = &self.base;
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put("session_id", base.session_id.as_str().into());
        put("transcript_path", base.transcript_path.as_str().into());
        put("cwd", base.cwd.as_str().into());
        put("hook_event_name", self.event().as_str().into());
        put("timestamp", base.timestamp.as_str().into());
        self.details.write(&mut object);
        object
    }

    /// As the hook reads it: one line without its end.
    pub fn to_json(&self) -> String {
        let object = self.to_object();
        let verbatim = match &self.details {
            EventDetails::BeforeTool(call) | EventDetails::AfterTool(call, _) => {
                call.verbatim.as_deref()
            }
            _ => None,
        };
        let Some(verbatim) = verbatim else {
            return Value::Object(object).to_string();
        };
        let member = |(key, value): (String, Value)| {
            let own = (key == "tool_input").then(|| verbatim.to_owned());
            let value = own.unwrap_or_else(|| value.to_string());
            format!("{}:{value}", Value::from(key))
        };
        let members: Vec<_> = object.into_iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Reads what [`to_object`](Self::to_object) wrote. Keys of later versions are left out.
    pub fn from_object(object: &JsonObject) -> Option<Self> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let base = HookInputBase {
            session_id: text("session_id")?,
            transcript_path: text("transcript_path")?,
            cwd: text("cwd")?,
            timestamp: text("timestamp")?,
        };
        let event = text("hook_event_name")?.parse().ok()?;
        let details = EventDetails::read(event, object)?;
        Some(Self { base, details })
    }

    /// The input of the next hook of a sequence, after one has answered.
    #[must_use]
    pub fn after(mut self, output: &HookOutput) -> Self {
        let said = |key: &str| output.specific(key);
        match &mut self.details {
            EventDetails::BeforeAgent { prompt } => {
                if let Some(context) = said("additionalContext").and_then(Value::as_str) {
                    prompt.push_str("\n\n");
                    prompt.push_str(context);
                }
            }
            EventDetails::BeforeModel { llm_request } => {
                overlay_members(llm_request, said("llm_request"));
            }
            EventDetails::BeforeTool(call) => {
                if said("tool_input").is_some_and(Value::is_object) {
                    call.verbatim = None;
                }
                overlay_members(&mut call.input, said("tool_input"));
            }
            EventDetails::AfterTool(..)
            | EventDetails::AfterAgent { .. }
            | EventDetails::Notification { .. }
            | EventDetails::SessionStart { .. }
            | EventDetails::SessionEnd { .. }
            | EventDetails::PreCompress { .. }
            | EventDetails::AfterModel { .. }
            | EventDetails::BeforeToolSelection { .. } => {}
        }
        self
    }
}

/// Puts the members of an object over the members of another. A value that is no object has no members.
fn overlay_members(target: &mut Value, source: Option<&Value>) {
    let Some(Value::Object(source)) = source else {
        return;
    };
    if !target.is_object() {
        *target = Value::Object(JsonObject::new());
    }
    if let Value::Object(target) = target {
        target.extend(source.clone());
    }
}

impl EventDetails {
    /// The event they belong to.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::BeforeTool(_) => HookEvent::BeforeTool,
            Self::AfterTool(..) => HookEvent::AfterTool,
            Self::BeforeAgent { .. } => HookEvent::BeforeAgent,
            Self::AfterAgent { .. } => HookEvent::AfterAgent,
            Self::Notification { .. } => HookEvent::Notification,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::PreCompress { .. } => HookEvent::PreCompress,
            Self::BeforeModel { .. } => HookEvent::BeforeModel,
            Self::AfterModel { .. } => HookEvent::AfterModel,
            Self::BeforeToolSelection { .. } => HookEvent::BeforeToolSelection,
        }
    }

    fn write(&self, object: &mut JsonObject) {
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        match self {
            Self::BeforeTool(call) => call.write(None, object),
            Self::AfterTool(call, response) => call.write(Some(response), object),
            Self::BeforeAgent { prompt } => {
                put("prompt", prompt.as_str().into());
            }
            Self::AfterAgent {
                prompt,
                prompt_response,
                stop_hook_active,
            } => {
                put("prompt", prompt.as_str().into());
                put("prompt_response", prompt_response.as_str().into());
                put("stop_hook_active", (*stop_hook_active).into());
            }
            Self::Notification {
                notification_type,
                message,
                details,
            } => {
                put("notification_type", notification_type.as_str().into());
                put("message", message.as_str().into());
                put("details", details.clone());
            }
            Self::SessionStart { source } => {
                put("source", source.as_str().into());
            }
            Self::SessionEnd { reason } => {
                put("reason", reason.as_str().into());
            }
            Self::PreCompress { trigger } => {
                put("trigger", trigger.as_str().into());
            }
            Self::BeforeModel { llm_request } | Self::BeforeToolSelection { llm_request } => {
                put("llm_request", llm_request.clone());
            }
            Self::AfterModel {
                llm_request,
                llm_response,
            } => {
                put("llm_request", llm_request.clone());
                put("llm_response", llm_response.clone());
            }
        }
    }

    fn read(event: HookEvent, object: &JsonObject) -> Option<Self> {
        let value = |key: &str| object.get(key).cloned();
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(match event {
            HookEvent::BeforeTool => Self::BeforeTool(HookToolCall::read(object)?),
            HookEvent::AfterTool => {
                Self::AfterTool(HookToolCall::read(object)?, value("tool_response")?)
            }
            HookEvent::BeforeAgent => Self::BeforeAgent {
                prompt: text("prompt")?,
            },
            HookEvent::AfterAgent => Self::AfterAgent {
                prompt: text("prompt")?,
                prompt_response: text("prompt_response")?,
                stop_hook_active: object.get("stop_hook_active")?.as_bool()?,
            },
            HookEvent::Notification => Self::Notification {
                notification_type: text("notification_type")?,
                message: text("message")?,
                details: value("details")?,
            },
            HookEvent::SessionStart => Self::SessionStart {
                source: text("source")?,
            },
            HookEvent::SessionEnd => Self::SessionEnd {
                reason: text("reason")?,
            },
            HookEvent::PreCompress => Self::PreCompress {
                trigger: text("trigger")?,
            },
            HookEvent::BeforeModel => Self::BeforeModel {
                llm_request: value("llm_request")?,
            },
            HookEvent::AfterModel => Self::AfterModel {
                llm_request: value("llm_request")?,
                llm_response: value("llm_response")?,
            },
            HookEvent::BeforeToolSelection => Self::BeforeToolSelection {
                llm_request: value("llm_request")?,
            },
        })
    }
}

impl HookToolCall {
    fn write(&self, response: Option<&Value>, object: &mut JsonObject) {
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put("tool_name", self.name.as_str().into());
        put("tool_input", self.input.clone());
        if let Some(response) = response {
            put("tool_response", response.clone());
        }
        if let Some(context) = &self.mcp_context {
            put("mcp_context", context.clone());
        }
        if let Some(name) = &self.original_request_name {
            put("original_request_name", name.as_str().into());
        }
    }

    fn read(object: &JsonObject) -> Option<Self> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            name: text("tool_name")?,
            input: object.get("tool_input")?.clone(),
            verbatim: None,
            mcp_context: object.get("mcp_context").cloned(),
            original_request_name: text("original_request_name"),
        })
    }
}
