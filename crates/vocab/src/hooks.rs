//! The output of `lapidary hooks`: hooks, their problems, and changes to them.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

/// The version that a list carries in `schema`.
pub const LIST_SCHEMA: &str = "lapidary.hooks/1";
/// The version that a check carries in `schema`.
pub const CHECK_SCHEMA: &str = "lapidary.hooks-check/1";
/// The version that a change carries in `schema`.
pub const CHANGE_SCHEMA: &str = "lapidary.hooks-change/1";

/// The hooks of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookList {
    /// The vocabulary and its version, `lapidary.hooks/1`. Derived.
    pub schema: String,
    /// The workspace. Derived.
    pub workspace: String,
    /// Whether the workspace is trusted. In one that is not, no hook of any settings runs. Derived.
    pub trusted: bool,
    /// The hooks that could run, in the order in which they would. Derived.
    pub hooks: Vec<HookInfo>,
    /// Definitions that do not count. Derived.
    pub left_out: Vec<LeftOutHook>,
    /// The files that switch off all hooks. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switched_off_by: Vec<String>,
    /// What Gemini CLI says when it starts with these hooks. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Remarks about the settings that hold them, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A hook that could run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    /// The event it is for. Upstream.
    pub event: String,
    /// Its name for people, also for `enable` and `disable`: its `name`, else its command. Upstream.
    pub name: String,
    /// The author's description. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The command line for the shell. Upstream.
    pub command: String,
    /// When it runs; absent if always. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// How many milliseconds it may take. Upstream, or Gemini CLI's default.
    pub timeout_ms: u64,
    /// Whether it makes the hooks of its event run one after the other. Upstream.
    pub sequential: bool,
    /// Whether a call goes on where the hook did not end by itself: its `failOpen`. Upstream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_open: bool,
    /// Whether it runs. Derived.
    pub enabled: bool,
    /// Why it never runs though it is switched on: its matcher can match nothing. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_runs: Option<String>,
    /// The files that switch it off. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_by: Vec<String>,
    /// What Gemini CLI takes it for: `project` for all settings, `extensions`. Derived.
    pub source: String,
    /// Whose settings it is really in. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<HookScope>,
    /// The extension it comes with. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// The file it is written in. Derived.
    pub path: String,
    /// The keys and positions that lead to it in that file. Derived.
    pub keys: Vec<String>,
}

/// A hook, event or file among the hooks that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LeftOutHook {
    /// The skipped item: a hook, an event, a file. Upstream.
    pub what: String,
    /// The file it is written in. Derived.
    pub path: String,
    /// The keys and positions that lead to it in that file. Derived.
    pub keys: Vec<String>,
    /// Why, in one sentence. Derived.
    pub reason: String,
}

open_enum! {
    /// Whose settings a hook is in.
    pub enum HookScope {
        /// The system's defaults.
        SystemDefaults = "system_defaults",
        /// The user's.
        User = "user",
        /// The workspace's.
        Workspace = "workspace",
        /// The system's, which overrule all others.
        System = "system",
    }
}

/// The problems of hooks as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookCheck {
    /// The vocabulary and its version, `lapidary.hooks-check/1`. Derived.
    pub schema: String,
    /// The workspace. Derived.
    pub workspace: String,
    /// How many findings are errors. Derived.
    pub errors: u64,
    /// How many are warnings. Derived.
    pub warnings: u64,
    /// All of them, the worst first. Derived.
    pub findings: Vec<HookFinding>,
}

/// A finding about a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookFinding {
    /// How bad it is. Derived.
    pub severity: HookSeverity,
    /// What sort of thing it is, in a word that stays the same. Derived.
    pub code: String,
    /// The file: settings, an extension's, or a script. Derived.
    pub path: String,
    /// The line in it, from one. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The letter in the line, from one. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The hook or event it is about. Upstream.
    pub subject: String,
    /// The problem, as a sentence. Derived.
    pub message: String,
    /// What to do about it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

open_enum! {
    /// How bad a finding is.
    pub enum HookSeverity {
        /// A hook's behaviour differs from its definition.
        Error = "error",
        /// It may not.
        Warning = "warning",
        /// It does, with an effect that may be unexpected.
        Note = "note",
    }
}

/// What `hooks enable`, `hooks disable` and `hooks migrate` changed, or would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookChange {
    /// The vocabulary and its version, `lapidary.hooks-change/1`. Derived.
    pub schema: String,
    /// The requested change. Derived.
    pub action: HookAction,
    /// The hook that was named. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether a file was written: false if this report is a preview, or if no change was needed. Derived.
    pub applied: bool,
    /// The files that changed, or would. Derived.
    pub changed: Vec<String>,
    /// Hooks that were added, or would be. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedHook>,
    /// Hooks that have no translation, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Points that the user should check, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

open_enum! {
    /// The requested change.
    pub enum HookAction {
        /// A hook was to be enabled.
        Enable = "enable",
        /// A hook was to be disabled.
        Disable = "disable",
        /// Hooks of another agent were to be added.
        Migrate = "migrate",
    }
}

/// A hook that was added to settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AddedHook {
    /// The event it is for. Derived.
    pub event: String,
    /// When it runs; absent if always. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The command line for the shell. Derived.
    pub command: String,
    /// Its timeout in milliseconds, if there is one. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}
