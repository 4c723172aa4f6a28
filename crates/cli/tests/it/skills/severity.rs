//! The errors and warnings of `check`, and its exit codes for them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::commands::assert_valid;
use super::stage::{Stage, skill};

/// How a check ends, and how with `--strict`.
fn codes(stage: &Stage) -> [Option<i32>; 2] {
    [&["check"][..], &["check", "--strict"]].map(|args| stage.run(args).code)
}

#[test]
fn warnings_fail_a_skills_check_only_if_it_is_strict() {
    let stage = Stage::with_settings(&json!({ "skills": { "disabled": ["off"] } }));
    stage.write("home/.gemini/skills/on/SKILL.md", skill("on"));
    stage.write("home/.gemini/skills/off/SKILL.md", skill("off"));
    assert_eq!(codes(&stage), [Some(0), Some(0)]);
    // A warning, each on its own.
    let small = stage.write("home/.gemini/skills/small/skill.md", skill("small"));
    assert_eq!(codes(&stage), [Some(0), Some(3)]);
    fs::remove_dir_all(small.parent().unwrap()).unwrap();
    assert_eq!(codes(&stage), [Some(0), Some(0)]);
    let settings = stage.path("home/.gemini/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    for slip in [r#"{"skills": {"disabld": []}}"#, r#"{"skils": {}}"#] {
        fs::write(&settings, slip).unwrap();
        assert_eq!(codes(&stage), [Some(0), Some(3)], "{slip}");
    }
    fs::write(&settings, &before).unwrap();
    // An error, each on its own.
    let bad = stage.write("home/.gemini/skills/bad/SKILL.md", "no front matter");
    assert_eq!(codes(&stage), [Some(3), Some(3)]);
    fs::remove_dir_all(bad.parent().unwrap()).unwrap();
    fs::write(&settings, "{ no JSON").unwrap();
    assert_eq!(codes(&stage), [Some(3), Some(3)]);
    let ran = stage.run(&["check", "--format", "text"]);
    let said = stage.anywhere(&ran.stderr);
    let words = "error: ROOT/home/.gemini/settings.json:1:3: ";
    assert!(said.starts_with(words), "{said}");
    let check = stage.printed(&["check"], 3);
    assert_valid("skills-check", &check);
    assert_eq!(check["errors"].as_array().unwrap().len(), 1, "{check}");
}

#[test]
fn a_broken_skill_in_an_untrusted_folder_is_a_warning() {
    let stage = Stage::with_settings(&json!({
        "security": { "folderTrust": { "enabled": true } },
    }));
    stage.write("project/.gemini/skills/bad/SKILL.md", "no front matter");
    stage.write("project/.gemini/skills/left/SKILL.md", skill("left"));
    assert_eq!(codes(&stage), [Some(0), Some(3)]);
    let check = stage.object(&["check"]);
    let severity = |at: usize| check["candidates"][at]["severity"].clone();
    assert_eq!([severity(0), severity(1)], ["warning", "warning"]);
}

#[test]
fn the_end_of_a_check_counts_what_is_wrong_once() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/bad/SKILL.md", "no front matter");
    stage.write("home/.gemini/skills/twice/SKILL.md", skill("twice"));
    stage.write("home/.agents/skills/twice/SKILL.md", skill("twice"));
    let ran = stage.run(&["check", "--format", "text"]);
    assert!(
        ran.stdout
            .ends_with(" in every prompt\n1 error, 1 warning\n"),
        "{ran:?}"
    );
}

#[test]
fn a_link_is_shown_with_where_it_leads() {
    let stage = Stage::new();
    stage.write("elsewhere/mine/SKILL.md", skill("mine"));
    stage.write("home/.gemini/skills/own/SKILL.md", skill("own"));
    stage.write("elsewhere/file.md", skill("file"));
    fs::create_dir_all(stage.path("home/.gemini/skills/file")).unwrap();
    for (to, at) in [
        ("elsewhere/mine", "home/.gemini/skills/mine"),
        ("elsewhere/file.md", "home/.gemini/skills/file/SKILL.md"),
    ] {
        symlink(stage.path(to), stage.path(at)).unwrap();
    }
    let check = stage.object(&["check"]);
    assert_valid("skills-check", &check);
    let links: Vec<_> = check["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one: &Value| stage.anywhere(one["linksTo"].as_str().unwrap_or("none")))
        .collect();
    assert_eq!(
        links,
        ["ROOT/elsewhere/file.md", "ROOT/elsewhere/mine", "none"]
    );
    let text = stage.run(&["check", "--format", "text"]).stdout;
    let shown =
        "    ROOT/home/.gemini/skills/mine/SKILL.md\n    is a link to `ROOT/elsewhere/mine`\n";
    assert!(stage.anywhere(&text).contains(shown), "{text}");
}

#[test]
fn one_file_on_two_ways_is_nothing_to_warn_of() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    symlink(".gemini", stage.path("home/.agents")).unwrap();
    assert_eq!(codes(&stage), [Some(0), Some(0)]);
    stage.write("project/.gemini/skills/one/SKILL.md", skill("one"));
    assert_eq!(codes(&stage), [Some(0), Some(3)], "another is another");
}
