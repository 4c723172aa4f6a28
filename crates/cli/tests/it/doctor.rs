//! `lapidary doctor` on machines that are well and on machines that are not.

mod card;
mod install;
mod prove;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::world::World;
use crate::support::{ended, output};

/// An agent that prints its version, and a key that no output may contain.
const WELL: &str = "echo 0.61.0";
const SECRET: &str = "top-secret-4711";

#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Visit {
    pub(crate) fn of(command: Command) -> Self {
        let output = output(command, b"");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn checkup(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Checks whose state is not `ok`: name, state and message.
    fn complaints(&self) -> Vec<(String, String, String)> {
        let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
        let checks = self.checkup()["checks"].as_array().unwrap().clone();
        checks
            .iter()
            .filter(|check| check["state"] != "ok")
            .map(|check| {
                (
                    text(check, "name"),
                    text(check, "state"),
                    text(check, "message"),
                )
            })
            .collect()
    }

    /// The only thing that is not as it should be.
    #[track_caller]
    fn only(&self, name: &str, state: &str) -> String {
        let complaints = self.complaints();
        let [(only, was, message)] = complaints.as_slice() else {
            panic!("one complaint about {name}: {self:?}");
        };
        assert_eq!((only.as_str(), was.as_str()), (name, state));
        let code = i32::from(state == "problem");
        assert_eq!(
            (self.code, self.checkup()["healthy"].as_bool()),
            (Some(code), Some(code == 0))
        );
        message.clone()
    }
}

fn doctor(world: &World, args: &[&str]) -> Command {
    let mut command = world.lapidary(&[&["doctor"], args].concat());
    command.env("GEMINI_API_KEY", SECRET);
    command
}

fn visit(world: &World, change: impl FnOnce(&mut Command)) -> Visit {
    let mut command = doctor(world, &[]);
    change(&mut command);
    Visit::of(command)
}

fn write(world: &World, name: &str, text: &str) {
    let path = world.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_doctor_says_that_a_sound_machine_is_ready() {
    let world = World::with_agent(WELL);
    let package = r#"{"name": "@google/gemini-cli", "version": "0.61.0"}"#;
    write(&world, "package.json", package);
    let visit = Visit::of(doctor(&world, &["--format", "text"]));
    assert_eq!((visit.code, visit.stderr.as_str()), (Some(0), ""));
    let states: Vec<_> = visit
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        states,
        [
            "ok agent",
            "ok node",
            "ok start",
            "ok version",
            "ok trust",
            "ok auth",
            "ok settings",
            "ok config",
            "ok state",
            "ok confinement",
            "ok rules",
            "ok agents",
            "all is",
        ]
    );
    for line in [
        format!(
            "ok       agent            Gemini CLI at `{}`, named by GEMINI_CLI_PATH",
            world.path("gemini").display()
        ),
        "ok       version          0.61.0".to_owned(),
        "ok       auth             gemini-api-key: GEMINI_API_KEY is set".to_owned(),
        "ok       confinement      Landlock ABI 6; unattended runs are confined to the workspace"
            .to_owned(),
        "ok       rules            denials are asked about: read, search, edit, delete, move, execute, fetch, mcp"
            .to_owned(),
        "all is well".to_owned(),
    ] {
        assert!(
            visit.stdout.lines().any(|shown| shown == line),
            "{line}\n{}",
            visit.stdout
        );
    }
}

/// A run asks no program for its version: it would take seconds.
#[test]
fn denials_of_a_gemini_cli_of_unknown_version_are_seen_once_it_runs() {
    let world = World::with_agent(WELL);
    let visit = Visit::of(doctor(&world, &["--format", "text"]));
    let line = "ok       rules            denials are seen once it runs: read, search, edit, delete, move, execute, fetch, mcp";
    assert!(visit.stdout.contains(line), "{}", visit.stdout);
}

#[test]
fn a_pipe_gets_one_object_and_no_secret() {
    let world = World::with_agent("echo \"$GEMINI_API_KEY\" >&2; exit 3");
    let visit = visit(&world, |_| {});
    assert_eq!(visit.stdout.lines().count(), 1);
    assert_eq!(visit.checkup()["schema"], "lapidary.doctor/1");
    // The doctor repeats only the exit code and stderr of the program.
    assert!(visit.only_start().contains("exit code 3"));
    let well = World::with_agent(WELL);
    let said = Visit::of(doctor(&well, &[]));
    assert!(
        !said.stdout.contains(SECRET) && !said.stderr.contains(SECRET),
        "{said:?}"
    );
}

#[test]
fn an_agent_that_is_not_there_is_a_problem_with_a_remedy() {
    let world = World::with_agent(WELL);
    fs::set_permissions(world.path("gemini"), fs::Permissions::from_mode(0o644)).unwrap();
    let visit = visit(&world, |command| {
        command.env("PATH", world.path("bin"));
    });
    let checkup = visit.checkup();
    let agent = &checkup["checks"][0];
    let program = world.path("gemini");
    let message = format!(
        "cannot use `{}`, which GEMINI_CLI_PATH names as Gemini CLI: not executable",
        program.display()
    );
    assert_eq!(
        (visit.code, agent["message"].as_str()),
        (Some(1), Some(message.as_str()))
    );
    let remedy = agent["remedy"].as_str().unwrap();
    assert!(remedy.contains("correct GEMINI_CLI_PATH"), "{remedy}");
    let tried = format!("tried `{}`: not executable", world.path("gemini").display());
    assert_eq!(agent["details"][0], tried.as_str());
    let skipped: Vec<_> = visit
        .complaints()
        .into_iter()
        .map(|(name, state, _)| format!("{name} {state}"))
        .collect();
    assert_eq!(
        skipped,
        [
            "agent problem",
            "node skipped",
            "start skipped",
            "version skipped"
        ]
    );
}

#[test]
fn other_agents_that_were_found_are_named() {
    let world = World::with_agent(WELL);
    fs::create_dir(world.path("bin")).unwrap();
    fs::copy(world.path("gemini"), world.path("bin/gemini")).unwrap();
    let visit = visit(&world, |command| {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", world.path("bin").display()));
    });
    let also = format!(
        "also at `{}`, on PATH: not used",
        world.path("bin/gemini").display()
    );
    assert_eq!(visit.checkup()["checks"][0]["details"][0], also.as_str());
}

#[test]
fn an_agent_that_is_too_old_works_with_a_warning() {
    let world = World::with_agent("echo 0.9.1");
    let message = visit(&world, |_| {}).only("version", "warning");
    assert_eq!(
        message,
        "0.9.1 cannot stream: there is one answer at the end, and no tool calls"
    );
}

#[test]
fn an_agent_that_does_not_answer_is_not_waited_for() {
    let world = World::with_agent("(setsid sleep 600 &) ; sleep 600");
    let visit = Visit::of(doctor(&world, &["--timeout", "1"]));
    assert!(
        visit.only_start().ends_with("it did not answer within 1 s"),
        "{visit:?}"
    );
    world.assert_nothing_is_left();
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let world = World::with_agent("touch ../ready; exec sleep 600");
    let mut command = doctor(&world, &[]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    world.wait_for("ready");
    let all = world.processes();
    let supervisor = all.iter().find(|(_, line)| line.contains("__supervise"));
    let pid = nix::unistd::Pid::from_raw(supervisor.expect("it has one").0);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert_eq!(ended(child).status.code(), Some(1));
    world.assert_nothing_is_left();
}

#[test]
fn an_agent_that_floods_is_not_listened_to() {
    let world = World::with_agent("exec yes");
    let visit = visit(&world, |_| {});
    assert!(visit.only_start().contains("more than 8 MiB"), "{visit:?}");
    world.assert_nothing_is_left();
}

impl Visit {
    /// An agent that does not start has no version either.
    #[track_caller]
    fn only_start(&self) -> String {
        let complaints = self.complaints();
        let names: Vec<_> = complaints
            .iter()
            .map(|(name, state, _)| format!("{name} {state}"))
            .collect();
        assert_eq!(names, ["start problem", "version warning"], "{self:?}");
        assert_eq!(self.code, Some(1));
        complaints[0].2.clone()
    }
}

#[test]
fn a_visit_may_be_broken_off() {
    let world = World::with_agent("touch started; sleep 600");
    let mut command = doctor(&world, &[]);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null());
    let child = command.spawn().unwrap();
    world.wait_for("project/started");
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(ended(child).status.code(), Some(130));
    world.assert_nothing_is_left();
}

#[test]
fn node_has_to_be_there_and_new_enough() {
    let world = World::with_agent(WELL);
    fs::create_dir(world.path("bin")).unwrap();
    let node = |script: &str| {
        world.program("bin/node", &format!("#!/bin/sh\n{script}\n"));
    };
    let seen = || {
        let visit = visit(&world, |command| {
            command.env("PATH", world.path("bin"));
        });
        let complaints = visit.complaints();
        complaints
            .iter()
            .find(|(name, ..)| name == "node")
            .map(|(_, state, _)| state.clone())
    };
    // The agent is a shell script here: it may have a Node of its own.
    assert_eq!(seen().as_deref(), Some("warning"));
    node("echo v18.19.0");
    assert_eq!(seen().as_deref(), Some("warning"));
    node("echo v22.1.0");
    assert_eq!(seen(), None);
    // This one is for Node, and there is no other.
    let script = format!("#!{}\n", world.path("bin/node").display());
    world.program("gemini", &script);
    assert_eq!(seen(), None);
    node("echo v18.19.0");
    assert_eq!(seen().as_deref(), Some("problem"));
}

#[test]
fn an_untrusted_folder_is_a_problem() {
    let world = World::with_agent(WELL);
    let visit = visit(&world, |command| {
        command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    });
    let message = visit.only("trust", "problem");
    assert!(
        message.ends_with("is not a trusted folder: it is not in the list of trusted folders"),
        "{message}"
    );
    let checkup = visit.checkup();
    let remedy = checkup["checks"][4]["remedy"].as_str().unwrap();
    assert!(remedy.contains("--trust-workspace"), "{remedy}");
}

#[test]
fn a_user_who_trusts_every_folder_is_taken_at_their_word() {
    let world = World::with_agent(WELL);
    write(
        &world,
        "home/.config/lapidary/lapidary.toml",
        "trust_workspace = true\n",
    );
    let visit = visit(&world, |command| {
        command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    });
    assert_eq!((visit.code, visit.complaints()), (Some(0), Vec::new()));
}

#[test]
fn settings_that_cannot_be_read_are_named_with_the_place_of_the_mistake() {
    let world = World::with_agent(WELL);
    write(
        &world,
        "home/.gemini/settings.json",
        "// mine\n{\"a\": 1,}\n",
    );
    let visit = visit(&world, |_| {});
    let path = world.path("home/.gemini/settings.json");
    let expected = format!(
        "`{}` is not valid JSON: trailing comma at line 2 column 9",
        path.display()
    );
    let complaints = visit.complaints();
    let settings = complaints
        .iter()
        .find(|(name, ..)| name == "settings")
        .unwrap();
    assert_eq!(
        (settings.1.as_str(), settings.2.as_str()),
        ("problem", expected.as_str())
    );
    assert_eq!(visit.code, Some(1));
}

/// Gemini CLI reads these settings. The doctor cannot read them, which is no problem of the installation.
#[test]
fn settings_that_only_we_do_not_read_are_no_problem() {
    let world = World::with_agent(WELL);
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(600), "]".repeat(600));
    write(&world, "home/.gemini/settings.json", &deep);
    let visit = visit(&world, |_| {});
    let path = world.path("home/.gemini/settings.json");
    let path = path.display();
    let told = format!("`{path}` has more than 512 levels");
    let project = world.path("project");
    let project = project.display();
    let complaint = |name: &str, message: String| (name.to_owned(), "warning".to_owned(), message);
    let expected = [
        complaint(
            "trust",
            format!("whether `{project}` is trusted, only Gemini CLI can tell: {told}"),
        ),
        complaint(
            "settings",
            format!("{told}; Lapidary does not read it, Gemini CLI may"),
        ),
    ];
    assert_eq!((visit.code, visit.complaints()), (Some(0), expected.into()));
}

