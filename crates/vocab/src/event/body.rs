//! The bodies of the events, one struct each. A uniform list: read it like a table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_false;
use crate::content::ContentBlock;
use crate::open_enum::open_enum;
use crate::outcome::{Cause, Outcome};
use crate::structured_data::StructuredAnswer;
use crate::tagged::read_by_tag;
use crate::usage::{ModelTokenUsage, TokenUsage};
use crate::{Json, Number, Text};

/// What happened; `event` is the discriminator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's struct says what it is")]
pub enum Body {
    SessionInit(Box<SessionInit>),
    ConfigOptions(ConfigOptions),
    AvailableCommands(AvailableCommands),
    SessionMode(SessionMode),
    SessionStatus(SessionStatus),
    Text(TextEvent),
    UserInput(UserInput),
    ToolInvocation(Box<ToolInvocation>),
    ToolCompletion(Box<ToolCompletion>),
    SubagentSpawn(SubagentSpawn),
    SubagentComplete(SubagentComplete),
    TurnComplete(Box<TurnComplete>),
    ContextCompaction(ContextCompaction),
    PermissionRequest(Box<PermissionRequest>),
    StreamDelta(StreamDelta),
    UsageUpdate(UsageUpdate),
    RateLimitUpdate(RateLimitUpdate),
    RunEnd(RunEnd),
    Diagnostic(Diagnostic),
    HookRun(HookRun),
    PermissionDecision(Box<PermissionDecision>),
    CommandResult(Box<CommandResult>),
    ElicitationRequest(Box<ElicitationRequest>),
    ElicitationResult(Box<ElicitationResult>),
    /// An event this version does not know, kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    Unknown(Json),
}

read_by_tag!(Body, "event", {
    "session_init" => SessionInit,
    "config_options" => ConfigOptions,
    "available_commands" => AvailableCommands,
    "session_mode" => SessionMode,
    "session_status" => SessionStatus,
    "text" => Text,
    "user_input" => UserInput,
    "tool_invocation" => ToolInvocation,
    "tool_completion" => ToolCompletion,
    "subagent_spawn" => SubagentSpawn,
    "subagent_complete" => SubagentComplete,
    "turn_complete" => TurnComplete,
    "context_compaction" => ContextCompaction,
    "permission_request" => PermissionRequest,
    "stream_delta" => StreamDelta,
    "usage_update" => UsageUpdate,
    "rate_limit_update" => RateLimitUpdate,
    "run_end" => RunEnd,
    "diagnostic" => Diagnostic,
    "hook_run" => HookRun,
    "permission_decision" => PermissionDecision,
    "command_result" => CommandResult,
    "elicitation_request" => ElicitationRequest,
    "elicitation_result" => ElicitationResult,
}, else Unknown);

/// A session has begun, or a recorded one begins here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInit {
    /// The model that was asked for; `auto` where the agent chooses. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// How hard the model is asked to think. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Text>,
    /// The agent's working directory. Upstream over ACP; derived for Gemini CLI's stream-json, from where it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
    /// Names of the tools the model may call. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<Text>,
    /// MCP servers: `name`, `status`, `serverInfo`. Upstream; over ACP the names of the servers that the client passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<Json>,
    /// The permission mode in force. Upstream; `plan` of Gemini's stream is derived from how the CLI was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Text>,
    /// The account: `email`, `organization`, `subscriptionType`, `tokenSource`, `apiKeySource`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Json>,
    /// Slash commands: `name`, `description`, `argumentHint`. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slash_commands: Vec<Json>,
    /// Models to choose from: `value`, `displayName`, `description`. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_models: Vec<Json>,
}

/// The options a session can be configured with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigOptions {
    /// The options, as the agent describes them. Upstream.
    pub config_options: Vec<Json>,
}

/// The commands a user can give.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AvailableCommands {
    /// The commands, as the agent describes them. Upstream.
    pub available_commands: Vec<Json>,
}

/// The mode a session is in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionMode {
    /// The current mode's id. Upstream.
    pub current_mode_id: Text,
    /// The modes to choose from, as the agent describes them. Upstream.
    #[serde(default)]
    pub available_modes: Vec<Json>,
}

