//! `lapidary hooks`: the hooks of each event, the reasons for which a hook does not run, and mistakes in hook settings.

mod slips;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sessions::object;
use crate::support::{Ran, lapidary, output};
use crate::usage::{assert_harmless, on_a_terminal, without_colours};

const TRUST: (&str, &str) = ("GEMINI_CLI_TRUST_WORKSPACE", "true");

/// A home and a project.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.path("project")).unwrap();
        fs::create_dir_all(world.path("home/.gemini")).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = lapidary(["hooks"]);
        command
            .args(args)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .env(
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
                self.path("etc/settings.json"),
            );
        command
    }

    /// Runs it in the project, which is trusted.
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.envs([TRUST]);
        told(command)
    }

    /// Stdout and stderr of the command, without the path of the world.
    fn shown(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        all.replace(&self.path("").display().to_string(), "")
    }
}

fn told(command: Command) -> Ran {
    let ran = output(command, b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

const SETTINGS: &str = "project/.gemini/settings.json";
const USER: &str = "home/.gemini/settings.json";

const TWO_HOOKS: &str = r#"{
  // mine
  "hooks": {
    "BeforeTool": [{ "matcher": "write_file", "hooks": [
      { "type": "command", "command": "true", "name": "guard" }, // keep
      { "type": "command", "command": "true 2" }
    ]}]
  }
}
"#;

#[test]
fn a_list_has_every_hook_and_every_reason() {
    let world = World::new()
        .with(SETTINGS, TWO_HOOKS)
        .with(USER, r#"{"hooks": {"Stop": [], "AfterAgent": [{"hooks": [{"type": "command", "command": "x"}]}]}, "hooksConfig": {"disabled": ["guard"]}}"#);
    let ran = world.run(&["list"]);
    assert_eq!(ran.code, Some(0));
    let list = object(&ran, "hooks");
    assert_eq!(list["trusted"], true);
    let names: Vec<_> = list["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| {
            (
                hook["name"].as_str().unwrap(),
                hook["enabled"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(names, [("guard", false), ("true 2", true), ("x", true)]);
    assert_eq!(list["hooks"][0]["disabledBy"], json!([world.path(USER)]));
    assert_eq!(list["hooks"][0]["scope"], "workspace");
    assert_eq!(list["leftOut"][0]["what"], "Stop");
    assert_eq!(list["warnings"].as_array().unwrap().len(), 2);
    let shown = world.shown(&["list", "--format", "text", "--event", "BeforeTool"]);
    assert_eq!(
        shown,
        "BeforeTool\n  - guard  for write_file  [workspace, 60 s]\n      true\n      disabled by home/.gemini/settings.json\n    true 2  for write_file  [workspace, 60 s]\n-  Stop: there is no hook event of this name\n     home/.gemini/settings.json hooks.Stop\nwarning: Gemini CLI says: Invalid hook event name: \"Stop\" from project config. Skipping.\nnote: 2 hooks are new to Gemini CLI, which will announce them\n"
    );
    assert!(
        !world.path("home/.gemini/trusted_hooks.json").exists(),
        "reading writes nothing"
    );
}

#[test]
fn a_list_says_that_the_folder_is_not_trusted() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    let ran = told(world.command(&["list"]));
    let list = object(&ran, "hooks");
    assert_eq!(
        (&list["trusted"], &list["hooks"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(list["leftOut"].as_array().unwrap().len(), 2);
    let ran = told(world.command(&["list", "--format", "text"]));
    assert!(ran.stderr.starts_with("warning: this folder is not trusted: Gemini CLI runs no hooks of any settings here, your own included\n"), "{}", ran.stderr);
}

#[test]
fn hooks_are_switched_off_and_on_and_comments_stay() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    let ran = world.run(&["disable", "guard"]);
    let change = object(&ran, "hooks-change");
    assert_eq!((ran.code, &change["applied"]), (Some(0), &json!(true)));
    assert_eq!(change["changed"], json!([world.path(SETTINGS)]));
    let text = world.read(SETTINGS);
    assert!(
        text.contains("// mine") && text.contains("// keep"),
        "{text}"
    );
    assert_eq!(
        object(&world.run(&["list"]), "hooks")["hooks"][0]["enabled"],
        false
    );

    let again = world.run(&["disable", "guard", "--format", "text"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), "Hook \"guard\" is already disabled.\n")
    );
    assert_eq!(world.read(SETTINGS), text);

    let ran = world.run(&["disable", "guard", "--scope", "user", "--format", "text"]);
    assert_eq!(ran.code, Some(0));
    let on = world.run(&["enable", "guard", "--format", "text"]);
    let expected = format!(
        "Hook \"guard\" enabled by removing it from the disabled list in workspace ({}) and user ({}) settings.\n",
        world.path(SETTINGS).display(),
        world.path(USER).display()
    );
    assert_eq!(
        (on.code, on.stdout, on.stderr.as_str()),
        (Some(0), expected, "")
    );
    assert_eq!(
        object(&world.run(&["list"]), "hooks")["hooks"][0]["enabled"],
        true
    );
    let again = world.run(&["enable", "guard", "--format", "text"]);
    assert_eq!(again.stdout, "Hook \"guard\" is already enabled.\n");
}

#[test]
fn an_unknown_hook_is_refused_and_nothing_is_written() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    for verb in ["enable", "disable"] {
        let ran = world.run(&[verb, "gaurd"]);
        assert_eq!(ran.code, Some(13));
        assert_eq!(
            ran.stderr,
            "error: no hook here is called `gaurd`\nhint: did you mean `guard`?\n"
        );
    }
    assert_eq!(world.read(SETTINGS), TWO_HOOKS);
    assert!(!world.path(USER).exists());
}

#[test]
fn enabling_a_hook_names_the_settings_that_still_disable_it() {
    let world = World::new().with(SETTINGS, TWO_HOOKS).with(
        USER,
        r#"{"hooksConfig": {"enabled": false, "disabled": ["guard"]}}"#,
    );
    let ran = world.run(&["enable", "guard"]);
    let remark = format!("`{}` still switches it off", world.path(USER).display());
    assert_eq!(object(&ran, "hooks-change")["remarks"], json!([remark]));
    assert_eq!(ran.stderr, format!("warning: {remark}\n"));
}

#[test]
fn settings_that_cannot_be_read_are_not_overwritten() {
    let world = World::new()
        .with(SETTINGS, "{ \"hooks\": ")
        .with(USER, TWO_HOOKS);
    let ran = world.run(&["disable", "guard"]);
    assert_eq!(ran.code, Some(13));
    assert!(ran.stderr.contains("is not valid JSON"), "{}", ran.stderr);
    assert_eq!(world.read(SETTINGS), "{ \"hooks\": ");
}

#[test]
fn a_link_in_a_workspace_writes_nothing_outside_it() {
    let world = World::new().with(USER, TWO_HOOKS).with(
        "project/.claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#,
    );
    fs::create_dir_all(world.path("project/.gemini")).unwrap();
    std::os::unix::fs::symlink(world.path(USER), world.path(SETTINGS)).unwrap();
    for args in [
        ["disable", "guard", "--scope", "workspace"].as_slice(),
        &["migrate", "--from-claude"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(13), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("outside `"), "{args:?}: {ran:?}");
        assert_eq!(world.read(USER), TWO_HOOKS, "{args:?}");
    }
}

#[test]
fn a_check_finds_errors_where_they_stand_and_exits_with_three() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    let ran = world.run(&["check"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(object(&ran, "hooks-check")["findings"], json!([]));

    let wrong = TWO_HOOKS
        .replace("write_file", "Write")
        .replace("\"true 2\"", "\"./gone.sh\", \"timeout\": 5");
    let world = World::new().with(SETTINGS, &wrong);
    let ran = world.run(&["check"]);
    let report = object(&ran, "hooks-check");
    assert_eq!(
        (ran.code, &report["errors"], &report["warnings"]),
        (Some(3), &json!(2), &json!(1))
    );
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["line"], &finding["column"], &finding["code"]),
        (&json!(4), &json!(22), &json!("dead_matcher"))
    );
    assert_eq!(
        world.shown(&["check", "--format", "text"]),
        "project/.gemini/settings.json:4:22: error: `guard`: no tool is called `Write`: it never matches, and case counts\n  hint: write `write_file`\nproject/.gemini/settings.json:6:28: error: `./gone.sh`: its script `project/gone.sh` is not there\nproject/.gemini/settings.json:6:52: warning: `./gone.sh`: its `timeout` is 5 milliseconds, which looks like seconds; if the hook takes longer, Gemini CLI lets everything pass\n  hint: for 5 seconds write `\"timeout\": 5000`\n2 errors, 1 warning\n"
    );
}

#[test]
fn names_of_others_cannot_command_the_terminal() {
    let hostile = "\\u001b]0;owned\\u0007\\u001b[2J";
    let settings = TWO_HOOKS
        .replace("guard", hostile)
        .replace("write_file", hostile)
        .replace("BeforeTool", &format!("X{hostile}"));
    let claude = format!(
        r#"{{"hooks": {{"X{hostile}": [], "Stop": [{{"hooks": [{{"type": "command", "command": "{hostile}"}}]}}]}}}}"#
    );
    let world = World::new()
        .with(SETTINGS, &settings)
        .with(USER, &TWO_HOOKS.replace("guard", hostile))
        .with("project/.claude/settings.json", &claude);
    let project = world.path("project").display().to_string();
    let home = world.path("home").display().to_string();
    for args in [
        &["hooks", "list"][..],
        &["hooks", "check"],
        &["hooks", "disable", "\u{1b}[2Jx"],
        &["hooks", "migrate", "--from-claude", "--dry-run"],
    ] {
        let args = [args, &["-C", &project]].concat();
        let (shown, _) = on_a_terminal(&args, &[("HOME", &home), TRUST], b"");
        assert!(shown.len() > 20, "{shown}");
        assert_harmless(&without_colours(&shown));
    }
}

#[test]
fn a_list_hides_no_word_of_a_command() {
    let hidden = r"\u001b]0; rm x\u0007";
    let settings = TWO_HOOKS.replace("true", &format!("true {hidden}"));
    let world = World::new().with(SETTINGS, &settings);
    let shown = world.shown(&["list", "--format", "text"]);
    let command = r"true \u{1b}]0; rm x\u{7}";
    assert!(shown.contains(&format!("\n      {command}\n")), "{shown}");
    assert!(
        shown.contains(&format!("\n    {command} 2  for ")),
        "{shown}"
    );
}

const CLAUDE: &str = r#"{
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "guard", "timeout": 10 }] }],
    "TaskCompleted": [{ "hooks": [{ "type": "command", "command": "x" }] }]
  }
}"#;

