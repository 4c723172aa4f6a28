//! The hooks that Gemini CLI has told the user about.

use std::fs;

use lapidary_gemini::hooks::TrustedHooks;
use serde_json::{Value, json};

use super::{WORKSPACE, one, registry, trusted};

const FILE: &str = "home/.gemini/trusted_hooks.json";

#[test]
fn hooks_that_are_new_are_warned_of_once_they_are_recorded_no_more() {
    let settings = json!({"hooks": {
        "BeforeTool": [{"hooks": [
            {"type": "command", "command": "a"},
            {"type": "command", "command": "b", "name": "n"},
            {"type": "command", "command": "a"},
            {"type": "runtime", "name": "r"},
            {"type": "plugin"},
        ]}],
        "Unknown": [{"hooks": [{"type": "command", "command": "u"}]}],
        "enabled": true,
    }});
    let machine = trusted().file(WORKSPACE, &settings.to_string());
    let warnings = registry(&machine).warnings;
    let expected = "WARNING: The following project-level hooks have been detected in this workspace:\n  - a\n  - n\n  - unknown-hook\n  - u\n\nThese hooks will be executed. If you did not configure these hooks or do not trust this project,\nplease review the project settings (.gemini/settings.json) and remove them.";
    assert_eq!(warnings[0], expected);
    assert!(!machine.path(FILE).exists(), "reading writes nothing");

    let mut seen = TrustedHooks::read(&machine.home());
    seen.record(&machine.project(), settings["hooks"].as_object().unwrap())
        .unwrap();
    let written: Value =
        serde_json::from_str(&fs::read_to_string(machine.path(FILE)).unwrap()).unwrap();
    let project = machine.project().display().to_string();
    assert_eq!(written, json!({ project: [":a", "n:b", ":", ":u"] }));
    assert_eq!(
        registry(&machine).warnings.len(),
        1,
        "only that of the unknown event is left"
    );
}

#[test]
fn trusted_hooks_of_other_projects_stay_and_a_broken_file_is_empty() {
    let machine = trusted()
        .file(WORKSPACE, &one("BeforeTool", "a").to_string())
        .file(FILE, r#"{"/elsewhere": ["x:y"]}"#);
    let hooks = one("BeforeTool", "a");
    let mut seen = TrustedHooks::read(&machine.home());
    seen.record(&machine.project(), hooks["hooks"].as_object().unwrap())
        .unwrap();
    let text = fs::read_to_string(machine.path(FILE)).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let project = machine.project().display().to_string();
    assert_eq!(written, json!({"/elsewhere": ["x:y"], project: [":a"]}));

    let machine = machine.file(FILE, "{ broken");
    assert_eq!(registry(&machine).warnings.len(), 1);
    let mut seen = TrustedHooks::read(&machine.home());
    let hooks = hooks["hooks"].as_object().unwrap();
    assert!(seen.record(&machine.project(), hooks).is_err());
    let text = fs::read_to_string(machine.path(FILE)).unwrap();
    assert_eq!(
        text, "{ broken",
        "what nobody can read is nobody's to overwrite"
    );
}
