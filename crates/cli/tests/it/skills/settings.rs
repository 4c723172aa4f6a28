//! The settings files that commands change, and the settings files that they leave alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::stage::{Stage, ran, skill};

#[test]
fn a_link_in_a_workspace_writes_nothing_outside_it() {
    for (to, words) in [
        (
            "../../new/a/c.json",
            "is a link to `../../new/a/c.json`, where nothing is",
        ),
        (
            "../../home/.gemini/oauth.json",
            "points to `ROOT/home/.gemini/oauth.json`, outside `ROOT/project`",
        ),
    ] {
        let stage = Stage::new();
        stage.write(
            "home/.gemini/oauth.json",
            r#"{"skills": {"disabled": ["foo"]}}"#,
        );
        fs::create_dir_all(stage.path("project/.gemini")).unwrap();
        symlink(to, stage.path("project/.gemini/settings.json")).unwrap();
        let before = stage.files("");
        let disabled = stage.run(&["disable", "bar"]);
        assert_eq!(disabled.code, Some(13), "{disabled:?}");
        let said = stage.anywhere(&disabled.stderr);
        let path = "error: `ROOT/project/.gemini/settings.json` ";
        assert!(said.contains(path) && said.contains(words), "{said}");
        stage.run(&["enable", "foo"]);
        assert_eq!(stage.files(""), before, "{to}");
    }
}

#[test]
fn every_comment_of_a_list_stays_however_often_a_name_is_on_it() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    let lines = |name: &str| -> String {
        let line = |at| format!("    {name} // {at}\n");
        (0..200).map(line).collect()
    };
    let list = format!(
        "{{\"skills\": {{\"disabled\": [\n{}    \"x\"]}}}}",
        lines("\"One\",")
    );
    let path = stage.write("home/.gemini/settings.json", list);
    let ran = stage.run(&["enable", "one"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left = fs::read_to_string(path).unwrap();
    let expected = lines("").replace("     //", "    //");
    assert!(left.contains(&expected), "{left}");
}

#[test]
fn a_limit_of_the_system_is_reported_and_the_file_stays() {
    let stage = Stage::with_settings(&json!({ "a": "x".repeat(9000) }));
    let before = stage.files("home/.gemini");
    let limited = stage.command(&["disable", "x", "--scope", "user"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"ulimit -f 4; exec "$@""#, "sh"])
        .arg(limited.get_program())
        .args(limited.get_args())
        .current_dir(stage.world.project())
        .env_clear()
        .envs(stage.world.environment(""));
    let ran = ran(shell);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let said = stage.anywhere(&ran.stderr);
    let words = "error: cannot write `ROOT/home/.gemini/settings.json`: File too large";
    assert!(said.contains(words), "{said}");
    assert_eq!(stage.files("home/.gemini"), before);
}
