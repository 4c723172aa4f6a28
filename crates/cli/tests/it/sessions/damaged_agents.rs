//! Damaged session files of other agents: the vault copies them, a briefing is made of them, their agent continues them, and nothing
//! is written. Stores that cannot be read: they are named, and the others are listed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use lapidary_testkit::captures::fixtures;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::Value;

use super::{command, object, sessions};
use crate::support::{Ran, output};

pub(super) const SESSION: &str = "c1a0de00-0000-4000-8000-000000000002";

/// A home whose session of Claude Code has these lines instead.
pub(super) fn home(change: impl FnOnce(Vec<String>) -> String) -> RecordedHome {
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

pub(super) fn file(home: &RecordedHome) -> PathBuf {
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
        // The last records are notes of the program, without an id.
        let last = lines.iter().rfind(|it| it.contains("\"uuid\":"));
        let last: Value = serde_json::from_str(last.unwrap()).unwrap();
        assert!(last["uuid"].is_string(), "{last}");
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

/// The messages of the session, without the original records and the place of the home.
fn messages(home: &RecordedHome) -> Vec<Value> {
    let ran = sessions(home, &["show", "--all", SESSION, "--format", "messages"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = ran.stdout.replace(home.root().to_str().unwrap(), "");
    let messages = text.lines().map(|line| {
        let mut message: Value = serde_json::from_str(line).unwrap();
        message.as_object_mut().unwrap().remove("_original");
        message
    });
    messages.collect()
}

/// Copies a directory with everything in it.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// A home with a session of each of five agents.
pub(super) fn home_of_all() -> RecordedHome {
    let home = RecordedHome::new();
    home.session("gemini", "2026-01-02T10:00:00.000Z", &["said"]);
    let captures = [
        ("claude-2.1.312/text/projects", ".claude/projects"),
        ("codex-0.60.1/text/sessions", ".codex/sessions"),
        ("qwen-0.24.0/text/projects", ".qwen/projects"),
        (
            "opencode-1.1.65/text/storage",
            ".local/share/opencode/storage",
        ),
    ];
    for (scene, place) in captures {
        let scene = fixtures().join("sessions").join(scene);
        copy_tree(&scene, &home.home().join(place));
    }
    home
}

/// A command that may read no more than the permissions of a file say, root or not.
fn unprivileged(home: &RecordedHome, args: &[&str]) -> Ran {
    let wanted = command(home, args);
    let mut command = Command::new("unshare");
    command
        .args(["--user", env!("CARGO_BIN_EXE_lapidary")])
        .args(wanted.get_args())
        .current_dir(home.project())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(
            wanted
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let ran = output(command, b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
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
    let copied = sessions(&home, &["vault", "add", "--agent", "claude"]);
    let copied = object(&copied, "vault");
    assert_eq!(copied["snapshots"], Value::Null, "{copied}");
    fs::remove_file(&project).unwrap();
    let log = sessions(&home, &["vault", "log", "--agent", "claude"]);
    let log = object(&log, "vault");
    assert_eq!(log["onlyInVault"][0]["sessionId"], SESSION, "{log}");
}

#[test]
fn each_record_of_a_damaged_file_is_shown_once_and_a_note_says_what_is_off() {
    let whole = messages(&home(|lines| lines.join("\n")));
    assert!(whole.len() > 4, "{whole:?}");
    let notes = [
        ("cut off", "the last record is cut off"),
        ("repeated", "32 records that stand twice"),
        (
            "circle",
            "shown in the order of the file: 28 records whose parents form a circle",
        ),
    ];
    for (what, home) in damaged_homes() {
        assert_eq!(messages(&home), whole, "{what}");
        let note = notes.iter().find(|(of, _)| *of == what).unwrap().1;
        let shown = sessions(&home, &["show", "--all", SESSION, "--format", "text"]);
        assert!(shown.stdout.contains(note), "{what}: {}", shown.stdout);
    }
}

#[test]
fn a_directory_without_permission_is_named_once_and_the_other_agents_are_listed() {
    let stores = [
        ("gemini", ".gemini"),
        ("gemini", ".gemini/tmp"),
        ("gemini", ".gemini/tmp/project"),
        ("gemini", ".gemini/tmp/project/chats"),
        ("claude", ".claude"),
        ("claude", ".claude/projects"),
        ("claude", ".claude/projects/-tmp-project"),
        ("codex", ".codex"),
        ("codex", ".codex/sessions"),
        ("codex", ".codex/sessions/2026/11"),
        ("qwen", ".qwen"),
        ("qwen", ".qwen/projects"),
        ("qwen", ".qwen/projects/-tmp-project"),
        ("qwen", ".qwen/projects/-tmp-project/chats"),
        ("opencode", ".local/share/opencode"),
        ("opencode", ".local/share/opencode/storage"),
        ("opencode", ".local/share/opencode/storage/session"),
    ];
    let home = home_of_all();
    let agents = ["gemini", "claude", "codex", "qwen", "opencode"];
    for (agent, place) in stores {
        let place = home.home().join(place);
        let shut = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        shut(0o000);
        let all = unprivileged(&home, &["list", "--all"]);
        let text = unprivileged(&home, &["list", "--all", "--format", "text"]);
        let here = unprivileged(&home, &["list"]);
        shut(0o700);
        let all = object(&all, "sessions");
        let listed = all["sessions"].as_array().unwrap();
        for other in agents {
            let is_listed = listed.iter().any(|it| it["provider"] == other);
            assert_eq!(is_listed, other != agent, "{place:?}: {all}");
        }
        let name = place.display().to_string();
        let [warning] = &all["warnings"].as_array().unwrap()[..] else {
            panic!("one warning: {all}");
        };
        let warning = warning.as_str().unwrap();
        let denied = "Permission denied (os error 13)";
        assert!(
            warning.contains(&name) && warning.ends_with(denied),
            "{warning}"
        );
        let told = format!("warning: {warning}\n");
        assert_eq!(
            (text.code, text.stderr.matches(&told).count()),
            (Some(0), 1),
            "{text:?}"
        );
        let here = object(&here, "sessions");
        let is_of_all = ["-tmp-project", "/chats"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_of_all {
            assert_eq!(
                here["warnings"].as_array().unwrap().len(),
                1,
                "{place:?}: {here}"
            );
        }
    }
}

#[test]
fn a_closed_home_is_named_once_though_every_agent_has_its_sessions_there() {
    let home = home_of_all();
    let place = home.home();
    let shut = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
    shut(0o000);
    let listed = unprivileged(&home, &["list", "--all"]);
    let told = [
        &["search", "--all", "hello", "--format", "text"][..],
        &["stats", "--all", "--format", "text"],
        &["show", "--all", "c1a0de99"],
    ]
    .map(|args| (args, unprivileged(&home, args).stderr));
    shut(0o700);
    let place = place.display();
    let denied = "Permission denied (os error 13)";
    let expected = [
        format!("cannot look into `{place}`: {denied}"),
        format!("sessions in `{place}` cannot be read: {denied}"),
        format!("recordings in `{place}/.local/state/lapidary/runs` are not listed: {denied}"),
    ];
    let listed = object(&listed, "sessions");
    assert_eq!(listed["warnings"], serde_json::json!(expected), "{listed}");
    for (args, stderr) in told {
        let times = stderr.matches(&expected[1]).count();
        assert_eq!(times, 1, "{args:?}: {stderr}");
    }
}

#[test]
fn a_closed_database_is_named_with_the_reason_and_the_other_sessions_are_listed() {
    let home = home_of_all();
    let database = home.home().join(".local/share/opencode/opencode.db");
    fs::write(&database, "").unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o000)).unwrap();
    let listed = object(&unprivileged(&home, &["list", "--all"]), "sessions");
    let warning = format!(
        "sessions in `{}` cannot be read: Permission denied (os error 13)",
        database.display()
    );
    assert_eq!(listed["warnings"], serde_json::json!([warning]), "{listed}");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 5, "{listed}");
}

/// Not even root can read a directory that is a link to itself.
#[test]
fn prompts_of_a_session_that_cannot_be_reached_are_not_called_all_that_is_left() {
    let home = RecordedHome::new();
    let claude = home.home().join(".claude");
    let scene = fixtures().join("sessions/claude-2.1.312/interactive");
    copy_tree(&scene, &claude);
    let projects = claude.join("projects");
    fs::rename(&projects, home.root().join("moved")).unwrap();
    symlink(&projects, &projects).unwrap();
    let recover = || {
        let ran = sessions(&home, &["recover", "--agent", "claude"]);
        object(&ran, "recover")
    };
    let closed = recover();
    assert_eq!(closed["sessions"], serde_json::json!([]), "{closed}");
    let warning = closed["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("/.claude/projects` cannot be read: "),
        "{warning}"
    );
    fs::remove_file(&projects).unwrap();
    let gone = recover();
    assert_eq!(
        gone["sessions"][0]["sessionId"], "c1a0de00-0000-4000-8000-000000000020",
        "{gone}"
    );
}

#[test]
fn a_count_a_copy_and_a_failed_search_name_a_directory_that_they_cannot_read() {
    let home = home_of_all();
    for place in [
        ".claude/projects/-tmp-project",
        ".codex/sessions/2026/11/18",
        ".qwen/projects/-tmp-project/chats",
    ] {
        let place = home.home().join(place);
        let shut = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        shut(0o000);
        let told = [
            &["stats", "--all", "--format", "text"][..],
            &["vault", "add", "--agent", "all", "--format", "text"],
            &["show", "--all", "c1a0de99"],
            &["export", "--all", "c1a0de99"],
            &["continue", "c1a0de99", "--in", "gemini", "--print"],
        ]
        .map(|args| (args, unprivileged(&home, args).stderr));
        shut(0o700);
        let warning = format!(
            "warning: sessions in `{}` cannot be read: Permission denied (os error 13)\n",
            place.display()
        );
        for (args, stderr) in told {
            assert!(stderr.contains(&warning), "{args:?}: {stderr}");
        }
    }
}
