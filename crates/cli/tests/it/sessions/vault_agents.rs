//! `sessions vault` and `sessions recover` for agents other than Gemini CLI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lapidary_testkit::captures::fixtures;
use lapidary_testkit::recorded::RecordedHome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{command, object, sessions};
use crate::support::{ended, lines_of, output};

/// How long a line may take that is bound to come.
const PATIENCE: Duration = Duration::from_mins(1);

const SESSION: &str = "c1a0de00-0000-4000-8000-000000000001";

/// A home with one session of Claude Code and one of Codex CLI.
fn home() -> RecordedHome {
    let home = RecordedHome::new();
    let claude = "sessions/claude-2.1.312/text/projects/-tmp-project";
    copy_files(&fixtures().join(claude), &project(&home));
    let codex = fixtures().join("sessions/codex-0.166.0/text/sessions/2026/11/18");
    copy_files(&codex, &home.home().join(".codex/sessions/2026/11/18"));
    home
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn project(home: &RecordedHome) -> PathBuf {
    home.home().join(".claude/projects/-tmp-project")
}

fn file(home: &RecordedHome) -> PathBuf {
    project(home).join(format!("{SESSION}.jsonl"))
}

#[test]
fn a_deleted_session_of_claude_code_is_listed_and_written_only_with_apply() {
    let home = home();
    let whole = fs::read(file(&home)).unwrap();
    let args = ["vault", "add", "--agent", "all", "--format", "text"];
    let added = sessions(&home, &args).stdout;
    assert_eq!(added.lines().count(), 2, "{added}");
    for folder in ["/.claude/projects/-tmp-project\n", "/2026/11/18\n"] {
        assert!(added.contains(folder), "{added}");
    }
    fs::remove_file(file(&home)).unwrap();

    let log = sessions(&home, &["vault", "log", "--agent", "claude"]);
    let log = object(&log, "vault");
    let gone = &log["onlyInVault"][0];
    assert_eq!(gone["sessionId"], SESSION);
    assert_eq!(gone["provider"], "claude");
    assert!(gone["lastSeen"].is_string(), "{gone}");
    let args = ["vault", "log", "--agent", "claude", "--format", "text"];
    let log = sessions(&home, &args).stdout;
    assert!(log.contains("  last seen just now  Say hello\n"), "{log}");

    let shown = sessions(&home, &["vault", "restore", SESSION]);
    assert_eq!(object(&shown, "vault")["applied"], false);
    assert!(!file(&home).exists());
    let recovered = sessions(&home, &["recover", "--agent", "all", "--format", "text"]);
    assert!(
        recovered
            .stdout
            .contains("in the vault, last seen just now: Say hello\n"),
        "{}",
        recovered.stdout
    );
    assert!(
        recovered.stderr.contains("nothing was written"),
        "{}",
        recovered.stderr
    );
    assert!(!file(&home).exists());

    let restored = sessions(&home, &["vault", "restore", SESSION, "--apply"]);
    assert_eq!(object(&restored, "vault")["applied"], true);
    assert_eq!(fs::read(file(&home)).unwrap(), whole);
}

#[test]
fn copies_of_gemini_cli_are_found_by_its_name_as_well() {
    let home = home();
    let path = home.session("pears", "2026-01-02T10:00:00.000Z", &["a pear"]);
    sessions(&home, &["vault", "add", "--agent", "all"]);
    fs::remove_file(path).unwrap();
    let recovered = sessions(&home, &["recover", "--agent", "gemini"]);
    let recovered = object(&recovered, "recover");
    assert_eq!(recovered["onlyInVault"][0]["sessionId"], "pears");
    let log = sessions(&home, &["vault", "log", "--agent", "gemini"]);
    let log = object(&log, "vault");
    assert_eq!(log["onlyInVault"][0]["sessionId"], "pears", "{log}");
    assert_eq!(log["snapshots"].as_array().unwrap().len(), 1, "{log}");
    let log = sessions(
        &home,
        &["vault", "log", "--agent", "qwen", "--format", "text"],
    );
    let note =
        "note: the vault has no copy; `lapidary sessions vault add --agent qwen` takes one\n";
    assert_eq!(log.stderr, note);
}

#[test]
fn a_beginning_that_two_deleted_sessions_have_lists_both() {
    let home = home();
    let other = SESSION.replace("0001", "0002");
    let other_file = project(&home).join(format!("{other}.jsonl"));
    fs::copy(file(&home), &other_file).unwrap();
    sessions(&home, &["vault", "add", "--agent", "claude"]);
    fs::remove_file(other_file).unwrap();
    fs::remove_file(file(&home)).unwrap();
    let recover = |named| sessions(&home, &["recover", "--agent", "claude", named]);
    let both = recover("c1a0");
    assert_eq!(both.code, Some(13), "{both:?}");
    let error = format!("error: 2 sessions begin with `c1a0`: {SESSION}, {other}\n");
    assert!(both.stderr.starts_with(&error), "{both:?}");
    let one = object(&recover(&other), "recover");
    assert_eq!(one["onlyInVault"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(recover("../../x").code, Some(13));
}

#[test]
fn the_only_copy_of_a_named_agent_has_its_folder() {
    let home = home();
    let args = ["vault", "add", "--agent", "claude", "--format", "text"];
    let added = sessions(&home, &args).stdout;
    assert_eq!(added.lines().count(), 1, "{added}");
    let folder = "/.claude/projects/-tmp-project\n";
    assert!(added.ends_with(folder), "{added}");
}

#[test]
fn an_agent_that_the_vault_does_not_know_is_wrong_usage() {
    let ran = sessions(&home(), &["vault", "add", "--agent", "mystery"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("claude, codex"), "{}", ran.stderr);
}

#[test]
fn the_timer_of_systemd_is_printed_and_nothing_is_written() {
    let home = home();
    let ran = sessions(
        &home,
        &["vault", "add", "--agent", "all", "--print-systemd"],
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for part in [
        "ExecStart=",
        " sessions vault add --agent all",
        "OnCalendar=hourly",
    ] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    assert!(!home.home().join(".local").exists());
}

#[test]
fn the_timer_copies_what_the_command_would_with_the_directories_of_this_shell() {
    let home = home();
    let project = home.project().canonicalize().unwrap();
    let args = ["vault", "add", "--agent", "claude", "--print-systemd"];
    let mut command = command(&home, &args);
    command
        .args(["--max-size", "1GiB", "--project"])
        .arg(&project)
        .env("LAPIDARY_STATE_DIR", "/srv/lapidary")
        .env("CLAUDE_CONFIG_DIR", "/srv/50% of $HOME");
    let ran = output(command, b"");
    let unit = String::from_utf8(ran.stdout).unwrap();
    for line in [
        "Environment=\"LAPIDARY_STATE_DIR=/srv/lapidary\"\n",
        "Environment=\"CLAUDE_CONFIG_DIR=/srv/50%% of $HOME\"\n",
        &format!(
            " sessions vault add --agent claude --project {} --max-size 1073741824 --format text\n",
            project.display()
        ),
    ] {
        assert!(unit.contains(line), "{line}: {unit}");
    }
    let ran = sessions(
        &home,
        &["vault", "add", "--agent", "mystery", "--print-systemd"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn watching_copies_a_session_that_grows_and_ends_with_sigterm() {
    let home = home();
    let args = ["vault", "add", "--agent", "claude", "--watch"];
    let mut command = command(&home, &args);
    command.stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = lines_of(&mut child);
    let first = lines.recv_timeout(PATIENCE).unwrap();
    assert!(first.contains(SESSION), "{first}");
    let mut bytes = fs::read(file(&home)).unwrap();
    bytes.extend_from_slice(b"{}\n");
    fs::write(file(&home), &bytes).unwrap();
    let size = format!("\"size\":{}", bytes.len());
    while !lines.recv_timeout(PATIENCE).unwrap().contains(&size) {}
    let id = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(id), Signal::SIGTERM).unwrap();
    assert_eq!(ended(child).status.code(), Some(0));
}

#[test]
fn watching_tells_a_directory_that_it_cannot_read_once() {
    let home = home();
    let closed = home.home().join(".qwen/projects");
    fs::create_dir(closed.parent().unwrap()).unwrap();
    // As a directory without permission, but for every user.
    fs::write(&closed, "no directory").unwrap();
    let args = ["vault", "add", "--agent", "all", "--watch"];
    let mut command = command(&home, &args);
    command
        .args(["--format", "text"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = lines_of(&mut child);
    // Copies of Claude Code and of Codex CLI, then one for each change.
    for change in 0..4 {
        let line = lines.recv_timeout(PATIENCE).unwrap();
        assert!(line.contains(" new  "), "{line}");
        if matches!(change, 1 | 2) {
            let mut bytes = fs::read(file(&home)).unwrap();
            bytes.extend_from_slice(b"{}\n");
            fs::write(file(&home), &bytes).unwrap();
        }
    }
    let id = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(id), Signal::SIGTERM).unwrap();
    let stderr = String::from_utf8(ended(child).stderr).unwrap();
    let warning = format!(
        "warning: sessions in `{}` cannot be read: ",
        closed.display()
    );
    assert_eq!(stderr.matches(&warning).count(), 1, "{stderr}");
}