#[test]
fn hooks_of_claude_code_are_added_once_and_comments_stay() {
    let world = World::new()
        .with(SETTINGS, TWO_HOOKS)
        .with("project/.claude/settings.json", CLAUDE);
    let dry = world.run(&["migrate", "--from-claude", "--dry-run"]);
    let dry = object(&dry, "hooks-change");
    assert_eq!(dry["applied"], false);
    assert_eq!(
        dry["added"],
        json!([{"event": "BeforeTool", "matcher": "run_shell_command", "command": "guard", "timeoutMs": 10_000}])
    );
    assert_eq!(dry["skipped"].as_array().unwrap().len(), 1);
    assert_eq!(world.read(SETTINGS), TWO_HOOKS);

    let ran = object(&world.run(&["migrate", "--from-claude"]), "hooks-change");
    assert_eq!(
        (&ran["applied"], &ran["added"]),
        (&json!(true), &dry["added"])
    );
    let text = world.read(SETTINGS);
    assert!(
        text.contains("// mine") && text.contains("// keep"),
        "{text}"
    );
    let again = object(&world.run(&["migrate", "--from-claude"]), "hooks-change");
    assert_eq!(
        (&again["applied"], again.get("added")),
        (&json!(false), None)
    );
    assert_eq!(world.read(SETTINGS), text);
    let check = object(&world.run(&["list"]), "hooks");
    assert_eq!(check["hooks"].as_array().unwrap().len(), 3);
}

