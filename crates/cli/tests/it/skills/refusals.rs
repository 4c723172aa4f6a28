//! Refused commands: their messages, their exit codes, and that all files stay as they were.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::stage::{Stage, ran, skill};

#[test]
fn a_link_on_the_way_to_a_directory_that_is_not_there_yet_is_not_followed_out() {
    for (scope, place) in [("user", "home"), ("workspace", "project")] {
        for leads_to in ["elsewhere", "nowhere"] {
            let stage = Stage::new();
            stage.write("project/mine/SKILL.md", skill("mine"));
            fs::create_dir(stage.path("elsewhere")).unwrap();
            let way = stage.path(&format!("{place}/.gemini"));
            let _ = fs::rename(&way, stage.path("before"));
            symlink(stage.path(leads_to), &way).unwrap();
            for verb in ["install", "link"] {
                let ran = stage.run(&[verb, "mine", "--consent", "--scope", scope]);
                assert_eq!(ran.code, Some(13), "{verb} {leads_to}: {ran:?}");
                assert!(ran.stderr.contains(" points outside "), "{ran:?}");
            }
            assert_eq!(stage.files("elsewhere"), []);
            assert!(!stage.path("nowhere").exists());
        }
    }
}

#[test]
fn a_directory_of_skills_that_leads_out_is_left_alone() {
    for (scope, place) in [("user", "home"), ("workspace", "project")] {
        let stage = Stage::new();
        stage.write("project/mine/SKILL.md", skill("mine"));
        stage.write("elsewhere/theirs/SKILL.md", skill("theirs"));
        fs::create_dir_all(stage.path(&format!("{place}/.gemini"))).unwrap();
        let link = stage.path(&format!("{place}/.gemini/skills"));
        symlink(stage.path("elsewhere"), &link).unwrap();
        let before = stage.files("elsewhere");
        for args in [
            ["install", "mine", "--consent"].as_slice(),
            &["link", "mine", "--consent"],
            &["uninstall", "theirs"],
        ] {
            let ran = stage.run(&[args, &["--scope", scope]].concat());
            assert_eq!(ran.code, Some(13), "{args:?}: {ran:?}");
            let said = stage.anywhere(&ran.stderr);
            let words = format!(
                "error: `ROOT/{place}/.gemini/skills` points outside `ROOT/{place}`: nothing is changed there\n"
            );
            assert!(said.ends_with(&words), "{args:?}: {said}");
            assert_eq!(stage.files("elsewhere"), before, "{args:?}");
        }
        // Within the home or the workspace a link leads where it likes.
        fs::remove_file(&link).unwrap();
        fs::create_dir(stage.path(&format!("{place}/inside"))).unwrap();
        symlink("../inside", &link).unwrap();
        let ran = stage.run(&["install", "mine", "--consent", "--scope", scope]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            stage
                .path(&format!("{place}/inside/mine/SKILL.md"))
                .is_file()
        );
    }
}

