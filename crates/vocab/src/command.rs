//! The commands that a front end sends in; `command` is the discriminator.

use serde::{Deserialize, Serialize};

use crate::tagged::read_by_tag;
use crate::{Json, Text};

/// A line that a front end sends in: a command, and an id for its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "generate", schemars(rename = "Command"))]
pub struct CommandLine {
    /// Identifies the command's `command_result`, which has it as its `commandId`. Upstream: the front end's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Json>,
    /// The command, with its fields.
    #[serde(flatten)]
    pub command: Command,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's struct says what it is")]
pub enum Command {
    SendMessage(SendMessage),
    Steer(Steer),
    PermissionResponse(PermissionResponse),
    ElicitationResponse(ElicitationResponse),
    Interrupt(Interrupt),
    Kill(Kill),
    SetModel(SetModel),
    SetPermissionMode(SetPermissionMode),
    SetConfigOption(SetConfigOption),
    SetReasoningEffort(SetReasoningEffort),
    CreateSession(CreateSession),
    LoadSession(LoadSession),
    ResumeSession(ResumeSession),
    ListSessions(ListSessions),
    CloseSession(CloseSession),
    DeleteSession(DeleteSession),
    SetMode(SetMode),
    Authenticate(Authenticate),
    /// A command this version does not know, kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    Unknown(Json),
}

read_by_tag!(Command, "command", {
    "send_message" => SendMessage,
    "steer" => Steer,
    "permission_response" => PermissionResponse,
    "elicitation_response" => ElicitationResponse,
    "interrupt" => Interrupt,
    "kill" => Kill,
    "set_model" => SetModel,
    "set_permission_mode" => SetPermissionMode,
    "set_config_option" => SetConfigOption,
    "set_reasoning_effort" => SetReasoningEffort,
    "create_session" => CreateSession,
    "load_session" => LoadSession,
    "resume_session" => ResumeSession,
    "list_sessions" => ListSessions,
    "close_session" => CloseSession,
    "delete_session" => DeleteSession,
    "set_mode" => SetMode,
    "authenticate" => Authenticate,
}, else Unknown);

/// Gives the agent a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SendMessage {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The prompt. Upstream.
    pub text: Text,
    /// Content blocks beside the text. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Json>,
    /// A JSON Schema that the answer must fit. The `command_result` has the answer's `data`, or is an error. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_schema: Option<Json>,
    /// How often the agent may repair an answer that does not fit; 2 if absent. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_repairs: Option<u32>,
}

/// Gives a message to an agent that is at work: its model gets it with the results of the calls under way. Only agents of Lapidary take
/// one (`agentCapabilities._meta.lapidary.steering`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Steer {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The message. Upstream.
    pub text: Text,
}

/// Answers a `permission_request`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionResponse {
    /// The request's id. Upstream.
    pub request_id: Text,
    /// Whether it may. Upstream.
    pub allowed: bool,
    /// With `allowed`: true allows the same action for the rest of the run, without another `permission_request`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_run: Option<bool>,
    /// A word to the agent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// Other arguments than it asked for, or the chosen `optionId` over ACP. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Json>,
    /// Rules to remember. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updated_permissions: Vec<Json>,
    /// Whether to stop the turn as well. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<bool>,
}

/// Answers an `elicitation_request`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ElicitationResponse {
    /// The request's id. Upstream.
    pub request_id: Text,
    /// `accept`, `decline` or `cancel`. Upstream.
    pub action: Text,
    /// With `accept`: the user's entries, an object whose values are texts, numbers, booleans or lists of texts. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
}

/// Stops the turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
}

/// Stops the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Kill {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
}

/// Chooses a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetModel {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The model. Upstream.
    pub model: Text,
}

/// Chooses a permission mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetPermissionMode {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The mode. Upstream.
    pub mode: Text,
}

/// Sets an option of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOption {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The option's id. Upstream.
    pub config_id: Text,
    /// Its new value. Upstream.
    pub value: Json,
}

/// Says how hard to think.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetReasoningEffort {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The effort. Upstream.
    pub effort: Text,
}

/// Starts a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateSession {
    /// The working directory. Upstream.
    pub cwd: Text,
    /// The first prompt. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Text>,
    /// Everything else, as the agent's adapter understands it. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Json>,
}

/// Opens an earlier session, and has its history said again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadSession {
    /// Which. Upstream: the agent's id.
    pub session_id: Text,
    /// The working directory; where the agent was started if absent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
}

/// Opens an earlier session, without its history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResumeSession {
    /// Which. Upstream: the agent's id.
    pub session_id: Text,
    /// The working directory; where the agent was started if absent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
}

/// Asks for the agent's sessions. They come in the command's result, a page at a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListSessions {
    /// Only those of this directory. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
    /// Where the page begins: the `nextCursor` of the one before. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Text>,
}

/// Ends a session, which the agent keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CloseSession {
    /// Which. Upstream: the agent's id.
    pub session_id: Text,
}

/// Has the agent delete a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeleteSession {
    /// Which. Upstream: the agent's id.
    pub session_id: Text,
}

/// Puts a session into one of the agent's own modes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetMode {
    /// The session it is for. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// The mode's id, as `session_mode` lists it. Upstream.
    pub mode_id: Text,
}

/// Logs in by one of the methods that the agent has listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Authenticate {
    /// The method's id. Upstream.
    pub method_id: Text,
}
