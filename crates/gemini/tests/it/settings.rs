//! Settings: the values in effect, the notices about the files, and changes of the files.

mod edit;
mod edit_anywhere;
mod edit_properties;
mod extremes;
mod notices;
mod oracle;
mod together;

use serde_json::{Value, json};

use crate::machine::Machine;

pub(crate) const USER: &str = "home/.gemini/settings.json";
pub(crate) const WORKSPACE: &str = "home/code/project/.gemini/settings.json";
pub(crate) const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

fn trusted() -> Machine {
    Machine::new().with(TRUST, "true")
}

#[track_caller]
fn check(machine: &Machine, keys: &[&str], expected: &Value) {
    let setup = machine.setup();
    let found = setup.get(keys);
    assert_eq!(found, (!expected.is_null()).then_some(expected));
}

#[test]
fn an_absent_setting_has_its_default() {
    let machine = Machine::new();
    check(&machine, &["hooksConfig", "enabled"], &json!(true));
    check(&machine, &["skills", "disabled"], &json!([]));
    check(&machine, &["nothing"], &Value::Null);
    assert_eq!(machine.setup().notices, []);
}

#[test]
fn lists_of_what_is_disabled_add_up_and_others_take_each_others_place() {
    let user = r#"{
        "skills": {"disabled": ["a", "b"]},
        "tools": {"core": ["x"], "exclude": ["p"]},
        "hooks": {"BeforeTool": [1], "Odd": [1]}
    }"#;
    let workspace = r#"{
        "skills": {"disabled": ["b", "c"], "enabled": false},
        "tools": {"core": ["y"], "exclude": ["q"]},
        "hooks": {"BeforeTool": [2], "Odd": [2]}
    }"#;
    let machine = trusted().file(USER, user).file(WORKSPACE, workspace);
    check(
        &machine,
        &["skills"],
        &json!({"disabled": ["a", "b", "c"], "enabled": false}),
    );
    check(&machine, &["tools", "core"], &json!(["y"]));
    check(&machine, &["tools", "exclude"], &json!(["p", "q"]));
    check(&machine, &["hooks", "BeforeTool"], &json!([1, 2]));
    check(&machine, &["hooks", "Odd"], &json!([2]));
}

#[test]
fn settings_of_an_untrusted_workspace_are_ignored_with_a_notice() {
    let machine = Machine::new().file(WORKSPACE, r#"{"skills": {"enabled": false}}"#);
    check(&machine, &["skills", "enabled"], &json!(true));
    let setup = machine.setup();
    assert!(!setup.is_trusted());
    let told: Vec<_> = setup.notices.iter().map(ToString::to_string).collect();
    let path = machine.path(WORKSPACE).display().to_string();
    assert_eq!(
        told,
        [format!(
            "{path}: does not count, because the folder is not trusted: it is not in the list of trusted folders"
        )]
    );
    // Switching it off in the workspace itself is no way out.
    let off = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    let machine = Machine::new().file(WORKSPACE, off);
    assert!(!machine.setup().is_trusted());
    assert!(Machine::new().file(USER, off).setup().is_trusted());
    let neither = off.replace("false", "null");
    assert!(!Machine::new().file(USER, &neither).setup().is_trusted());
    // A variable has the last word.
    assert!(
        !Machine::new()
            .file(USER, off)
            .with(TRUST, "false")
            .setup()
            .is_trusted()
    );
}

#[test]
fn in_the_home_itself_only_the_users_settings_count() {
    let machine = trusted().file(USER, r#"{"skills": {"disabled": ["a"]}}"#);
    let home = machine.home();
    let setup = lapidary_gemini::setup::Setup::read(
        &home,
        &home.home,
        lapidary_gemini::Vars::new(machine.vars()),
    );
    assert_eq!(setup.settings.files.len(), 1);
    assert_eq!(setup.get(&["skills", "disabled"]), Some(&json!(["a"])));
}

#[test]
fn variables_are_filled_in_and_texts_are_read_kindly_if_the_file_is_sound() {
    let text = r#"{"general": {"vimMode": "$YES", "maxAttempts": "0x10"}, "x": "${NO:-d} $NO"}"#;
    let machine = Machine::new().with("YES", "TRUE").file(USER, text);
    check(&machine, &["general", "vimMode"], &json!(true));
    check(&machine, &["general", "maxAttempts"], &json!(16));
    check(&machine, &["x"], &json!("d $NO"));
    // With one invalid value in the file (`ui`), texts are not converted to other types.
    let odd = text.replace("\"x\"", "\"ui\": 5, \"x\"");
    let machine = machine.file(USER, &odd);
    check(&machine, &["general", "vimMode"], &json!("TRUE"));
}

#[test]
fn keys_that_would_change_all_objects_of_javascript_are_left_out() {
    let text = r#"{"__proto__": {"a": 1}, "skills": {"constructor": 1, "disabled": ["a"]}, "prototype": 1}"#;
    let machine = Machine::new().file(USER, text);
    let setup = machine.setup();
    for key in ["__proto__", "prototype"] {
        assert_eq!(setup.get(&[key]), None);
    }
    let skills = json!({"disabled": ["a"], "enabled": true});
    assert_eq!(setup.get(&["skills"]), Some(&skills));
}

#[test]
fn variables_of_a_dotenv_reach_what_is_run_but_not_the_settings() {
    let machine = trusted()
        .file("home/code/project/.env", "A=1\nDEBUG=1\nPATH=/x\n")
        .file(USER, r#"{"x": "$A"}"#)
        .with("PATH", "/bin");
    check(&machine, &["x"], &json!("$A"));
    let setup = machine.setup();
    let all = setup.environment(lapidary_gemini::Vars::new(machine.vars()));
    let get = |name: &str| all.get(std::ffi::OsStr::new(name)).and_then(|v| v.to_str());
    assert_eq!(
        (get("A"), get("PATH"), get("DEBUG")),
        (Some("1"), Some("/bin"), None)
    );
    // Excluded variables are excluded from the `.env` files of projects only, not from those in `.gemini`.
    let machine = machine.file("home/code/project/.gemini/.env", "DEBUG=1\n");
    let all = machine
        .setup()
        .environment(lapidary_gemini::Vars::new(machine.vars()));
    assert_eq!(all["DEBUG".as_ref() as &std::ffi::OsStr], *"1");

    let machine = Machine::new().file(
        "home/code/project/.env",
        "A=1\nGEMINI_API_KEY='a b$c'\nGOOGLE_API_KEY=x.y/z\n",
    );
    let setup = machine.setup();
    let all = setup.environment(lapidary_gemini::Vars::new(machine.vars()));
    let get = |name: &str| all.get(std::ffi::OsStr::new(name)).and_then(|v| v.to_str());
    assert_eq!(get("A"), None);
    assert_eq!(get("GEMINI_API_KEY"), Some("abc"));
    assert_eq!(get("GOOGLE_API_KEY"), Some("x.y/z"));
}
