//! opencode (1.18): permissions by a variable. By itself it asks for nothing, and a project can outweigh the variable by the
//! permissions of an agent of its own, so the configuration of the project is not loaded.

use lapidary_vocab::event::ToolKind;
use serde_json::{Map, Value, json};

use super::{OwnPolicy, PolicyInput, ToolRow};
use crate::policy::ToolCoverage;

/// Its names of permissions. `edit` is for every tool that writes.
const TOOLS: &[ToolRow] = &[
    ("read", ToolKind::Read),
    ("list", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("grep", ToolKind::Search),
    ("lsp", ToolKind::Search),
    ("edit", ToolKind::Edit),
    ("bash", ToolKind::Execute),
    ("webfetch", ToolKind::Fetch),
    ("websearch", ToolKind::Fetch),
    ("codesearch", ToolKind::Fetch),
    ("todowrite", ToolKind::Think),
    ("todoread", ToolKind::Think),
    ("task", ToolKind::Think),
    ("skill", ToolKind::Think),
    ("question", ToolKind::Ask),
    ("plan_enter", ToolKind::Think),
    ("plan_exit", ToolKind::Think),
];

/// Rules name the tools, not the permissions.
const WRITERS: [&str; 4] = ["write", "edit", "patch", "apply_patch"];

pub(super) fn own_policy(input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    let mut permission = Map::new();
    if input.asks_about_servers() {
        permission.insert("*".to_owned(), json!("ask")); // tools of servers have any name
    }
    for (name, kind) in TOOLS {
        if needs_question(input, name, kind) {
            permission.insert((*name).to_owned(), json!("ask"));
        } else if permission.contains_key("*") {
            permission.insert((*name).to_owned(), default_permission(name));
        }
    }
    if !permission.values().any(|value| value == "ask") {
        return None;
    }
    permission.insert("external_directory".to_owned(), outside_permission(input));
    let mut own = OwnPolicy::default();
    let text = Value::Object(permission).to_string();
    own.env.push(("OPENCODE_PERMISSION".into(), text.into()));
    if !input.project_files.is_empty() {
        own.env
            .push(("OPENCODE_DISABLE_PROJECT_CONFIG".into(), "1".into()));
        own.notices.push(format!(
            "opencode does not load the project's {}, which could allow more than the rules do: `--trust-workspace` loads it",
            input.project_files.join(", ")
        ));
    }
    Some(own)
}

fn needs_question(input: &PolicyInput<'_>, name: &str, kind: &ToolKind) -> bool {
    let is_asked = |name: &str| input.tool_coverage(name, kind, None) >= ToolCoverage::Asked;
    match name {
        "edit" => WRITERS.into_iter().any(is_asked),
        name => is_asked(name),
    }
}

/// Its default for a permission, needed where our `*` would make it ask.
fn default_permission(name: &str) -> Value {
    match name {
        "read" => {
            json!({ "*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow" })
        }
        _ => json!("allow"),
    }
}

/// Files outside the workspace are asked about, but for its own.
fn outside_permission(input: &PolicyInput<'_>) -> Value {
    let own = input.state.iter().map(|place| {
        let below = place.join("*");
        (below.to_string_lossy().into_owned(), json!("allow"))
    });
    let all = std::iter::once(("*".to_owned(), json!("ask"))).chain(own);
    Value::Object(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::own_policy::AskAbility;
    use crate::agents::own_policy::testing::{asked, given};
    use crate::policy::PermissionMode;

    fn permission(own: &OwnPolicy) -> Value {
        let (name, text) = &own.env[0];
        assert_eq!(name, "OPENCODE_PERMISSION");
        serde_json::from_str(text.to_str().unwrap()).unwrap()
    }

    #[test]
    fn opencode_asks_about_tools_that_are_not_allowed() {
        let own = asked("opencode", PermissionMode::Default, &[]).unwrap();
        let told = permission(&own);
        let first = told.as_object().unwrap().iter().next().unwrap();
        assert_eq!(
            first,
            (&"*".to_owned(), &json!("ask")),
            "what follows it wins"
        );
        for (name, expected) in [("bash", "ask"), ("edit", "ask"), ("grep", "allow")] {
            assert_eq!(told[name], expected, "{name}");
        }
        assert_eq!(told["read"]["*"], "allow");
        let outside = json!({ "*": "ask", "/home/me/.state/*": "allow" });
        assert_eq!(told["external_directory"], outside);
        assert_eq!(own.env.len(), 1);
    }

    #[test]
    fn a_rule_about_one_of_its_tools_that_write_is_asked_about_as_an_edit() {
        let all = PermissionMode::BypassPermissions;
        let own = asked("opencode", all, &["edit"]).unwrap();
        assert_eq!(permission(&own)["edit"], "ask");
        assert_eq!(permission(&own)["bash"], Value::Null);
        let own = asked("opencode", all, &["tool=apply_patch"]).unwrap();
        assert_eq!(permission(&own)["edit"], "ask");
        assert_eq!(permission(&own)["bash"], "allow");
    }

    #[test]
    fn the_configuration_of_a_project_is_not_loaded() {
        let files = ["`opencode.json`".to_owned()];
        let in_project = (AskAbility::Possible, &files[..]);
        let own = given("opencode", PermissionMode::Default, &[], in_project).unwrap();
        assert_eq!(own.env[1].0, "OPENCODE_DISABLE_PROJECT_CONFIG");
        assert!(
            own.notices[0].contains("`opencode.json`"),
            "{:?}",
            own.notices
        );
    }
}
