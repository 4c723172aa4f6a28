//! The notices about settings files.

use std::fs;

use super::{TRUST, USER, WORKSPACE, trusted};
use crate::machine::Machine;

/// The notices, without the part of the paths that is different each time.
fn told(machine: &Machine) -> Vec<String> {
    let root = format!("{}/", machine.path("").display());
    let root = root.replace("//", "/");
    let notices = machine.setup().notices;
    let lines = notices
        .iter()
        .map(|notice| notice.to_string().replace(&root, ""));
    lines.collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|line| format!("{USER}{line}"))
        .collect();
    assert_eq!(told(&Machine::new().file(USER, text)), expected, "{text}");
}

#[test]
fn a_setting_of_a_wrong_type_is_named_with_its_place() {
    check(
        "{\n  // é\n  \"skills\": {\n    \"é\": 1, \"disabled\": \"pdf\"\n  }\n}",
        &[
            ":4:13: `skills.disabled`: is `\"pdf\"`, not a list",
            ":4:5: `skills.é`: is not a key that Gemini CLI knows",
        ],
    );
    check(
        r#"{"general": {"defaultApprovalMode": "yolo"}}"#,
        &[
            ":1:14: `general.defaultApprovalMode`: is `\"yolo\"`, not one of `default`, `auto_edit`, `plan`",
        ],
    );
    check(
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"timeout": "soon"}]}]}}"#,
        &[":1:39: `hooks.BeforeTool.0.hooks.0.timeout`: is `\"soon\"`, not a number"],
    );
    check(
        r#"{"hooksConfig": {"enabled": null}}"#,
        &[":1:18: `hooksConfig.enabled`: is `null`, not true or false"],
    );
    check(
        r#"{"tools": {"sandbox": {"command": "chroot"}}}"#,
        &[
            ":1:24: `tools.sandbox.command`: is `\"chroot\"`, not one of `docker`, `podman`, `sandbox-exec`, `runsc`, `lxc`",
        ],
    );
    check(
        r#"{"security": []}"#,
        &[":1:2: `security`: is a list, not an object"],
    );
}