/// A state of the session as a whole: an error, a warning, a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct SessionStatus {
    /// The kind of status. Derived: every `error` line of Gemini is `error`; its severity is in `extensions["gemini.severity"]`.
    pub status: SessionState,
    /// In the agent's words. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
}

/// A whole piece of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextEvent {
    /// The text. Upstream; with `--deltas final` or `both` joined from its chunks.
    pub text: Text,
    /// What sort of text. Derived from where it stood.
    pub kind: TextKind,
    /// The call of a sub-agent that this belongs to. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<Text>,
    /// The model that wrote it. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
}

/// The user's prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserInput {
    /// The prompt as the agent took it. Upstream.
    pub text: Text,
    /// Pictures: `mediaType` and `data`. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Json>,
    /// True if no person said it: context that the agent added, tool results sent back, history replayed. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_synthetic: bool,
}

/// The agent calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    /// The call's id; the completion carries the same. Upstream.
    pub call_id: Text,
    /// The tool's name. Upstream.
    pub tool_name: Text,
    /// What sort of tool. Derived from its name by an exact table, or the agent's own word over ACP: where that is missing,
    /// `extensions["lapidary.derived"]` names this field.
    pub kind: ToolKind,
    /// The call's arguments: an object, empty if the agent sent none. Upstream.
    pub input: Json,
    /// The call of a sub-agent that this belongs to. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<Text>,
    /// A title for people. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// Files and folders it concerns. Derived from the arguments, or the agent's own over ACP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Text>,
    /// The model that called it. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
}

/// A call of a tool has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCompletion {
    /// The id of the call. Upstream.
    pub call_id: Text,
    /// The call of the main agent in which a sub-agent made it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<Text>,
    /// How it ended. Derived from the agent's word: `success` is completed (also for calls the user cancelled: Gemini's stream does not tell them apart), `error` is failed.
    pub status: ToolCallStatus,
    /// The result: text for display in a stream, the model's view in a session file, which also completes a stream; else the error's message. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Json>,
    /// True if the agent reported a status other than success. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Structured content. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentBlock>,
    /// Files and folders it concerned. Derived from the arguments of the call, or the agent's own over ACP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Text>,
    /// The command that was run, if the call ran one. Its output is `commandOutput`, else `output`. Derived from the arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    /// The command's output, where `output` holds more than that. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_output: Option<Text>,
    /// What became of a file, in one line: `replace a.txt: completed`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Text>,
}

/// A sub-agent starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubagentSpawn {
    /// The call that started it. Upstream.
    pub call_id: Text,
    /// What sort of agent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<Text>,
    /// The sub-agent's task. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// True if it continues an earlier one. Upstream.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_resume: bool,
    /// The earlier one's id. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_agent_id: Option<Text>,
}

/// A sub-agent is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubagentComplete {
    /// The call that started it. Upstream.
    pub call_id: Text,
    /// Its id. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text>,
    /// How it ended. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Text>,
    /// The sub-agent's report. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
}

/// A prompt has been answered, or has failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnComplete {
    /// True if the agent reported an error. Derived from its status or stop reason.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// The agent's own word: Gemini's `status`, ACP's stop reason. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtype: Option<Text>,
    /// What went wrong. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Text>,
    /// The answer, where the agent repeats it at the end. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Text>,
    /// The cost in US dollars. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Number>,
    /// How long the turn took, in milliseconds; 0 in Gemini's error results. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// How long the API took, in milliseconds. Upstream, or derived as the sum over models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_api_ms: Option<Number>,
    /// Requests to the model. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<Number>,
    /// Tokens spent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Tokens spent, by model. Upstream.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_usage: BTreeMap<String, ModelTokenUsage>,
    /// Calls of this turn that were denied, in order. Derived from decisions and from the errors of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<PermissionDenial>,
}

/// The conversation was shortened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextCompaction {
    /// What set it off. Upstream.
    pub trigger: CompactionTrigger,
    /// Tokens before. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_tokens: Option<Number>,
    /// The rest of the quota, in words. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
}

