//! Which folders are trusted, and why.

use std::path::Path;

use lapidary_gemini::trust::{self, Trust, TrustDoubt, TrustLevel, TrustReason, TrustRule};

use crate::machine::Machine;

const OFF: &str = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
const ON: &str = r#"{"security": {"folderTrust": {"enabled": true}}}"#;
const SETTINGS: &str = "home/.gemini/settings.json";
const FOLDERS: &str = "home/.gemini/trustedFolders.json";
const WORKSPACE: &str = "home/code/project/.gemini/settings.json";
const VARIABLE: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// What decided, in a word that a table has room for.
fn told(trust: &Trust) -> String {
    match trust {
        Trust::Trusted(TrustReason::Rule(rule)) => format!("yes: {}", rule.level.as_str()),
        Trust::Trusted(TrustReason::SwitchedOff) => "yes: off".to_owned(),
        Trust::Trusted(reason) => format!("yes: {reason}"),
        Trust::Untrusted(TrustReason::Rule(rule)) => format!("no: {}", rule.level.as_str()),
        Trust::Untrusted(TrustReason::NoRule) => "no: no rule".to_owned(),
        Trust::Untrusted(reason) => format!("no: {reason}"),
        Trust::Unknown(TrustDoubt::BadFile { path, .. }) => {
            let name = path.file_name().unwrap_or_default();
            format!("? {}", name.to_string_lossy())
        }
        Trust::Unknown(TrustDoubt::OpenFile(_)) => "? open".to_owned(),
        Trust::Unknown(TrustDoubt::OddSetting(value)) => format!("? {value}"),
        Trust::Unknown(TrustDoubt::UnreadFile { .. }) => "? unread file".to_owned(),
        Trust::Unknown(TrustDoubt::Ide) => "? ide".to_owned(),
    }
}

#[track_caller]
fn check(machine: &Machine, expected: &str) {
    assert_eq!(told(&machine.trust()), expected);
}

#[test]
fn no_folder_is_trusted_by_default() {
    check(&Machine::new(), "no: no rule");
    check(&Machine::new().file(SETTINGS, "{}"), "no: no rule");
    check(&Machine::new().file(SETTINGS, ON), "no: no rule");
    check(&Machine::new().file(FOLDERS, "{}"), "no: no rule");
}

#[test]
fn settings_may_switch_it_off_and_a_workspace_cannot_do_that_for_itself() {
    check(&Machine::new().file(SETTINGS, OFF), "yes: off");
    let commented = format!("// mine\n{OFF} /* all */");
    check(&Machine::new().file(SETTINGS, &commented), "yes: off");
    check(&Machine::new().file(WORKSPACE, OFF), "no: no rule");
}

