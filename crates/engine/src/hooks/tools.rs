//! Tools of agents over ACP: their names for hooks, and the input that hooks get about them. Gemini CLI runs its own hooks; this
//! is for all other agents, live and in recordings.

mod arguments;
mod names;
mod readable;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lapidary_gemini::hooks::HookPlan;
use lapidary_vocab::Json;
use lapidary_vocab::event::{ToolCompletion, ToolKind};
use lapidary_wire::gemini::hooks::{EventDetails, HookToolCall};
use serde_json::{Value, json};

use crate::policy::ToolAction;
use readable::MOST_LEVELS;

/// Hooks get so many files of a call, one by one.
pub const MOST_FILES: usize = 64;

/// A tool call that an agent wants to make.
#[derive(Debug, Clone, Copy)]
pub struct WantedCall<'a> {
    /// The effect that it would have.
    pub action: &'a ToolAction,
    /// The arguments, as the agent has them.
    pub input: &'a Json,
}

/// One side of a wanted call: a single call may run a command and also change files. A hook runs once per side and per file,
/// under the first of its names that the hook matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSide<'a> {
    /// The names of the tool. A hook for all tools gets the first: Gemini CLI's name for a tool with the same effect.
    pub names: Vec<String>,
    /// The files. A side without files has a single `None`.
    pub files: Vec<Option<&'a Path>>,
}

impl<'a> WantedCall<'a> {
    /// The sides of the call that hooks get. There is at least one, so that a hook for all tools runs for each call. They follow
    /// the action, so that a misleading name or kind of a tool hides no effect from hooks.
    pub fn sides(self) -> Vec<CallSide<'a>> {
        let files: Vec<_> = match self.action.paths.as_slice() {
            [] => vec![None],
            paths => paths
                .iter()
                .take(MOST_FILES)
                .map(|it| Some(&**it))
                .collect(),
        };
        let names = names::tool_names(self.action).into_iter();
        let sides = names.map(|names| CallSide {
            files: match names.first().map(String::as_str) {
                Some(names::SHELL) => vec![None],
                _ => files.clone(),
            },
            names,
        });
        sides.collect()
    }

    /// How many files hooks do not get, because there are too many. Hooks cannot have allowed these.
    pub fn files_left_out(self) -> usize {
        self.action.paths.len().saturating_sub(MOST_FILES)
    }

    /// Why hooks cannot get the whole call, if they cannot. Then no hook has allowed it.
    pub fn incomplete_reason(self) -> Option<String> {
        if readable::is_too_deep(self.input.token()) {
            return Some(format!(
                "hooks get arguments of at most {MOST_LEVELS} levels, and these have more"
            ));
        }
        let is_deep = |path: &PathBuf| path.as_os_str() == "/"; // stands for a path that is nested too deep
        if names::changes_files(self.action) && self.action.paths.iter().any(is_deep) {
            return Some("hooks cannot get all files: some are nested too deep".to_owned());
        }
        let unclear = "hooks cannot get the command: its arguments have no known shape";
        self.action.is_unclear.then(|| unclear.to_owned())
    }

    /// The call under one of its names, about one of its files.
    pub fn call(self, name: &str, file: Option<&Path>) -> HookToolCall {
        let arguments = arguments::tool_arguments(self, file);
        HookToolCall {
            name: name.to_owned(),
            input: arguments.value,
            verbatim: arguments.verbatim,
            ..HookToolCall::default()
        }
    }

    /// The notification of Gemini CLI when it asks, as far as the agent's request has the details.
    pub fn notice(self) -> EventDetails {
        let action = self.action;
        let title = action.title.as_deref().or(action.tool.as_deref());
        let title = title.unwrap_or("tool");
        let (kind, what, mut details) = self.user_question(title);
        let mut all = json!({"type": kind, "title": title});
        if let (Value::Object(all), Value::Object(details)) = (&mut all, &mut details) {
            all.append(details);
            all.retain(|_, value| !value.is_null());
        }
        EventDetails::Notification {
            notification_type: "ToolPermission".to_owned(),
            message: format!("Tool {title} requires {what}"),
            details: all,
        }
    }

    /// The question to the user: its type, the required permission, and its details.
    fn user_question(self, title: &str) -> (&'static str, &'static str, Value) {
        let action = self.action;
        match &action.kind {
            _ if names::runs_a_command(action) => {
                let command = action.command.clone().unwrap_or_default();
                let root = command.split_ascii_whitespace().next().map(str::to_owned);
                let details = json!({"command": command, "rootCommand": root.unwrap_or_default()});
                ("exec", "execution", details)
            }
            _ if names::changes_files(action) => {
                let path = action.paths.first();
                let name = path.and_then(|path| path.file_name());
                let name = name.map(|name| name.to_string_lossy().into_owned());
                let path = path.map(|path| path.to_string_lossy().into_owned());
                let details = json!({"fileName": name, "filePath": path});
                ("edit", "editing", details)
            }
            ToolKind::Mcp => {
                let details = json!({"serverName": action.mcp_server, "toolName": action.tool});
                ("mcp", "MCP", details)
            }
            _ => ("info", "information", json!({"prompt": title})),
        }
    }
}

/// Plans for several names of the same tool, in which each hook runs once. Plans without hooks are dropped.
pub fn once_each<T>(plans: impl IntoIterator<Item = (T, HookPlan)>) -> Vec<(T, HookPlan)> {
    let mut seen = HashSet::new();
    let plans = plans.into_iter().map(|(name, mut plan)| {
        plan.hooks.retain(|hook| seen.insert(hook.key()));
        (name, plan)
    });
    plans.filter(|(_, plan)| !plan.hooks.is_empty()).collect()
}

/// The result of a call, as far as the agent reports it: the same for the model and the user.
pub fn tool_response(done: &ToolCompletion) -> Value {
    let output = done.output.as_ref();
    let output = output.map(|output| readable::readable_value(output.token()).value);
    let output = output.unwrap_or_else(|| "".into());
    let mut response = json!({"llmContent": output, "returnDisplay": output});
    if done.is_error {
        response["error"] = json!({"message": output});
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_tool_call_is_reported_to_hooks_as_an_error() {
        let response = |status: &str, is_error: bool| {
            let done = json!({"callId": "c", "status": status, "output": "x", "isError": is_error});
            tool_response(&serde_json::from_str(&done.to_string()).unwrap())
        };
        let mut told = json!({"llmContent": "x", "returnDisplay": "x"});
        assert_eq!(response("completed", false), told);
        told["error"] = json!({"message": "x"});
        assert_eq!(response("failed", true), told);
    }

    #[test]
    fn a_notification_leaves_unknown_details_out() {
        let action = ToolAction {
            tool: Some("my_edit".to_owned()),
            ..ToolAction::new(ToolKind::Edit)
        };
        let input = &Json::empty_object();
        let wanted = WantedCall {
            action: &action,
            input,
        };
        let EventDetails::Notification { details, .. } = wanted.notice() else {
            panic!("it is a notification");
        };
        assert_eq!(details, json!({"type": "edit", "title": "my_edit"}));
    }
}