/// The agent asks whether it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// The request's id, for the answer; its `permission_decision` has the same. Upstream.
    pub request_id: Text,
    /// The tool's name as in its `tool_invocation`, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    pub tool_name: Text,
    /// What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
    /// `extensions["lapidary.derived"]` names this field.
    pub tool_kind: ToolKind,
    /// The arguments it would be called with. Upstream; where the agent sends none, derived from the diff or the command that it shows:
    /// then `extensions["lapidary.derived"]` names this field.
    pub tool_input: Json,
    /// The id of the call. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Text>,
    /// The call's title for people. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The command line to be approved. Derived from the arguments, or from the title of a call that runs a command and has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    /// The agent's display of the call: the diffs to be approved, and words. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentBlock>,
    /// The answers that the agent offers. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionOption>,
    /// Why it asks. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// The path that was in the way. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_path: Option<Text>,
    /// Rules it suggests: `type`, `toolName`, `directory`, `mode`, `description`. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Json>,
}

/// An answer that an agent offers to its question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct PermissionOption {
    /// The option's id, for `permission_response`. Upstream.
    pub id: Text,
    /// The option in words for people. Upstream.
    pub name: Text,
    /// The meaning of the option: `allow_once`, `allow_always`, `reject_once`, `reject_always`. Upstream, and open.
    pub kind: Text,
}

/// A call that was denied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionDenial {
    /// The tool's name, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    pub tool_name: Text,
    /// The id of the call. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Text>,
    /// The arguments of the call; absent if they are unknown, or too long to be repeated. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub tool_input: Option<Json>,
    /// The call's title for people: the file or command, where the agent names no tool and sends no arguments. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The rule that denied it, named by where it stands. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// The reason, as the agent got it. Derived, or the agent's own.
    pub reason: Text,
    /// True if no person could be asked. Derived; over Gemini's stream from a tool that the CLI removes where it cannot ask.
    pub unattended: bool,
}

/// A call that the agent made without permission: it did not ask, or went on after a denial. Or a protected file that changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionViolation {
    /// The tool's name. Upstream; for a changed file `edit` or `delete`, derived.
    pub tool_name: Text,
    /// The id of the call. Absent for a changed file: no call explains it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Text>,
    /// The call's title for people. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The command line of the call, cut after 500 characters. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    /// The files of the call, the first few of them. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Text>,
    /// The rule that denies it or requires a question, named by where it stands. Absent if the permission mode does. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// Why it needed permission. Derived.
    pub reason: Text,
    /// What happened, in one sentence. Derived.
    pub message: Text,
}

/// A piece of a message while it is being written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StreamDelta {
    /// A chunk of what. Derived from where it stood.
    pub kind: StreamDeltaKind,
    /// The chunk of text. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_delta: Option<Text>,
    /// The chunk of a tool's arguments. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_delta: Option<Text>,
    /// Which block of the message it belongs to. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_index: Option<Number>,
    /// The call whose arguments these are. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Text>,
    /// The call of a sub-agent that this belongs to. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<Text>,
}

/// Tokens spent on one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageUpdate {
    /// The call of the main agent in which a sub-agent spent them. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<Text>,
    /// The model that was used, where the agent names it: in session files. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// The counts, in snake case: `input_tokens`, `output_tokens`, `total_tokens` and what else the agent counts. Upstream.
    pub step_usage: Json,
}

/// How much of a rate limit is used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RateLimitUpdate {
    /// The main window: `usedPercent`, `windowDurationMins`, `resetsAt`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<Json>,
    /// A second window. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secondary: Option<Json>,
    /// Credits: `hasCredits`, `unlimited`, `balance`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<Json>,
    /// The account's plan. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_type: Option<Text>,
}

/// The run is over: exactly once, last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// How it ended. Derived from the exit status *and* the agent's own word.
    pub outcome: Outcome,
    /// Why. Derived.
    pub cause: Cause,
    /// The exit code of `lapidary run` for this cause; in `translate` and `connect`, the one it would have. Derived.
    pub exit_code: u8,
    /// The agent's own exit code, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_exit_code: Option<i32>,
    /// The signal that ended the agent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How long the run took, in milliseconds, if it was live. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// What went wrong, in the agent's words if it said any. Upstream or derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// What led to this verdict. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The user's next step. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Circumstances beside the outcome, such as a turn that ended well without a last word. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Calls that the agent made without permission, in order, then protected files that it changed. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<PermissionViolation>,
    /// The answer as its output schema judges it, when one was given. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<StructuredAnswer>>,
}

