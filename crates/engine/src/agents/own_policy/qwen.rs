//! Qwen Code (0.24): a settings file of the system's tier, whose `ask` comes before every `allow` of the user's and the project's.

use lapidary_vocab::event::ToolKind;
use serde_json::json;

use super::{OwnPolicy, PolicyInput, ToolRow};

/// Each under the name that its rules have.
const TOOLS: &[ToolRow] = &[
    ("read_file", ToolKind::Read),
    ("list_directory", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("edit", ToolKind::Edit),
    ("write_file", ToolKind::Edit),
    ("run_shell_command", ToolKind::Execute),
    ("web_fetch", ToolKind::Fetch),
    ("web_search", ToolKind::Fetch),
    ("save_memory", ToolKind::Memory),
];

pub(super) fn own_policy(input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    let ask = input.ask_list(TOOLS)?;
    let file = json!({ "permissions": { "ask": ask } }).to_string();
    Some(OwnPolicy {
        env: vec![("QWEN_CODE_SYSTEM_SETTINGS_PATH".into(), input.file.into())],
        file: Some(file),
        ..OwnPolicy::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::agents::own_policy::testing::asked;
    use crate::policy::PermissionMode;

    #[test]
    fn qwen_asks_about_tools_that_are_not_allowed() {
        let own = asked("qwen", PermissionMode::BypassPermissions, &["fetch"]).unwrap();
        let file = r#"{"permissions":{"ask":["web_fetch","web_search"]}}"#;
        assert_eq!(own.file.as_deref(), Some(file));
        assert_eq!(own.env[0].1, "/rules");
    }
}
