//! Which agents are here: a machine of our own, with a home of our own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, lapidary, output};

/// A home with nothing in it, and nothing on PATH.
struct Machine {
    home: TempDir,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home }
    }

    /// A Gemini CLI in its package, as npm installs it.
    fn install(&self, version: &str) -> PathBuf {
        let package = self.home.path().join("gemini-cli");
        fs::create_dir(&package).unwrap();
        let about = format!(r#"{{"name": "@google/gemini-cli", "version": "{version}"}}"#);
        fs::write(package.join("package.json"), about).unwrap();
        let program = package.join("gemini");
        // A `capabilities` that starts this program hangs the test.
        fs::write(&program, "#!/bin/sh\nsleep 1000\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn run(&self, gemini: &Path, args: &[&str]) -> Ran {
        let mut command = lapidary([&["capabilities"], args].concat());
        command
            .env("HOME", self.home.path())
            .env("PATH", self.home.path())
            .env("GEMINI_CLI_PATH", gemini);
        let ran = output(command, b"");
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    }
}

#[test]
fn a_pipe_gets_one_object_that_says_where_the_agent_is() {
    let machine = Machine::new();
    let program = machine.install("0.61.0");
    let ran = machine.run(&program, &["--agent", "gemini"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(
        ran.stdout
            .starts_with(r#"{"schema":"lapidary.capabilities/1","agent":"gemini","#)
    );
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["cliPath"], program.to_str().unwrap());
    assert_eq!(said["version"], "0.61.0");
    let asked = machine.run(&program, &["--agent", "gemini", "--format", "json"]);
    assert_eq!(asked, ran);
}

#[test]
fn capabilities_of_one_agent_are_printed_as_text() {
    let machine = Machine::new();
    let program = machine.install("0.24.0");
    let ran = machine.run(&program, &["--format", "text", "--agent", "gemini"]);
    let kinds = "read, search, edit, delete, move, execute, fetch, mcp";
    let expected = format!(
        "gemini 0.24.0: {}\n  \
           models       gemini-2.5-pro, gemini-2.5-flash\n  \
           permissions  default, acceptEdits, bypassPermissions\n  \
           can          stream-json, ACP, resume, choose models, web search, thinking\n  \
           confined     to the workspace, if unattended\n  \
           denied       seen once it runs: {kinds}\n  \
           {:13}with stream-json seen once it runs: {kinds}\n  \
           cannot       plan, slash commands\n",
        program.display(),
        "",
    );
    assert_eq!((ran.code, ran.stdout), (Some(0), expected));
}

/// Places outside of any home are those of the machine that the tests run on.
fn is_there_for_everyone() -> bool {
    ["/usr/local", "/opt/homebrew", "/home/linuxbrew/.linuxbrew"]
        .iter()
        .any(|prefix| Path::new(prefix).join("bin/gemini").exists())
}

#[test]
fn an_agent_that_is_not_installed_is_an_answer() {
    if is_there_for_everyone() {
        return;
    }
    let machine = Machine::new();
    let ran = machine.run(Path::new("/nowhere/gemini"), &["--agent", "gemini"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &said["installed"]),
        (Some(0), &Value::Bool(false))
    );

    let ran = machine.run(Path::new("/nowhere/\u{1b}[2Jgemini"), &["--format", "text"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some("Not installed:"));
    let install = "  gemini       npm install -g @google/gemini-cli";
    assert_eq!(lines.next(), Some(install));
    let tried = lines.next().unwrap();
    assert!(
        tried.trim_start().starts_with("tried /nowhere/"),
        "{tried:?}"
    );
    assert!(tried.ends_with(": no such file"), "{tried:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
}

/// A `capabilities` that starts one of the agents hangs the test.
#[test]
fn capabilities_of_all_agents_are_printed_one_per_line() {
    let machine = Machine::new();
    let opencode = machine.home.path().join("opencode");
    fs::write(&opencode, "#!/bin/sh\nsleep 1000\n").unwrap();
    fs::set_permissions(&opencode, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = machine.run(Path::new(""), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let said: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &str| said.iter().find(|agent| agent["agent"] == name).unwrap();
    assert_eq!(said[0]["agent"], "gemini");
    let here = named("opencode");
    assert_eq!(here["cliPath"], opencode.to_str().unwrap());
    assert_eq!(
        (&here["foundBy"], &here["supportsAcp"]),
        (&Value::from("path"), &Value::from(true))
    );
    let missing = named("claude");
    assert_eq!(missing["installed"], false);
    let install = "npm install -g @agentclientprotocol/claude-agent-acp";
    assert_eq!(missing["install"], install);

    let ran = machine.run(Path::new(""), &["--format", "text"]);
    let claude = "\nNot installed:\n  claude       lapidary doctor --agent claude --install\n";
    let gemini = "\nNot installed:\n  gemini       npm install -g @google/gemini-cli\n  claude ";
    let is_listed = [claude, gemini]
        .iter()
        .any(|text| ran.stdout.contains(text));
    assert!(is_listed, "{}", ran.stdout);
    let here = format!(
        "opencode: {}\n  permissions  plan\n  confined     to the workspace, if unattended\n  denied       asked about: read, search, edit, delete, move, execute, fetch, mcp\n  can          ACP\n",
        opencode.display()
    );
    assert!(ran.stdout.contains(&here), "{}", ran.stdout);
}

#[test]
fn an_unknown_agent_is_wrong_usage() {
    let ran = Machine::new().run(Path::new(""), &["--agent", "nobody"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("hint: there are gemini, claude"),
        "{ran:?}"
    );
}

/// Nothing listens at the address: it is not connected.
#[test]
fn agents_of_the_configuration_are_listed_with_their_address_or_program() {
    let machine = Machine::new();
    let config = "[agents.far]\nurl = 'wss://agents.example:1/acp'\ntoken_env = 'T'\nfamily = 'claude'\nplan_mode = 'plan'\n\
                  [agents.qwen]\ncommand = '/nowhere/qwen --acp'\n";
    let directory = machine.home.path().join(".config/lapidary");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("lapidary.toml"), config).unwrap();
    let ran = machine.run(Path::new("/nowhere/gemini"), &["--format", "json"]);
    let said: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &str| {
        let found: Vec<_> = said.iter().filter(|it| it["agent"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {said:?}");
        found[0].clone()
    };
    let far = named("far");
    assert_eq!(
        (&far["url"], &far["installed"], &far["rules"]["acp"]),
        (
            &Value::from("wss://agents.example:1/acp"),
            &Value::from(true),
            &Value::from("watched")
        )
    );
    assert_eq!(far["permissionModes"], serde_json::json!(["plan"]));
    assert_eq!(far["install"], Value::Null);
    assert_eq!(named("qwen")["installed"], false);
    assert_eq!(named("claude")["url"], Value::Null);
    let ran = machine.run(Path::new(""), &["--agent", "far", "--format", "text"]);
    assert!(
        ran.stdout.starts_with("far: wss://agents.example:1/acp\n"),
        "{}",
        ran.stdout
    );
    let mut list = lapidary(["agents", "list", "--format", "json"]);
    list.env("HOME", machine.home.path())
        .env("PATH", machine.home.path())
        .current_dir(machine.home.path());
    let list: Value = serde_json::from_slice(&output(list, b"").stdout).unwrap();
    let programs = list["programs"].as_array().unwrap();
    let far = programs.iter().find(|it| it["name"] == "far");
    assert_eq!(far.unwrap()["url"], "wss://agents.example:1/acp");
    fs::write(directory.join("lapidary.toml"), "[agents.far]\nurl = 7\n").unwrap();
    let ran = machine.run(Path::new(""), &["--agent", "claude"]);
    assert_eq!(ran.code, Some(0), "a broken file is a warning: {ran:?}");
    assert!(
        ran.stderr
            .starts_with("warning: agents of files are skipped: "),
        "{ran:?}"
    );
}