/// A line that we could not translate, or a fact for integrators of the agent. It carries its line in `raw`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// What sort of thing. Derived.
    pub kind: DiagnosticKind,
    /// In words. Derived.
    pub message: String,
    /// How many times, if it stands for several. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// A hook was run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    /// The event that set it off, such as `BeforeTool`. Upstream.
    pub hook_event: Text,
    /// The hook's name or command. Upstream.
    pub hook: Text,
    /// Its exit code. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`: from another process, or ours if it took too long or the run ended. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How long it took, in milliseconds. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// The hook's decision. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Text>,
    /// Why. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Its message for the user. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// True if it was stopped because it took too long. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed_out: bool,
    /// Why it has no answer, if it should have one: it took too long, was killed, could not be started. Unless there is a `decision`, it
    /// has blocked nothing. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Text>,
}

/// The answer to a permission request, by a rule, a mode, a hook, a person or a program. Each request of the agent has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionDecision {
    /// The request's id, as in its `permission_request` if it has one. Upstream.
    pub request_id: Text,
    /// The call that it is about. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Text>,
    /// The subject of the request: the tool, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    pub tool_name: Text,
    /// What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
    /// `extensions["lapidary.derived"]` names this field.
    pub tool_kind: ToolKind,
    /// The arguments, as in `permission_request`. Upstream or derived, as there.
    pub tool_input: Json,
    /// The call's title for people, as in `permission_request`. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The command line that was decided about, as in `permission_request`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    /// The agent's display of the call, as in `permission_request`. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentBlock>,
    /// The answers that the agent offered. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionOption>,
    /// The decision. Derived from the answer.
    pub decision: PermissionOutcome,
    /// Who decided. Derived; absent where a transcript does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The rule that decided, named by where it stands. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// The reason, as the agent got it. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// True if a person would have been asked, but none could be. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unattended: bool,
    /// True if the answer holds for the rest of the run: the same action is allowed without a question, by the rule of a later
    /// decision. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub for_run: bool,
    /// Which of the options that the agent offered was chosen. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option_id: Option<Text>,
}

/// The agent asks the user to fill in a form, or to open a page. `elicitation_response` answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ElicitationRequest {
    /// The request's id, for the answer. Upstream.
    pub request_id: Text,
    /// `form`, `url`, or a word of the agent's own. Upstream.
    pub mode: Text,
    /// The question, in words for the user. Upstream.
    pub message: Text,
    /// The form: a JSON Schema of an object whose properties are texts, numbers, booleans or lists of texts. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Json>,
    /// The page to open. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Text>,
    /// The agent's id of an opened page, sent again when the user is done. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<Text>,
    /// The call that it is about. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Text>,
}

/// An `elicitation_request` was answered. Each has one, unless it was withdrawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ElicitationResult {
    /// The request's id, as in its `elicitation_request`. Upstream.
    pub request_id: Text,
    /// What became of it. Upstream.
    pub action: ElicitationAction,
    /// The user's entries. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
    /// Who answered: `peer`, or `default` where no program and no person could. Derived; absent where a transcript does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The reason, as the agent got it. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

open_enum! {
    /// The answer to an elicitation.
    pub enum ElicitationAction {
        /// The user filled the form in, or opened the page.
        Accept = "accept",
        /// The user, or the client for want of one, said no.
        Decline = "decline",
        /// The request was given up, with its turn for example.
        Cancel = "cancel",
    }
}

/// A command of the front end has been carried out, or could not be. Each command has exactly one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// The `id` that the command had, if it had one. Upstream: the front end's.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub command_id: Option<Json>,
    /// Which command. Upstream: the front end's.
    pub command: Text,
    /// True if it could not be carried out. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Why not. Upstream where the agent refused, otherwise derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// The agent's answer, if it gave one. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Json>,
    /// The answer as its output schema judges it, when one was given. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<StructuredAnswer>>,
}

open_enum! {
    /// What became of a request for permission.
    pub enum PermissionOutcome {
        /// The agent may.
        Allowed = "allowed",
        /// The agent may not.
        Denied = "denied",
        /// The turn was cancelled before a decision.
        Cancelled = "cancelled",
    }
}