#[test]
fn a_definition_without_a_list_keeps_every_byte_of_its_text() {
    const ALONE: &str = "{ // IMPORTANT\n      \"matcher\":\"x\", /* why */ \"hooks\":[ {\"type\":\"command\",\"command\":\"true\"} ] }";
    let settings = format!("{{\n  \"hooks\": {{\n    \"BeforeTool\": {ALONE}\n  }}\n}}\n");
    let world = World::new()
        .with(SETTINGS, &settings)
        .with("project/.claude/settings.json", CLAUDE);
    let ran = object(&world.run(&["migrate", "--from-claude"]), "hooks-change");
    assert_eq!(ran["applied"], true);
    let text = world.read(SETTINGS);
    assert!(text.contains(&format!("[{ALONE},")), "{text}");
    let list = object(&world.run(&["list"]), "hooks");
    assert_eq!(list["hooks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_migration_that_cannot_be_is_refused() {
    let world = World::new();
    let ran = world.run(&["migrate", "--from-claude"]);
    assert_eq!(ran.code, Some(13));
    assert!(
        ran.stderr
            .starts_with("error: there is neither `settings.json` nor `settings.local.json`"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.run(&["migrate"]).code, Some(2));
    let world = World::new()
        .with("project/.claude/settings.json", CLAUDE)
        .with(SETTINGS, r#"{"hooks": []}"#);
    let ran = world.run(&["migrate", "--from-claude"]);
    assert_eq!(ran.code, Some(13));
    assert_eq!(world.read(SETTINGS), r#"{"hooks": []}"#);
    let home = world.path("home").display().to_string();
    let world = world.with("home/.claude/settings.json", CLAUDE);
    assert_eq!(
        world.run(&["migrate", "--from-claude", "-C", &home]).code,
        Some(13)
    );
    let text: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    assert!(text.is_object());
}

const LOSSY: &str = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
  {"type": "command", "command": "a", "if": "Bash(rm *)", "once": true, "async": true, "timeout": 0.5},
  {"type": "command", "command": "b", "timeout": "30", "async": false},
  {"type": "command", "command": "c", "timeout": 0},
  {"type": "command", "command": "d", "timeout": -1},
  {"type": "command", "command": "e", "timeout": 1e12},
  {"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}'"},
  {"type": "prompt", "prompt": "is it safe?"},
  {"type": "http", "url": "http://localhost/x"},
  {"type": "agent", "prompt": "look"}
]}]}}"#;