#[test]
fn a_trusted_workspace_may_ask_for_more() {
    let machine = Machine::new().file(SETTINGS, OFF).file(WORKSPACE, ON);
    check(&machine, "no: no rule");
    assert!(!machine.setup().is_trusted());
    let machine = machine.file(FOLDERS, r#"{"~/code": "TRUST_FOLDER"}"#);
    check(&machine, "yes: TRUST_FOLDER");
    assert!(machine.setup().is_trusted());
}

#[test]
fn a_variable_decides_before_any_rule() {
    let distrusted = r#"{"~/code/project": "DO_NOT_TRUST"}"#;
    let machine = Machine::new()
        .file(FOLDERS, distrusted)
        .with(VARIABLE, "true");
    check(&machine, "yes: GEMINI_CLI_TRUST_WORKSPACE is true");
    let machine = machine.with("GEMINI_RESTRICTED_MODE", "true");
    check(&machine, "no: GEMINI_RESTRICTED_MODE is true");

    let trusted = r#"{"~/code/project": "TRUST_FOLDER"}"#;
    let machine = Machine::new()
        .file(FOLDERS, trusted)
        .with(VARIABLE, "false");
    check(&machine, "no: GEMINI_CLI_TRUST_WORKSPACE is false");
    check(&machine.with(VARIABLE, "1"), "yes: TRUST_FOLDER");
}

#[test]
fn disabled_folder_trust_is_not_checked_even_with_a_variable() {
    let machine = Machine::new().file(SETTINGS, OFF).with(VARIABLE, "false");
    check(&machine, "yes: off");
    check(&machine.file(WORKSPACE, ON), "yes: off");
}

#[test]
fn the_longest_rule_that_holds_decides() {
    for (rules, expected) in [
        (r#"{"~/code/project": "TRUST_FOLDER"}"#, "yes: TRUST_FOLDER"),
        (
            r#"{"~/code/project/": "TRUST_FOLDER"}"#,
            "yes: TRUST_FOLDER",
        ),
        (r#"{"~": "TRUST_FOLDER"}"#, "yes: TRUST_FOLDER"),
        (r#"{"/": "TRUST_FOLDER"}"#, "yes: TRUST_FOLDER"),
        (r#"{"~/code/pro": "TRUST_FOLDER"}"#, "no: no rule"),
        (r#"{"~/code/project/inner": "TRUST_FOLDER"}"#, "no: no rule"),
        (r#"{"~/code/other": "TRUST_PARENT"}"#, "yes: TRUST_PARENT"),
        (r#"{"~/code/project": "TRUST_PARENT"}"#, "yes: TRUST_PARENT"),
        (r#"{"~/code/x/y": "TRUST_PARENT"}"#, "no: no rule"),
        (
            r#"{"~": "TRUST_FOLDER", "~/code": "DO_NOT_TRUST"}"#,
            "no: DO_NOT_TRUST",
        ),
        (
            r#"{"~/code/project": "TRUST_FOLDER", "~/code": "DO_NOT_TRUST"}"#,
            "yes: TRUST_FOLDER",
        ),
        // The length is that of the rule's own path, not of the folder that it stands for.
        (
            r#"{"~/code/project": "DO_NOT_TRUST", "~/code/a-longer-name": "TRUST_PARENT"}"#,
            "yes: TRUST_PARENT",
        ),
        // As JavaScript counts letters.
        (
            r#"{"~/code/project": "DO_NOT_TRUST", "~/code/éééé": "TRUST_PARENT"}"#,
            "no: DO_NOT_TRUST",
        ),
        // As long as each other: the first.
        (
            r#"{"~/code/another": "TRUST_PARENT", "~/code/project": "DO_NOT_TRUST"}"#,
            "yes: TRUST_PARENT",
        ),
        (
            r#"{"~/code/project": "DO_NOT_TRUST", "~/code/another": "TRUST_PARENT"}"#,
            "no: DO_NOT_TRUST",
        ),
        (
            r#"{"~/code/../code/./project": "TRUST_FOLDER"}"#,
            "yes: TRUST_FOLDER",
        ),
        (r#"{".": "TRUST_FOLDER"} // here"#, "yes: TRUST_FOLDER"),
        // The same path twice: the later one.
        (
            r#"{"~/code": "TRUST_FOLDER", "~/code/": "DO_NOT_TRUST"}"#,
            "no: DO_NOT_TRUST",
        ),
    ] {
        let machine = Machine::new().file(FOLDERS, rules);
        assert_eq!(told(&machine.trust()), expected, "{rules}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_on_both_sides() {
    let machine = Machine::new().file(FOLDERS, r#"{"~/link": "TRUST_FOLDER"}"#);
    std::os::unix::fs::symlink(machine.path("home/code"), machine.path("home/link")).unwrap();
    check(&machine, "yes: TRUST_FOLDER");
    let through = machine.trust_of(&machine.path("home/link/project"));
    assert_eq!(through, machine.trust());
}

#[test]
fn a_file_that_gemini_cli_will_refuse_leaves_the_verdict_to_it() {
    for broken in [
        "",
        "[]",
        "{",
        r#"{"~": "YES"}"#,
        r#"{"~": true}"#,
        r#"{"/x": "trust_folder"}"#,
    ] {
        check(
            &Machine::new().file(FOLDERS, broken),
            "? trustedFolders.json",
        );
    }
    for broken in ["", "[]", r#"{"a": 1,}"#] {
        check(&Machine::new().file(SETTINGS, broken), "? settings.json");
    }
    let odd = r#"{"security": {"folderTrust": {"enabled": "no"}}}"#;
    check(&Machine::new().file(SETTINGS, odd), "? \"no\"");
    let ide = Machine::new().with("GEMINI_CLI_IDE_SERVER_PORT", "1234");
    check(&ide, "? ide");
    assert_eq!(ide.trust().effects().len(), 5);
}

/// Gemini CLI leaves out files of the system's that are not root's, and the temporary folder is not.
#[test]
fn a_system_file_that_others_can_write_leaves_trust_undecided() {
    check(&Machine::new().file("etc/settings.json", OFF), "? open");
    check(
        &Machine::new().file("etc/system-defaults.json", OFF),
        "? open",
    );
}

#[test]
fn variables_move_the_home_and_the_list() {
    let rules = r#"{"~": "TRUST_FOLDER"}"#;
    let machine = Machine::new().file("elsewhere/.gemini/trustedFolders.json", rules);
    let elsewhere = machine.path("elsewhere");
    check(&machine, "no: no rule");
    let machine = machine.with("GEMINI_CLI_HOME", elsewhere);
    check(&machine, "yes: TRUST_FOLDER");
    let machine = Machine::new().file("list.json", rules);
    let list = machine.path("list.json");
    check(
        &machine.with("GEMINI_CLI_TRUSTED_FOLDERS_PATH", list),
        "yes: TRUST_FOLDER",
    );
}

#[test]
fn the_settings_of_the_home_are_the_users_and_not_a_workspaces() {
    let machine = Machine::new().file(SETTINGS, OFF);
    let home = machine.path("home");
    assert_eq!(
        machine.trust_of(&home),
        Trust::Trusted(TrustReason::SwitchedOff)
    );
}

#[test]
fn the_reason_names_the_rule_as_it_stands_in_the_file() {
    let machine = Machine::new().file(FOLDERS, r#"{"/": "TRUST_FOLDER"}"#);
    let rule = TrustRule {
        path: "/".to_owned(),
        level: TrustLevel::Folder,
    };
    let trust = machine.trust_of(Path::new("/"));
    assert_eq!(trust, Trust::Trusted(TrustReason::Rule(rule.clone())));
    let said = TrustReason::Rule(rule).to_string();
    assert_eq!(said, "trustedFolders.json has TRUST_FOLDER for `/`");
}

#[test]
fn a_folder_can_be_trusted_and_distrusted_and_the_rest_of_the_file_stays() {
    let before = "{\n  // mine\n  \"~/other\": \"TRUST_FOLDER\"\n}\n";
    let machine = Machine::new().file(FOLDERS, before);
    let set = |folder: &Path, level| trust::set(folder, level, &machine.home()).unwrap();
    set(&machine.project(), TrustLevel::Folder);
    check(&machine, "yes: TRUST_FOLDER");
    assert_eq!(machine.trust().effects(), [] as [&str; 0]);
    let written = std::fs::read_to_string(machine.path(FOLDERS)).unwrap();
    let expected = machine.project().display().to_string();
    let before = before.replace('~', &machine.path("home").display().to_string());
    let line = format!("\"TRUST_FOLDER\",\n  \"{expected}\": \"TRUST_FOLDER\"\n");
    assert_eq!(written, before.replace("\"TRUST_FOLDER\"\n", &line));
    // However it is written, it is the same folder.
    set(&machine.project().join("../project/"), TrustLevel::No);
    check(&machine, "no: DO_NOT_TRUST");
    assert_eq!(machine.trust().effects().len(), 5);
    let again = std::fs::read_to_string(machine.path(FOLDERS)).unwrap();
    assert_eq!(again.matches("project").count(), 1);
    // Of two ways to write it the last counts.
    let twice = r#"{"~/code/project": "DO_NOT_TRUST", "~/code/project/": "DO_NOT_TRUST"}"#;
    let machine = Machine::new().file(FOLDERS, twice);
    trust::set(&machine.project(), TrustLevel::Folder, &machine.home()).unwrap();
    check(&machine, "yes: TRUST_FOLDER");
}

#[test]
fn a_list_of_folders_with_an_unknown_level_is_not_changed() {
    let machine = Machine::new().file(FOLDERS, r#"{"/x": "MAYBE"}"#);
    let refused = trust::set(Path::new("/y"), TrustLevel::Folder, &machine.home()).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("`/x` is something else, not a trust level"),
        "{refused}"
    );
    assert_eq!(
        std::fs::read_to_string(machine.path(FOLDERS)).unwrap(),
        r#"{"/x": "MAYBE"}"#
    );
}