open_enum! {
    /// Who decided about a request for permission.
    pub enum DecidedBy {
        /// A rule of the configuration or of a flag.
        Rule = "rule",
        /// The permission mode.
        Mode = "mode",
        /// A hook.
        Hook = "hook",
        /// What holds where nothing was said.
        Default = "default",
        /// A person at the terminal.
        User = "user",
        /// The program that is connected.
        Peer = "peer",
    }
}

open_enum! {
    /// What sort of tool.
    pub enum ToolKind {
        /// Runs a command.
        Execute = "execute",
        /// Reads a file.
        Read = "read",
        /// Changes or creates a file.
        Edit = "edit",
        /// Deletes a file.
        Delete = "delete",
        /// Moves a file.
        Move = "move",
        /// Looks for files or text.
        Search = "search",
        /// Fetches a page.
        Fetch = "fetch",
        /// Searches the web.
        Browse = "browse",
        /// Plans, delegates, keeps notes for itself.
        Think = "think",
        /// Asks the user.
        Ask = "ask",
        /// Writes to the agent's memory.
        Memory = "memory",
        /// Belongs to an MCP server.
        Mcp = "mcp",
        /// None of these.
        Unclassified = "other",
    }
}

open_enum! {
    /// What sort of text.
    pub enum TextKind {
        /// An answer.
        Text = "text",
        /// Reasoning.
        Thinking = "thinking",
        /// A plan.
        Plan = "plan",
        /// An error.
        Error = "error",
    }
}

open_enum! {
    /// How a call of a tool ended.
    pub enum ToolCallStatus {
        /// It was done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// The call was stopped.
        Cancelled = "cancelled",
    }
}

open_enum! {
    /// The state a session reports.
    pub enum SessionState {
        /// It shortens its history.
        Compacting = "compacting",
        /// It continues an earlier session.
        Resuming = "resuming",
        /// It was interrupted.
        Interrupted = "interrupted",
        /// It is over.
        Ended = "ended",
        /// It reports an error or a warning.
        Error = "error",
    }
}

open_enum! {
    /// What set a compaction off.
    pub enum CompactionTrigger {
        /// The agent itself.
        Auto = "auto",
        /// The user.
        Manual = "manual",
        /// The history was cleared.
        Cleared = "cleared",
    }
}

open_enum! {
    /// The whole that a delta is a chunk of.
    pub enum StreamDeltaKind {
        /// An answer.
        Text = "text",
        /// Reasoning.
        Thinking = "thinking",
        /// A tool's arguments.
        ToolInput = "toolInput",
        /// A message begins.
        MessageStart = "messageStart",
        /// A message is over.
        MessageStop = "messageStop",
        /// A block begins.
        BlockStart = "blockStart",
        /// A block is over.
        BlockStop = "blockStop",
    }
}

open_enum! {
    /// Subjects of diagnostics.
    pub enum DiagnosticKind {
        /// Text amid the protocol that is not JSON.
        Noise = "noise",
        /// A line that should be JSON but is not valid, or not an object.
        MalformedLine = "malformed_line",
        /// A line longer than the limit: only its beginning was kept.
        LineTooLong = "line_too_long",
        /// An event type we do not know.
        UnknownType = "unknown_type",
        /// A field we do not know. It is in `raw` and in `extensions`.
        UnknownField = "unknown_field",
        /// A value that the protocol does not allow, or a required field that is missing.
        InvalidField = "invalid_field",
        /// A key that stands twice: the last was taken.
        DuplicateKey = "duplicate_key",
        /// Lines in an order that makes no sense, such as a result without its call.
        ProtocolViolation = "protocol_violation",
        /// A call that the agent made without permission.
        PermissionViolation = "permission_violation",
        /// The agent was started again.
        Retry = "retry",
        /// A decision of ours that makes a difference, such as handing a large prompt over as a file.
        Notice = "notice",
        /// Records of a session file that are not in its final state.
        SessionRecords = "session_records",
        /// A message of the protocol that has no event of its own, such as a handshake. Nothing is wrong with it.
        Protocol = "protocol",
    }
}
