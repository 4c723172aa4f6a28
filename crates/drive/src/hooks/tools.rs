//! Tools of agents that are spoken to: what they are called where hooks are concerned, and what hooks are told about them. Gemini CLI
//! tells its own hooks itself; this is for everybody else, while they run and once they are recorded.

use std::collections::HashSet;

use lapidary_home::hooks::Plan;
use lapidary_normalize::tools;
use lapidary_vocab::Json;
use lapidary_vocab::event::{ToolCompletion, ToolKind};
use lapidary_wire::gemini::hooks::{Details, ToolCall};
use serde_json::{Map, Value, json};

use crate::policy::Deed;

/// Something that an agent wants to do, and with which arguments.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What it comes to.
    pub deed: &'a Deed,
    /// The arguments, as the agent has them.
    pub input: &'a Json,
}

impl Wanted<'_> {
    /// What a tool goes by: the agent's own name for it, and what Gemini CLI calls a tool that does the same, as matchers have it. There
    /// is always one, so that a hook for all tools hears of all; and a name alone keeps nobody from hearing what is really done.
    pub fn names(self) -> Vec<String> {
        let deed = self.deed;
        let is_word = |char: char| char.is_ascii_alphanumeric() || "_-.:".contains(char);
        let own = deed.tool.as_deref().filter(|name| !name.is_empty());
        let word = own.filter(|name| name.chars().all(is_word));
        let is_known = word.is_some_and(|own| own.contains('_') && tools::kind(own) == deed.kind);
        let mut names: Vec<String> = word.map(str::to_owned).into_iter().collect();
        if !is_known {
            let same = self.counterparts().iter();
            names.extend(same.map(|name| (*name).to_owned()));
        }
        if names.is_empty() {
            let title = own.or(deed.title.as_deref()).unwrap_or("unknown");
            names.push(title.to_owned());
        }
        names
    }

    /// The tools of Gemini CLI that do the same.
    fn counterparts(self) -> &'static [&'static str] {
        let runs_a_command = || {
            let arguments = self.arguments();
            arguments.get("command").is_some_and(Value::is_string)
        };
        match self.deed.kind {
            ToolKind::Execute => &["run_shell_command"],
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => &["write_file", "replace"],
            ToolKind::Read => &["read_file"],
            ToolKind::Search => &["grep_search", "glob"],
            ToolKind::Fetch => &["web_fetch"],
            ToolKind::Browse => &["google_web_search"],
            _ if runs_a_command() => &["run_shell_command"],
            _ => &[],
        }
    }

    /// The call under one of its names.
    pub fn call(self, name: String) -> ToolCall {
        ToolCall {
            name,
            input: self.arguments(),
            ..ToolCall::default()
        }
    }

    /// The arguments. Gemini CLI (0.61) sends none over ACP: then they are what is known about the call, under its own names.
    fn arguments(self) -> Value {
        let given = serde_json::from_str::<Map<String, Value>>(self.input.as_str());
        let mut given = given.unwrap_or_default();
        let Deed { command, paths, .. } = self.deed;
        let path = paths
            .first()
            .map(|path| path.to_string_lossy().into_owned());
        let known = [
            ("command", command.clone()),
            ("file_path", path.filter(|_| command.is_none())),
        ];
        for (key, value) in known {
            if let Some(value) = value
                && !given.contains_key(key)
            {
                given.insert(key.to_owned(), value.into());
            }
        }
        Value::Object(given)
    }

    /// What Gemini CLI says when it asks, as far as an agent tells.
    pub fn notice(self) -> Details {
        let deed = self.deed;
        let title = deed.title.as_deref().or(deed.tool.as_deref());
        let title = title.unwrap_or("tool");
        let (kind, what, mut details) = self.question(title);
        let mut all = json!({"type": kind, "title": title});
        if let (Value::Object(all), Value::Object(details)) = (&mut all, &mut details) {
            all.append(details);
            all.retain(|_, value| !value.is_null());
        }
        Details::Notification {
            notification_type: "ToolPermission".to_owned(),
            message: format!("Tool {title} requires {what}"),
            details: all,
        }
    }

    /// What is asked about: its sort, what it requires, and its details.
    fn question(self, title: &str) -> (&'static str, &'static str, Value) {
        let deed = self.deed;
        match &deed.kind {
            ToolKind::Execute => {
                let command = deed.command.clone().unwrap_or_default();
                let root = command.split_ascii_whitespace().next().map(str::to_owned);
                let details = json!({"command": command, "rootCommand": root.unwrap_or_default()});
                ("exec", "execution", details)
            }
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
                let path = deed.paths.first();
                let name = path.and_then(|path| path.file_name());
                let name = name.map(|name| name.to_string_lossy().into_owned());
                let path = path.map(|path| path.to_string_lossy().into_owned());
                let details = json!({"fileName": name, "filePath": path});
                ("edit", "editing", details)
            }
            ToolKind::Mcp => {
                let details = json!({"serverName": deed.mcp_server, "toolName": deed.tool});
                ("mcp", "MCP", details)
            }
            _ => ("info", "information", json!({"prompt": title})),
        }
    }
}

