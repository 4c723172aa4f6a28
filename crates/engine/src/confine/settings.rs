//! The part of an agent's settings that runs programs or permits more: agents write the rest of these files as they like.

use serde_json::{Map, Value};

/// Keys of `settings.json` and the like, of Gemini CLI, Qwen Code and Claude Code.
const POWERFUL_KEYS: [&str; 16] = [
    "hooks",
    "hooksConfig",
    "mcpServers",
    "mcp",
    "tools",
    "permissions",
    "policyPaths",
    "adminPolicyPaths",
    "sandbox",
    "env",
    "apiKeyHelper",
    "statusLine",
    "enabledPlugins",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "skipDangerousModePermissionPrompt",
];

/// Of `security`, everything counts but how the user signs in, which Gemini CLI writes.
const SECURITY: &str = "security";
const AUTH: &str = "auth";

/// Where the permission mode stands. Gemini CLI (0.61) moves it from the second place to the first.
const APPROVAL_MODES: [(&str, &str); 2] = [
    ("general", "defaultApprovalMode"),
    ("tools", "approvalMode"),
];

/// The part of a settings file that runs programs or widens permissions, as text. None if there is no such part; the whole text
/// if it cannot be parsed.
pub(super) fn powerful_part(text: &str) -> Option<String> {
    let Ok(mut settings) = lapidary_gemini::settings::parse(text) else {
        return Some(text.to_owned());
    };
    let mut part = Map::new();
    let places =
        APPROVAL_MODES.map(|(section, key)| section_of(&mut settings, section)?.remove(key));
    if let Some(mode) = places.into_iter().flatten().next() {
        part.insert(APPROVAL_MODES[0].1.to_owned(), mode);
    }
    if let Some(security) = section_of(&mut settings, SECURITY) {
        security.remove(AUTH);
    }
    for key in POWERFUL_KEYS.into_iter().chain([SECURITY]) {
        let value = settings.remove(key).filter(|value| !is_empty(value));
        part.extend(value.map(|value| (key.to_owned(), value)));
    }
    (!part.is_empty()).then(|| Value::Object(part).to_string())
}

fn section_of<'a>(
    settings: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    settings.get_mut(name)?.as_object_mut()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_nothing_and_permit_nothing_have_no_powerful_part() {
        for text in [
            "{}",
            r#"{"ui": {"theme": "x"}, "security": {"auth": {"selectedType": "x"}}, "tools": {}}"#,
            "// a comment\n{\"general\": {\"vimMode\": true}, \"mcpServers\": {}}",
        ] {
            assert_eq!(powerful_part(text), None, "{text}");
        }
    }

    #[test]
    fn a_setting_that_runs_a_program_or_permits_more_changes_the_powerful_part() {
        let before = r#"{"ui": {"theme": "x"}, "tools": {"exclude": ["a"]}}"#;
        let same = r#"{ "tools": {"exclude": ["a"]}, "ui": {"theme": "y"} }"#;
        assert_eq!(powerful_part(before), powerful_part(same));
        for text in [
            r#"{"tools": {"exclude": []}}"#,
            r#"{"tools": {"exclude": ["a"]}, "hooks": {"BeforeTool": [1]}}"#,
            r#"{"tools": {"exclude": ["a"]}, "mcpServers": {"x": {"command": "x"}}}"#,
            r#"{"tools": {"exclude": ["a"]}, "security": {"folderTrust": {"enabled": false}}}"#,
            r#"{"tools": {"exclude": ["a"]}, "general": {"defaultApprovalMode": "yolo"}}"#,
            "no JSON",
        ] {
            assert_ne!(powerful_part(before), powerful_part(text), "{text}");
        }
    }

    #[test]
    fn a_permission_mode_that_the_agent_moves_to_its_new_place_is_the_same() {
        let old = r#"{"tools": {"approvalMode": "auto_edit", "core": ["x"]}}"#;
        let new = r#"{"tools": {"core": ["x"]}, "general": {"defaultApprovalMode": "auto_edit"}}"#;
        assert_eq!(powerful_part(old), powerful_part(new));
    }
}