#[test]
fn enable_refuses_a_skill_that_a_variable_in_the_settings_disables() {
    let stage = Stage::with_settings(&json!({ "skills": { "disabled": ["$OFF", "other"] } }));
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    let path = stage.path("home/.gemini/settings.json");
    let before = fs::read_to_string(&path).unwrap();
    let mut command = stage.command(&["enable", "one"]);
    command.env("OFF", "one");
    let ran = ran(command);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    assert_eq!(
        stage.anywhere(&ran.stderr),
        "error: skill `one` is still disabled by `ROOT/home/.gemini/settings.json`\n"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn enable_names_unreadable_settings_before_it_changes_others() {
    for (broken, fine) in [("project", "home"), ("home", "project")] {
        let stage = Stage::new();
        let list = r#"{ "skills": { "disabled": ["one"] } }"#;
        stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
        stage.write(&format!("{fine}/.gemini/settings.json"), list);
        stage.write(&format!("{broken}/.gemini/settings.json"), "{ no JSON");
        let ran = stage.run(&["enable", "one"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        let said = stage.anywhere(&ran.stderr);
        let words = format!("error: `ROOT/{broken}/.gemini/settings.json` ");
        assert!(said.starts_with(&words), "{said}");
        let text = fs::read_to_string(stage.path(&format!("{fine}/.gemini/settings.json")));
        assert_eq!(text.unwrap(), list);
    }
}

#[test]
fn enabling_names_only_the_files_that_it_changed() {
    let stage = Stage::with_settings(&json!({ "skills": { "disabled": ["one"] } }));
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    let ran = stage.run(&["enable", "one"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        stage.anywhere(&ran.stderr),
        "Skill \"one\" enabled by removing it from the disabled list in user (ROOT/home/.gemini/settings.json) settings.\n"
    );
    assert!(!stage.path("project/.gemini").exists());
}

#[test]
fn unwritable_settings_are_a_system_error_and_not_bad_input() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    // Not even root makes a file in a file.
    stage.write("project/.gemini", "a file");
    let ran = stage.run(&["disable", "one"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("error: cannot write `"), "{ran:?}");
}

#[test]
fn a_disk_without_room_is_the_systems_fault_and_what_was_there_stays() {
    let stage = Stage::new();
    stage.write("project/mine/SKILL.md", skill("mine"));
    stage.write("project/mine/large", "x".repeat(100_000));
    stage.write("home/.gemini/skills/mine/SKILL.md", "before");
    super::peers::pack(
        &stage,
        "project/mine.skill",
        &[
            ("mine/SKILL.md", &skill("mine")),
            ("mine/large", &"x".repeat(100_000)),
        ],
    );
    for source in ["mine", "mine.skill"] {
        let limited = stage.command(&["install", source, "--consent"]);
        let mut shell = std::process::Command::new("sh");
        // A file of more than that cannot be written: the system says so instead of ending us.
        shell
            .args(["-c", r#"trap "" XFSZ; ulimit -f 100; exec "$@""#, "sh"])
            .arg(limited.get_program())
            .args(limited.get_args())
            .current_dir(stage.world.project())
            .env_clear()
            .envs(stage.world.environment(""));
        let ran = ran(shell);
        assert_eq!(ran.code, Some(1), "{source}: {ran:?}");
        assert!(ran.stderr.contains("File too large"), "{source}: {ran:?}");
        let files = stage.files("home/.gemini/skills");
        assert_eq!(files.len(), 2, "{source}: {files:?}");
        assert_eq!(files[1].1, "before", "{source}");
        super::hostile::assert_nothing_temporary_is_left(&stage, source);
    }
}

#[test]
fn hints_are_for_the_command_that_gives_them() {
    let stage = Stage::new();
    stage.write("project/repo/skills/x/SKILL.md", skill("x"));
    let ran = stage.run(&["link", "repo", "--consent"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    assert!(
        ran.stderr
            .ends_with("hint: there are skills further down: `repo/skills` (1 skill)\n"),
        "{ran:?}"
    );
    assert_eq!(
        stage.run(&["link", "repo/skills", "--consent"]).code,
        Some(0)
    );

    let nope = stage.run(&["link", "nope", "--consent"]);
    assert_eq!(nope.code, Some(13), "{nope:?}");
    assert!(
        nope.stderr
            .contains("error: cannot read `nope`: No such file"),
        "{nope:?}"
    );

    for verb in ["enable", "disable", "uninstall", "install", "link"] {
        let ran = stage.run(&[verb, ""]);
        assert_eq!(ran.code, Some(2), "{verb}: {ran:?}");
    }
    let mut homeless = stage.command(&["list"]);
    homeless.env_remove("HOME");
    let homeless = super::stage::ran(homeless);
    assert_eq!(homeless.code, Some(13), "{homeless:?}");
    assert!(
        homeless
            .stderr
            .starts_with("error: there is no home directory to look in\n"),
        "{homeless:?}"
    );
}

#[test]
fn a_skill_behind_a_link_is_checked_like_any_other() {
    let stage = Stage::new();
    stage.write("elsewhere/bad/SKILL.md", "no front matter");
    stage.write("elsewhere/deep/SKILL.md", skill("deep"));
    let skills = stage.path("home/.gemini/skills");
    fs::create_dir_all(skills.join("group")).unwrap();
    for (name, to) in [
        ("bad", "elsewhere/bad"),
        ("gone", "elsewhere/nobody"),
        ("file", "elsewhere/deep/SKILL.md"),
        ("group/deep", "elsewhere/deep"),
    ] {
        symlink(stage.path(to), skills.join(name)).unwrap();
    }
    let check = stage.printed(&["check"], 3);
    let told = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let path = stage.anywhere(&text("path"));
        let path = path.replace("ROOT/home/.gemini/skills/", "");
        format!("{} {path}: {}", text("fate"), text("explanation"))
    };
    let told: Vec<_> = check["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(told)
        .collect();
    assert_eq!(
        told,
        [
            "refused bad/SKILL.md: does not begin with a line `---`, front matter and another line `---`",
            "refused gone: is a dangling link",
            "not_looked_for file: is a link to a file: link its directory",
            "not_looked_for group/deep: lies 2 directories deep, and only one is looked into: move or link its directory up",
        ]
    );
}

#[test]
fn a_file_that_names_a_skill_many_times_is_named_once() {
    let stage = Stage::with_settings(&json!({ "skills": { "disabled": vec!["one"; 20_000] } }));
    stage.write("home/.gemini/skills/one/SKILL.md", skill("one"));
    let check = stage.object(&["check"]);
    let by = check["candidates"][0]["disabledBy"].as_array().unwrap();
    assert_eq!(by.len(), 1);
    assert_eq!(stage.run(&["enable", "one"]).code, Some(0));
    let settings = fs::read_to_string(stage.path("home/.gemini/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["skills"]["disabled"], json!([]));
}

#[test]
fn of_two_skills_of_a_name_the_one_that_counts_is_uninstalled() {
    let stage = Stage::new();
    stage.write("home/.gemini/skills/a/SKILL.md", skill("same"));
    stage.write("home/.gemini/skills/b/SKILL.md", skill("same"));
    let ran = stage.run(&["uninstall", "same"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        stage.anywhere(&ran.stderr),
        "Successfully uninstalled skill: same (scope: user, location: ROOT/home/.gemini/skills/a)
warning: `ROOT/home/.gemini/skills/b/SKILL.md` has the same name, and counts now\n"
    );
}

#[test]
fn the_page_on_settings_shows_what_is_printed() {
    let stage = Stage::new();
    let trust = r#""security": { "folderTrust": { "enabled": true } }"#;
    stage.write(
        "home/.gemini/settings.json",
        format!("{{\n  {trust},\n  \"skills\": {{\n    \"disabld\": []\n  }}\n}}\n"),
    );
    stage.write("project/.gemini/settings.json", "{}");
    let ran = stage.run(&["check", "--format", "text"]);
    let said = stage.anywhere(&format!("{}{}", ran.stderr, ran.stdout));
    let said = said
        .replace("ROOT/home/", "/home/me/")
        .replace("ROOT/project/", "/home/me/shop/");
    let page = fs::read_to_string(crate::support::root().join("docs/settings.md")).unwrap();
    assert_eq!(ran.stderr.lines().count(), 2, "{said}");
    assert!(page.contains(&said), "{said}");
}

#[test]
fn an_overlong_skill_name_and_a_link_over_itself_are_bad_input() {
    let stage = Stage::new();
    stage.write("project/long/SKILL.md", skill(&"n".repeat(300)));
    for verb in ["install", "link"] {
        let ran = stage.run(&[verb, "long", "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(ran.stderr.contains("File name too long"), "{ran:?}");
    }
    stage.write("home/.gemini/skills/a/SKILL.md", skill("a"));
    let ran = stage.run(&["link", "../home/.gemini/skills/a", "--consent"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    let said = stage.anywhere(&ran.stderr);
    let words = "error: `ROOT/home/.gemini/skills/a` is already in `ROOT/home/.gemini/skills`: a link there could replace its own target\n";
    assert!(said.ends_with(words), "{said}");
}

/// Runs a command on a terminal, and prints the terminal's output.
const ON_A_TERMINAL: &str = r"import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
shown = b''
try:
    while chunk := os.read(terminal, 4096): shown += chunk
except OSError: pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)";

#[test]
fn json_commands_no_terminal_and_says_the_same_there() {
    let stage = Stage::new();
    let text = "---\nname: evil\ndescription: a\u{9b}31m\u{202e}b\u{2066}\n---\n";
    stage.write("home/.gemini/skills/evil/SKILL.md", text);
    for verb in ["list", "check"] {
        let args = [verb, "--format", "json"];
        let piped = stage.run(&args).stdout;
        let asked = stage.command(&args);
        let mut python = std::process::Command::new("python3");
        python
            .args(["-c", ON_A_TERMINAL])
            .arg(asked.get_program())
            .args(asked.get_args())
            .current_dir(stage.world.project())
            .env_clear()
            .envs(stage.world.environment("http://127.0.0.1:9"));
        let shown = ran(python).stdout;
        assert!(
            !shown.contains(['\u{9b}', '\u{202e}', '\u{2066}']),
            "{shown:?}"
        );
        let [shown, piped] = [&shown, &piped].map(|it| serde_json::from_str::<Value>(it).unwrap());
        assert_eq!(shown, piped, "{verb}");
    }
}