/// Plans for several names of the same thing, of which each hook runs once. Those that have none left are gone.
pub fn once_each<T>(plans: impl IntoIterator<Item = (T, Plan)>) -> Vec<(T, Plan)> {
    let mut seen = HashSet::new();
    let plans = plans.into_iter().map(|(name, mut plan)| {
        plan.hooks.retain(|hook| seen.insert(hook.key()));
        (name, plan)
    });
    plans.filter(|(_, plan)| !plan.hooks.is_empty()).collect()
}

/// What came of a call, as far as the agent tells: the model and the user see the same.
pub fn tool_response(done: &ToolCompletion) -> Value {
    let output = done.output.as_ref();
    let output = output.map(|output| serde_json::from_str(output.as_str()).unwrap_or_default());
    let output: Value = output.unwrap_or_else(|| "".into());
    let mut response = json!({"llmContent": output, "returnDisplay": output});
    if done.is_error {
        response["error"] = json!({"message": output});
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(kind: ToolKind, tool: &str) -> Deed {
        Deed {
            kind,
            tool: Some(tool.to_owned()),
            title: Some("Title".to_owned()),
            command: None,
            paths: vec!["/w/a.txt".into()],
            mcp_server: None,
        }
    }

    #[test]
    fn a_tool_goes_by_its_own_name_and_by_what_gemini_cli_calls_it() {
        let check = |kind, tool, expected: &[&str]| {
            let deed = deed(kind, tool);
            let input = Json::from(lapidary_json::SharedToken::parse("{}").unwrap());
            let wanted = Wanted {
                deed: &deed,
                input: &input,
            };
            assert_eq!(wanted.names(), expected, "{tool}");
        };
        check(ToolKind::Edit, "write_file", &["write_file"]);
        check(ToolKind::Edit, "Edit", &["Edit", "write_file", "replace"]);
        check(
            ToolKind::Edit,
            "Writing to n.txt",
            &["write_file", "replace"],
        );
        check(ToolKind::Execute, "Bash", &["Bash", "run_shell_command"]);
        check(ToolKind::Mcp, "mcp_server_tool", &["mcp_server_tool"]);
        // What it calls itself hides nothing.
        let shell = ["read_file", "run_shell_command"];
        check(ToolKind::Execute, "read_file", &shell);
        check(
            ToolKind::Delete,
            "delete my file",
            &["write_file", "replace"],
        );
        check(ToolKind::Think, "think a while", &["think a while"]);
        check(ToolKind::Unclassified, "", &["Title"]);
        let service = ["write_file", "replace"];
        check(ToolKind::Edit, "fs/write_text_file", &service);
    }

    #[test]
    fn arguments_are_the_agents_own_and_what_is_known() {
        let check = |input: &str, deed: &Deed, expected: Value| {
            let input = Json::from(lapidary_json::SharedToken::parse(input).unwrap());
            let wanted = Wanted {
                deed,
                input: &input,
            };
            assert_eq!(wanted.arguments(), expected);
        };
        let edit = deed(ToolKind::Edit, "write_file");
        check("{}", &edit, json!({"file_path": "/w/a.txt"}));
        let own = json!({"file_path": "a.txt", "content": "x"});
        check(&own.to_string(), &edit, own);
        let run = Deed {
            command: Some("ls".to_owned()),
            ..deed(ToolKind::Execute, "run_shell_command")
        };
        check("{}", &run, json!({"command": "ls"}));
    }
}