#[test]
fn a_setting_that_ends_gemini_cli_is_reported() {
    let ends = "where that counts, Gemini CLI ends with an error";
    let item = format!(":1:31: `skills.disabled.1`: is `1`, not a text; {ends}");
    check(r#"{"skills": {"disabled": ["x", 1]}}"#, &[&item]);
    let list = format!(":1:13: `skills.disabled`: is `1`, not a list; {ends}");
    check(r#"{"skills": {"disabled": 1}}"#, &[&list]);
    let folders = "home/.gemini/trustedFolders.json";
    for (text, problem) in [
        ("[]", "does not hold a JSON object"),
        (r#"{"/x": "WHAT"}"#, "has the trust level \"WHAT\" for `/x`"),
    ] {
        let machine = Machine::new().file(folders, text);
        let expected = format!("{folders}: {problem}; Gemini CLI does not start with it");
        assert_eq!(told(&machine), [expected]);
        // If the environment states the trust, the file is not needed, and there is no notice.
        assert_eq!(told(&machine.with(TRUST, "true")), [""; 0]);
    }
}

#[test]
fn the_value_of_a_variable_is_not_printed() {
    let text = r#"{"hooks": {"BeforeTool": [{"hooks": [{"timeout": "$TOKEN"}]}]}}"#;
    let machine = Machine::new().with("TOKEN", "secret").file(USER, text);
    let place = "1:39: `hooks.BeforeTool.0.hooks.0.timeout`";
    let expected = format!("{USER}:{place}: is `\"$TOKEN\"`, not a number");
    assert_eq!(told(&machine), [expected]);
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    check(
        r#"{"hooks": {"beforeTool": []}}"#,
        &[":1:12: `hooks.beforeTool`: is not a hook event; did you mean `BeforeTool`?"],
    );
    check(
        r#"{"skill": {}}"#,
        &[":1:2: `skill`: is not a key that Gemini CLI knows; did you mean `skills`?"],
    );
    check(
        r#"{"security": {"folderTrust": {"enable": true}}}"#,
        &[
            ":1:31: `security.folderTrust.enable`: is not a key that Gemini CLI knows; did you mean `enabled`?",
        ],
    );
    // A key with two mistakes gets one notice.
    check(
        r#"{"hooks": {"beforeTool": 1, "afterTool": 2}}"#,
        &[
            ":1:12: `hooks.beforeTool`: is `1`, not a list",
            ":1:29: `hooks.afterTool`: is `2`, not a list",
        ],
    );
    // Others keep things there too.
    check(
        r#"{"somebody": {"elses": 1}, "ui": {"x": 1}, "$schema": "x"}"#,
        &[],
    );
}

#[test]
fn a_key_of_an_older_version_is_read_and_named() {
    let text = r#"{"general": {"disableAutoUpdate": true}, "tools": {"approvalMode": "plan"}}"#;
    check(
        text,
        &[
            ":1:14: `general.disableAutoUpdate`: is of an older version, and read as `enableAutoUpdate`, turned around",
            ":1:52: `tools.approvalMode`: is of an older version, and read as `general.defaultApprovalMode`",
        ],
    );
    let setup = Machine::new().file(USER, text).setup();
    assert_eq!(
        setup.get(&["general", "enableAutoUpdate"]),
        Some(&false.into())
    );
    assert_eq!(setup.get(&["general", "disableAutoUpdate"]), None);
    assert_eq!(
        setup.get(&["general", "defaultApprovalMode"]),
        Some(&"plan".into())
    );
    check(
        r#"{"hooks": {"disabled": []}, "agents": {"enabled": ["x"]}}"#,
        &[
            ":1:40: `agents.enabled`: is not read by Gemini CLI; it reads `agents.overrides`",
            ":1:12: `hooks.disabled`: is of an older version; Gemini CLI reads `hooksConfig.disabled` instead, and passes over this",
        ],
    );
}

#[test]
fn a_file_that_is_no_settings_is_named_and_the_others_still_count() {
    let bad = |text: &str, expected: &str| {
        let machine = trusted().file(USER, text).file(WORKSPACE, r#"{"x": 1}"#);
        let lines = told(&machine);
        assert_eq!(
            lines[0],
            format!("{USER}{expected}; Gemini CLI does not start with it")
        );
        let setup = machine.setup();
        assert!(!setup.is_trusted(), "nobody knows what it would have said");
        assert_eq!(setup.get(&["x"]), None);
        assert_eq!(setup.get(&["skills", "enabled"]), Some(&true.into()));
    };
    bad("{", ":1:1: is not valid JSON: EOF while parsing an object");
    bad(
        "{\n  \"a\": 1,\n}",
        ":3:1: is not valid JSON: trailing comma",
    );
    bad("[1]", ":1:1: does not hold a JSON object");
    bad("null", ":1:1: does not hold a JSON object");
    bad(
        "\u{feff}{}",
        ":1:1: begins with a byte order mark, which is not valid JSON",
    );
    bad("", ":1:1: is not valid JSON: EOF while parsing a value");
}

#[test]
fn a_settings_path_that_is_no_file_is_named() {
    let machine = Machine::new().with(TRUST, "true");
    fs::create_dir_all(machine.path(USER)).unwrap();
    assert_eq!(
        told(&machine),
        [format!(
            "{USER}: is not a regular file; Gemini CLI does not start with it"
        )]
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_directory_without_settings_is_nothing_to_speak_of() {
    let machine = Machine::new();
    let dotfiles = machine.path("home/dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    std::os::unix::fs::symlink(&dotfiles, machine.path("home/.gemini")).unwrap();
    assert_eq!(told(&machine), [""; 0]);
    fs::remove_dir(dotfiles).unwrap();
    let nowhere = "cannot be reached: a link to it is dangling";
    assert!(told(&machine)[0].contains(nowhere));
}

#[test]
fn settings_of_the_system_that_others_can_write_are_left_out() {
    // The temporary folder is everybody's.
    let machine = Machine::new().file("etc/settings.json", r#"{"skills": {"enabled": false}}"#);
    assert_eq!(
        told(&machine),
        [
            "etc/settings.json: is skipped: a user other than root can write it, or a directory on the way to it"
        ]
    );
    let setup = machine.setup();
    assert_eq!(setup.get(&["skills", "enabled"]), Some(&true.into()));
}
