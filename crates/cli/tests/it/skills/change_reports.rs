//! Reports on changes: Gemini CLI's words for people, an object for programs.

use serde_json::{Value, json};

use super::commands::assert_valid;
use super::stage::{Stage, skill};

/// The object that a change prints, without the name of its world. Nothing is said beside it.
fn changed(stage: &Stage, args: &[&str]) -> Value {
    let ran = stage.run(&[args, &["--format", "json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("Successfully"), "{ran:?}");
    let mut change: Value = serde_json::from_str(&stage.anywhere(&ran.stdout)).unwrap();
    assert_valid("skills-change", &change);
    let schema = change.as_object_mut().unwrap().remove("schema");
    assert_eq!(schema.unwrap(), "lapidary.skills-change/1");
    change
}

#[test]
fn disabling_and_enabling_a_skill_prints_a_json_report() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    let file = "ROOT/home/.gemini/settings.json";
    assert_eq!(
        changed(&stage, &["disable", "one", "--scope", "user"]),
        json!({ "action": "disable", "name": "one", "scope": "user", "applied": true, "changed": [file] })
    );
    assert_eq!(
        changed(&stage, &["disable", "one", "--scope", "user"]),
        json!({ "action": "disable", "name": "one", "scope": "user", "applied": false })
    );
    assert_eq!(
        changed(&stage, &["enable", "one"]),
        json!({ "action": "enable", "name": "one", "applied": true, "changed": [file] })
    );
    let remark = "there is no skill `nobody` here";
    assert_eq!(
        changed(&stage, &["disable", "nobody"])["remarks"],
        json!([remark])
    );
}

#[test]
fn installing_linking_and_uninstalling_print_a_json_report() {
    let stage = Stage::new();
    stage.write("project/mine/SKILL.md", skill("mine"));
    let moved = |replaced: bool| json!([{ "name": "mine", "location": "ROOT/home/.gemini/skills/mine", "replaced": replaced }]);
    assert_eq!(
        changed(&stage, &["install", "mine", "--consent"]),
        json!({ "action": "install", "source": "mine", "scope": "user", "applied": true, "skills": moved(false) })
    );
    assert_eq!(
        changed(&stage, &["link", "mine", "--consent"]),
        json!({ "action": "link", "source": "mine", "scope": "user", "applied": true, "skills": moved(true) })
    );
    assert_eq!(
        changed(&stage, &["uninstall", "mine"]),
        json!({ "action": "uninstall", "name": "mine", "scope": "user", "applied": true, "skills": moved(false) })
    );
}

/// Scripts know them, and Gemini CLI says them through a pipe, too.
#[test]
fn words_are_what_a_pipe_gets_unless_it_asks() {
    let stage = Stage::new();
    stage.write("project/mine/SKILL.md", skill("mine"));
    for (args, words) in [
        (
            &["install", "mine", "--consent"][..],
            "Successfully installed skill: mine (",
        ),
        (
            &["link", "mine", "--consent"],
            "Successfully linked skills.",
        ),
        (&["disable", "mine"], "Skill \"mine\" disabled by"),
        (&["enable", "mine"], "Skill \"mine\" enabled by"),
        (
            &["uninstall", "mine"],
            "Successfully uninstalled skill: mine (",
        ),
    ] {
        let ran = stage.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}
