//! Damaged session files of other agents: the vault copies them, a briefing is made of them, their agent continues them, and nothing
//! is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use lapidary_testkit::captures::fixtures;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::Value;

use super::{command, object, sessions};
use crate::support::{Ran, output};

const SESSION: &str = "c1a0de00-0000-4000-8000-000000000002";

/// A home whose session of Claude Code has these lines instead.
fn home(change: impl FnOnce(Vec<String>) -> String) -> RecordedHome {
    let home = RecordedHome::new();
    let scene = "sessions/claude-2.1.312/tools/projects/-tmp-project";
    let name = format!("{SESSION}.jsonl");
    let text = fs::read_to_string(fixtures().join(scene).join(name)).unwrap();
    let text = text.replace("/tmp/project", home.project().to_str().unwrap());
    let lines = text.lines().map(str::to_owned).collect();
    fs::create_dir_all(file(&home).parent().unwrap()).unwrap();
    fs::write(file(&home), change(lines)).unwrap();
    home
}

fn file(home: &RecordedHome) -> PathBuf {
    let projects = home.home().join(".claude/projects");
    projects
        .join("-tmp-project")
        .join(format!("{SESSION}.jsonl"))
}

/// A record with another value in a field.
fn with(line: &str, field: &str, value: &Value) -> String {
    let mut record: Value = serde_json::from_str(line).unwrap();
    record[field] = value.clone();
    record.to_string()
}

/// A cut off last line, a record that stands twice, and links between records in a circle.
fn damaged_homes() -> Vec<(&'static str, RecordedHome)> {
    let cut_off = home(|lines| {
        let mut text = lines.join("\n");
        text += "\n{\"type\":\"assistant\",\"message\":{\"role\":\"assi";
        text
    });
    let repeated = home(|lines| [&lines[..], &lines[..]].concat().join("\n"));
    let circle = home(|mut lines| {
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        let first = lines
            .iter()
            .position(|it| it.contains("\"parentUuid\":null"));
        let first = first.unwrap();
        lines[first] = with(&lines[first], "parentUuid", &last["uuid"]);
        lines.join("\n")
    });
    vec![
        ("cut off", cut_off),
        ("repeated", repeated),
        ("circle", circle),
    ]
}

/// `sessions resume` where `claude` is a script that notes its arguments and plays a capture.
fn resumed(home: &RecordedHome, session: &str) -> (Ran, String) {
    let programs = home.root().join("programs");
    // The agent may write in its project only.
    let arguments = home.project().join("arguments");
    fs::create_dir_all(&programs).unwrap();
    let capture = fixtures().join("claude-2.1.312/text.stdout.jsonl");
    let script = format!(
        "#!/bin/sh\necho \"$@\" > '{}'\ncat > /dev/null\ncat '{}'\n",
        arguments.display(),
        capture.display()
    );
    let program = programs.join("claude");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let args = ["resume", session, "--no-config", "--transport"];
    let args = [&args[..], &["stream-json", "--format", "result", "go on"]];
    let mut command = command(home, &args.concat());
    let path = format!("{}:/usr/bin:/bin", programs.display());
    command
        .env("PATH", path)
        .env("LAPIDARY_STATE_DIR", home.root().join("state"));
    let ran = output(command, b"");
    let ran = Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    };
    (ran, fs::read_to_string(arguments).unwrap_or_default())
}

#[test]
fn damaged_files_are_copied_briefed_and_continued_and_stay_as_they_are() {
    for (what, home) in damaged_homes() {
        let before = fs::read(file(&home)).unwrap();
        let print = ["continue", SESSION, "--in", "gemini", "--print"];
        let briefing = sessions(&home, &print);
        assert_eq!(briefing.code, Some(0), "{what}: {}", briefing.stderr);
        for part in ["## Goal\n\nChange the notes\n", "Both files are in place."] {
            assert!(
                briefing.stdout.contains(part),
                "{what}: {}",
                briefing.stdout
            );
        }
        let copied = sessions(&home, &["vault", "add", "--agent", "claude"]);
        let copied = object(&copied, "vault");
        let sizes = &copied["snapshots"][0]["files"][0]["size"];
        assert_eq!(sizes, before.len(), "{what}: {copied}");
        let (ran, arguments) = resumed(&home, SESSION);
        assert_eq!(ran.code, Some(0), "{what}: {} {}", ran.stdout, ran.stderr);
        let resumes = format!("--resume {SESSION}");
        assert!(arguments.contains(&resumes), "{what}: {arguments}");
        assert_eq!(fs::read(file(&home)).unwrap(), before, "{what}");
    }
}

#[test]
fn a_session_of_which_a_project_has_two_files_is_continued_as_one() {
    let home = home(|lines| lines.join("\n"));
    let older = home.home().join(".claude/projects/-tmp-elsewhere");
    fs::create_dir_all(&older).unwrap();
    let text = fs::read_to_string(file(&home)).unwrap();
    let begun: Vec<_> = text.lines().take(6).collect();
    fs::write(older.join(format!("{SESSION}.jsonl")), begun.join("\n")).unwrap();
    let print = ["continue", SESSION, "--in", "gemini", "--print"];
    let briefing = sessions(&home, &print);
    assert_eq!(briefing.code, Some(0), "{}", briefing.stderr);
    assert!(briefing.stdout.contains("Both files are in place."));
    let copied = sessions(&home, &["vault", "add", "--agent", "claude"]);
    let copied = object(&copied, "vault");
    assert_eq!(copied["snapshots"].as_array().unwrap().len(), 2, "{copied}");
    let (ran, arguments) = resumed(&home, SESSION);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(arguments.contains(SESSION), "{arguments}");
}

#[test]
fn a_link_out_of_the_store_is_neither_copied_nor_continued() {
    let home = home(|lines| lines.join("\n"));
    let outside = home.root().join("outside.jsonl");
    fs::rename(file(&home), &outside).unwrap();
    symlink(&outside, file(&home)).unwrap();
    let before = fs::read(&outside).unwrap();
    let copied = sessions(&home, &["vault", "add", "--agent", "claude"]);
    assert!(!copied.stdout.contains(SESSION), "{}", copied.stdout);
    let print = ["continue", SESSION, "--in", "gemini", "--print"];
    let briefing = sessions(&home, &print);
    assert_eq!(briefing.code, Some(13), "{}", briefing.stdout);
    let (ran, arguments) = resumed(&home, SESSION);
    assert_eq!((ran.code, arguments.as_str()), (Some(13), ""), "{ran:?}");
    assert_eq!(fs::read(&outside).unwrap(), before);
}

/// Not even root can read a directory that is a link to itself.
#[test]
fn sessions_that_cannot_be_reached_are_not_called_deleted() {
    let home = home(|lines| lines.join("\n"));
    sessions(&home, &["vault", "add", "--agent", "claude"]);
    let project = file(&home).parent().unwrap().to_owned();
    fs::rename(&project, home.root().join("moved")).unwrap();
    symlink(&project, &project).unwrap();
    let log = sessions(&home, &["vault", "log", "--agent", "claude"]);
    let log = object(&log, "vault");
    assert_eq!(log["onlyInVault"], Value::Null, "{log}");
    fs::remove_file(&project).unwrap();
    let log = sessions(&home, &["vault", "log", "--agent", "claude"]);
    let log = object(&log, "vault");
    assert_eq!(log["onlyInVault"][0]["sessionId"], SESSION, "{log}");
}