#[test]
fn a_migration_names_what_is_lost_and_where() {
    let world = World::new().with("project/.claude/settings.json", LOSSY);
    let ran = world.run(&["migrate", "--from-claude", "--dry-run"]);
    let change = object(&ran, "hooks-change");
    let added = change["added"].as_array().unwrap();
    let timeouts: Vec<_> = added.iter().map(|hook| hook["timeoutMs"].clone()).collect();
    assert_eq!(
        timeouts,
        [1000, 600_000, 600_000, 600_000, 600_000, 600_000].map(|it| json!(it))
    );
    let file = world.path("project/.claude/settings.json");
    let place = |place: &str| format!("`hooks.PreToolUse[0].hooks{place}` in {}: ", file.display());
    let remarks = change["remarks"].as_array().unwrap().iter();
    let remarks: Vec<_> = remarks.map(|remark| remark.as_str().unwrap()).collect();
    let expected = [
        ("[0].async", "waits for it"),
        ("[0].if", "every call that its matcher matches"),
        ("[0].once", "each time"),
        ("[1].timeout", "\"30\" is not a valid number of seconds"),
        ("[2].timeout", "0 is not a valid number"),
        ("[3].timeout", "-1 is not a valid number"),
        ("[4].timeout", "1000000000000.0 is not a valid number"),
        ("[5].command", "`permissionDecision`"),
    ];
    for (at, words) in expected {
        let start = place(at);
        let found = remarks
            .iter()
            .any(|it| it.starts_with(&start) && it.contains(words));
        assert!(found, "{at}: {remarks:#?}");
    }
    assert_eq!(remarks.len(), expected.len(), "{remarks:#?}");
    let skipped = change["skipped"].to_string();
    for word in [
        "`hooks.PreToolUse[0].hooks[6]` is of type `prompt`",
        "[7]` is of type `http`",
        "[8]` is of type `agent`",
    ] {
        assert!(skipped.contains(word), "{skipped}");
    }
}

