//! The findings of `lapidary hooks test`: the hooks that ran, the input and output of each, and the combined effect.

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::open_enum::open_enum;

/// The version that a report carries in `schema`.
pub const SCHEMA: &str = "lapidary.hooks-test/1";

/// The hooks of an event, tried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookTest {
    /// The vocabulary and its version, `lapidary.hooks-test/1`. Derived.
    pub schema: String,
    /// The event, such as `BeforeTool`. Upstream.
    pub event: String,
    /// What happened at each moment: one, or as many as a recording has. Derived.
    pub moments: Vec<HookMoment>,
    /// Why no hook of any settings ran, if the folder is not trusted and there are such hooks: the test says nothing about them. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Definitions that do not count, and why, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Remarks about the settings, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A moment at which hooks run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookMoment {
    /// What matchers were compared with: a tool's name, or the word of a session's event. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The input of the hooks. Upstream and derived, as the CLI would send it.
    pub payload: Json,
    /// How they follow one another. Derived.
    pub order: HookOrder,
    /// The hooks that ran, in the order of the plan. Derived.
    pub hooks: Vec<HookTrial>,
    /// The others of the event, and why each did not run. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<HookNotRun>,
    /// Their combined answer; absent if none of them answered. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Json>,
    /// The effects, in this order. Derived.
    pub effects: Vec<HookEffect>,
    /// Points where the CLI's decision is unknown, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

/// A hook of the event that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookNotRun {
    /// Its name, or else its command. Upstream.
    pub hook: String,
    /// The file it is written in. Derived.
    pub origin: String,
    /// Why: a file switches it off, its matcher does not match, or the same hook ran already. Derived.
    pub reason: String,
}

/// A hook that was tried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookTrial {
    /// Its name, or else its command. Upstream.
    pub hook: String,
    /// Its command. Upstream.
    pub command: String,
    /// The file it is written in. Derived.
    pub origin: String,
    /// The source that it counts as: `project`, `extensions`, … Derived.
    pub source: String,
    /// When it runs, as it is written. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// How long it may take, in milliseconds. Upstream.
    pub timeout_ms: u64,
    /// Its input, if a hook before it had changed that. Upstream and derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// Its exit code. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long it took, in milliseconds. Derived.
    pub duration_ms: u64,
    /// The hook's standard output. Upstream.
    pub stdout: String,
    /// The hook's standard error. Upstream.
    pub stderr: String,
    /// The number of bytes of output beyond the kept ones. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_bytes: Option<u64>,
    /// How its answer was read; absent if it has none. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<HookFormat>,
    /// Its answer. Derived from its output and its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// True if Gemini CLI would have let the call pass that this answer refuses. Derived.
    pub stricter: bool,
    /// True if it was ended because it took too long. Derived.
    pub timed_out: bool,
    /// Why it has no answer, if it should have one. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An effect of the hooks' answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookEffect {
    /// What. Derived.
    pub effect: HookEffectKind,
    /// In words: a reason, a context, a message, a prompt. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// With what: arguments, a request, an answer, tools. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

open_enum! {
    /// How hooks of a plan follow one another.
    pub enum HookOrder {
        /// All at once.
        Parallel = "parallel",
        /// One after the other.
        Sequential = "sequential",
    }
}

open_enum! {
    /// How a hook's answer was read.
    pub enum HookFormat {
        /// As JSON.
        Json = "json",
        /// As text, which its exit code gives a meaning.
        Text = "text",
    }
}

open_enum! {
    /// An effect of the hooks' answers.
    pub enum HookEffectKind {
        /// Everything ends here.
        Stop = "stop",
        /// It does not happen, or is not passed on.
        Block = "block",
        /// The user is asked.
        Ask = "ask",
        /// The tool gets other arguments.
        ReplaceToolInput = "replace_tool_input",
        /// Context is added for the model.
        AddContext = "add_context",
        /// Another tool runs, and its result takes the place of this one's.
        RunAnotherTool = "run_another_tool",
        /// The agent goes on with a prompt.
        GoOn = "go_on",
        /// The conversation so far is forgotten.
        ForgetContext = "forget_context",
        /// The model gets another request.
        ReplaceRequest = "replace_request",
        /// The model's answer is another one.
        ReplaceResponse = "replace_response",
        /// The model may call certain tools.
        SelectTools = "select_tools",
        /// The user gets a message.
        Tell = "tell",
    }
}
