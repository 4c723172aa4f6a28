//! Claude Code behind its adapter (0.99): settings of the session, whose `ask` comes before every `allow` of other settings and of hooks.

use lapidary_vocab::Json;
use lapidary_vocab::event::ToolKind;
use serde_json::json;

use super::{OwnPolicy, PolicyInput, ToolRow};

const TOOLS: &[ToolRow] = &[
    ("Read", ToolKind::Read),
    ("Glob", ToolKind::Search),
    ("Grep", ToolKind::Search),
    ("Edit", ToolKind::Edit),
    ("Write", ToolKind::Edit),
    ("NotebookEdit", ToolKind::Edit),
    ("Bash", ToolKind::Execute),
    ("PowerShell", ToolKind::Execute),
    ("Monitor", ToolKind::Execute),
    ("WebFetch", ToolKind::Fetch),
    ("WebSearch", ToolKind::Fetch),
];

pub(super) fn own_policy(input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    let ask = input.ask_list(TOOLS)?;
    let permissions = json!({ "ask": ask, "disableBypassPermissionsMode": "disable" });
    let options = json!({ "settings": { "permissions": permissions } });
    Some(OwnPolicy {
        session_meta: Some(Json::from_value(
            &json!({ "claudeCode": { "options": options } }),
        )),
        ..OwnPolicy::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::agents::own_policy::testing::asked;
    use crate::policy::PermissionMode;

    #[track_caller]
    fn check(mode: PermissionMode, deny: &[&str], expected: &[&str]) {
        let meta = asked("claude", mode, deny).unwrap().session_meta.unwrap();
        let meta: Value = serde_json::from_str(meta.as_str()).unwrap();
        let ask = &meta["claudeCode"]["options"]["settings"]["permissions"]["ask"];
        assert_eq!(ask, &json!(expected));
    }

    #[test]
    fn claude_asks_about_tools_that_are_not_allowed() {
        let all = PermissionMode::BypassPermissions;
        check(all, &["execute"], &["Bash", "PowerShell", "Monitor"]);
        check(all, &["tool=Read"], &["Read", "mcp__*"]);
        let edits = ["Edit", "Write", "NotebookEdit"];
        let rest = [
            "Bash",
            "PowerShell",
            "Monitor",
            "WebFetch",
            "WebSearch",
            "mcp__*",
        ];
        let default = [&edits[..], &rest].concat();
        check(PermissionMode::Default, &[], &default);
    }
}