#[test]
fn a_check_notices_answers_that_only_claude_code_reads() {
    let script = |answer: &str| format!("#!/bin/sh\n# permissionDecision\necho '{{{answer}}}'\n");
    let settings = TWO_HOOKS
        .replace("\"true\"", "\"sh ./a.sh\"")
        .replace("\"true 2\"", "\"sh ./b.sh\"");
    let world = World::new()
        .with(SETTINGS, &settings)
        .with(
            "project/a.sh",
            &script(r#""hookSpecificOutput":{"permissionDecision":"deny"}"#),
        )
        .with(
            "project/b.sh",
            &script(r#""decision":"deny","hookSpecificOutput":{"permissionDecision":"deny"}"#),
        );
    let ran = world.run(&["check"]);
    let report = object(&ran, "hooks-check");
    let found = report["findings"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:#?}");
    let expected = (&json!("claude_answer"), &json!("warning"), &json!(3));
    assert_eq!(
        (&found[0]["code"], &found[0]["severity"], &found[0]["line"]),
        expected
    );
    assert_eq!(found[0]["path"], json!(world.path("project/a.sh")));
    assert_eq!(ran.code, Some(0), "a suspicion is no error");
}

#[test]
fn unreadable_hook_settings_are_errors() {
    let check = |config: &str, words: &str| {
        let world = World::new().with(SETTINGS, &format!(r#"{{"hooksConfig": {config}}}"#));
        let ran = world.run(&["check"]);
        let report = object(&ran, "hooks-check");
        assert_eq!(report["findings"][0]["code"], "bad_config", "{report}");
        let sentence = report["findings"][0]["message"].as_str().unwrap();
        assert!(sentence.contains(words), "{sentence}");
        assert_eq!(ran.code, Some(3));
    };
    check("5", "`hooksConfig` is a number, not an object");
    check(
        r#"{"disabled": {}}"#,
        "`hooksConfig.disabled` is an object, not a list",
    );
}

#[test]
fn a_missing_hook_hints_at_settings_that_do_not_parse() {
    let world = World::new().with(SETTINGS, "{ \"hooks\": ");
    for trusted in [true, false] {
        let mut command = world.command(&["disable", "guard"]);
        if trusted {
            command.envs([TRUST]);
        }
        let ran = told(command);
        assert_eq!(ran.code, Some(13));
        let file = world.path(SETTINGS);
        let hint = format!(
            "hint: `{}` cannot be used, so its hooks do not count: it ",
            file.display()
        );
        assert!(ran.stderr.contains(&hint), "{trusted}: {}", ran.stderr);
    }
}