#[test]
fn a_missing_login_is_a_problem() {
    let world = World::with_agent(WELL);
    let visit = visit(&world, |command| {
        command.env_remove("GEMINI_API_KEY");
    });
    assert_eq!(visit.only("auth", "problem"), "no way to sign in was found");
}

#[test]
fn our_own_configuration_is_checked_too() {
    let world = World::with_agent(WELL);
    write(&world, "project/lapidary.toml", "timeout = -1\n");
    let message = visit(&world, |_| {}).only("config", "problem");
    assert!(message.contains("timeout must be > 0"), "{message}");
}

#[test]
fn recordings_need_a_place() {
    let world = World::with_agent(WELL);
    let visit = visit(&world, |command| {
        command.env("LAPIDARY_STATE_DIR", world.path("gemini").join("state"));
    });
    let expected = format!("`{}` is not a directory", world.path("gemini").display());
    assert_eq!(visit.only("state", "problem"), expected);
    assert!(!world.path("state").exists(), "looking writes nothing");
}

#[test]
fn the_doctor_strips_terminal_escapes_from_agent_output() {
    let world = World::with_agent("printf 'bad \\033[2J\\033]0;owned\\007 news\\n' >&2; exit 1");
    let visit = Visit::of(doctor(&world, &["--format", "text"]));
    assert_eq!(visit.code, Some(1));
    assert!(
        visit.stdout.contains("news") && !visit.stdout.contains('\u{1b}'),
        "{visit:?}"
    );
}

#[test]
fn a_directory_that_is_none_is_bad_input() {
    let visit = Visit::of(doctor(&World::with_agent(WELL), &["-C", "nowhere"]));
    assert_eq!(visit.code, Some(13));
}
