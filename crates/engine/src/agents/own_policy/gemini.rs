//! Gemini CLI (0.61): a policy file of the highest tier, which no settings of the project outweigh.

use std::fmt::Write as _;

use lapidary_vocab::event::ToolKind;

use super::{AskAbility, OwnPolicy, PolicyInput, ToolRow};
use crate::policy::PermissionMode;
use crate::policy::SENSITIVE_NAMES;

const SHELL: &str = "run_shell_command";

const TOOLS: &[ToolRow] = &[
    ("read_file", ToolKind::Read),
    ("read_many_files", ToolKind::Read),
    ("list_directory", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("write_file", ToolKind::Edit),
    ("replace", ToolKind::Edit),
    (SHELL, ToolKind::Execute),
    ("web_fetch", ToolKind::Fetch),
    ("google_web_search", ToolKind::Browse),
    ("save_memory", ToolKind::Memory),
    ("activate_skill", ToolKind::Read),
];

const EDITORS: [&str; 2] = ["write_file", "replace"];

/// Within the tier.
const PRIORITY: u32 = 900;
const ABOVE: u32 = 950;

pub(super) fn own_policy(input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    let mut file = String::new();
    for tool in input.asked_tools(TOOLS) {
        let pattern = match (tool, input.asking) {
            // Without a pattern, its heuristics make an `allow` of it for commands that only read, such as `cat`.
            (SHELL, AskAbility::Possible) => Some(".".to_owned()),
            // Where it cannot ask, only edits of sensitive files are denied: files that decide about later commands or
            // permissions.
            (tool, AskAbility::Impossible) if EDITORS.contains(&tool) && accepts_edits(input) => {
                Some(sensitive_files())
            }
            _ => None,
        };
        let condition = format!("toolName = {}", toml_string(tool));
        write_rule(&mut file, input.asking, &condition, pattern.as_deref());
    }
    if input.asking == AskAbility::Impossible {
        allow_commands(&mut file, input.allowed_commands);
    }
    if input.asks_about_servers() {
        write_rule(&mut file, input.asking, "toolName = \"mcp_*\"", None);
        let found = "toolName = \"discovered_tool_*\"";
        write_rule(&mut file, input.asking, found, None);
        if input.asking == AskAbility::Impossible {
            allow_servers(&mut file, input);
        }
    }
    (!file.is_empty()).then(|| OwnPolicy {
        args: vec!["--admin-policy".into(), input.file.into()],
        file: Some(file),
        ..OwnPolicy::default()
    })
}

/// Where it can ask, we know these commands, too.
fn allow_commands(file: &mut String, beginnings: &[String]) {
    for beginning in beginnings {
        let beginning = toml_string(beginning);
        let _ = write!(
            file,
            "[[rule]]\ntoolName = \"{SHELL}\"\ncommandPrefix = {beginning}\ndecision = \"allow\"\npriority = {ABOVE}\n\n"
        );
    }
}

/// Where it can ask, we know which server a tool belongs to.
fn allow_servers(file: &mut String, input: &PolicyInput<'_>) {
    for server in input.allowed_servers() {
        let tools = toml_string(&format!("mcp_{server}_*"));
        let _ = write!(
            file,
            "[[rule]]\ntoolName = {tools}\ndecision = \"allow\"\npriority = {ABOVE}\n\n"
        );
    }
}

fn accepts_edits(input: &PolicyInput<'_>) -> bool {
    input.policy.mode() == PermissionMode::AcceptEdits
}

/// Arguments that name a file with a sensitive name in its path.
fn sensitive_files() -> String {
    let names = SENSITIVE_NAMES.map(|name| name.replace('.', "\\."));
    format!("\"file_path\":\"([^\"]*/)?({})[/\"]", names.join("|"))
}

fn write_rule(file: &mut String, asking: AskAbility, condition: &str, pattern: Option<&str>) {
    let decision = match asking {
        AskAbility::Possible => "ask_user",
        AskAbility::Impossible => "deny",
    };
    let pattern = pattern.map(|pattern| format!("argsPattern = {}\n", toml_string(pattern)));
    let pattern = pattern.unwrap_or_default();
    let _ = write!(
        file,
        "[[rule]]\n{condition}\n{pattern}decision = \"{decision}\"\npriority = {PRIORITY}\n\n"
    );
}

/// A string of TOML, whose escapes are those of JSON.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::agents::own_policy::testing::given;
    use crate::policy::{PermissionEffect, Policy, Rule, Rules};

    /// The file that the agent gets.
    fn file(mode: PermissionMode, deny: &[&str], asking: AskAbility) -> Option<String> {
        given("gemini", mode, deny, (asking, &[]))?.file
    }

    #[test]
    fn gemini_asks_about_tools_that_are_not_allowed_and_every_command() {
        let asked = file(PermissionMode::Default, &[], AskAbility::Possible).unwrap();
        let shell =
            "toolName = \"run_shell_command\"\nargsPattern = \".\"\ndecision = \"ask_user\"";
        assert!(asked.contains(shell), "{asked}");
        assert!(
            !asked.contains("read_file") && !asked.contains("git"),
            "{asked}"
        );
        let narrowed = file(PermissionMode::Default, &["read:x"], AskAbility::Possible).unwrap();
        assert!(narrowed.contains("\"read_file\""), "{narrowed}");
        let all = PermissionMode::BypassPermissions;
        let some = file(all, &["mcp:vault"], AskAbility::Possible).unwrap();
        assert!(
            some.contains("mcp_*") && !some.contains("write_file"),
            "{some}"
        );
    }

    #[test]
    fn gemini_may_use_a_server_that_is_allowed_where_it_cannot_ask() {
        let rule = Rule::parse_flag(PermissionEffect::Allow, "mcp:lapidary", Path::new("/w"));
        let policy = Policy::new(Rules::new([rule.unwrap()]), PermissionMode::Default);
        let input = |asking| PolicyInput {
            policy: &policy,
            state: &[],
            file: Path::new("/rules"),
            asking,
            allowed_commands: &[],
            servers: &[],
            project_files: &[],
            agent_config: None,
        };
        let names = ["lapidary".to_owned(), "other".to_owned()];
        let denied = own_policy(&PolicyInput {
            servers: &names,
            ..input(AskAbility::Impossible)
        });
        let denied = denied.unwrap().file.unwrap();
        let allowed = "toolName = \"mcp_lapidary_*\"\ndecision = \"allow\"\npriority = 950";
        assert!(denied.contains(allowed), "{denied}");
        assert!(
            denied.contains("\"mcp_*\"\ndecision = \"deny\""),
            "{denied}"
        );
        assert!(!denied.contains("mcp_other"), "{denied}");
        let asked = own_policy(&PolicyInput {
            servers: &names,
            ..input(AskAbility::Possible)
        });
        assert!(!asked.unwrap().file.unwrap().contains("mcp_lapidary"));
    }

    #[test]
    fn gemini_denies_tools_where_it_cannot_ask() {
        let denied = file(PermissionMode::Default, &[], AskAbility::Impossible).unwrap();
        assert!(
            !denied.contains("ask_user") && !denied.contains("argsPattern"),
            "{denied}"
        );
        let edits = file(PermissionMode::AcceptEdits, &[], AskAbility::Impossible).unwrap();
        let pattern = r#"argsPattern = "\"file_path\":\"([^\"]*/)?(\\.git|\\.gitmodules|"#;
        assert!(edits.contains(pattern), "{edits}");
        assert!(
            edits.contains("\"web_fetch\"\ndecision = \"deny\""),
            "{edits}"
        );
    }
}
