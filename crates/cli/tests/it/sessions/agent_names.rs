//! Names of sessions where agents other than Gemini CLI have some: unknown ones, deleted ones, and the newest of all.

use std::fs;
use std::path::PathBuf;

use lapidary_testkit::recorded::RecordedHome;

use super::damaged_agents::{SESSION, file, home, home_of_all};
use super::sessions;

/// A home with one session, of Claude Code, in the project.
fn claude_home() -> RecordedHome {
    let home = home(|lines| lines.join("\n"));
    let project = project(&home);
    fs::create_dir_all(&project).unwrap();
    fs::rename(file(&home), project.join(format!("{SESSION}.jsonl"))).unwrap();
    home
}

/// Where Claude Code has the sessions of the project.
fn project(home: &RecordedHome) -> PathBuf {
    let root = home.project().to_string_lossy().into_owned();
    let name = root.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    home.home().join(".claude/projects").join(name)
}

/// Commands that take the name of a session.
fn commands(named: &str) -> [Vec<&str>; 4] {
    [
        vec!["show", "--all", named],
        vec!["export", "--all", named],
        vec!["continue", named, "--in", "gemini", "--print"],
        vec!["resume", named, "--no-record", "go on"],
    ]
}

#[test]
fn an_unknown_name_is_named_though_gemini_cli_has_no_session() {
    let home = claude_home();
    let mut commands = commands("zzz").to_vec();
    commands.extend([vec!["show", "zzz"], vec!["export", "zzz"]]);
    for args in commands {
        let ran = sessions(&home, &args);
        let expected = "error: there is no session `zzz` (INVALID_SESSION_IDENTIFIER)";
        assert_eq!(ran.code, Some(13), "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with(expected), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_deleted_session_of_another_agent_has_the_hint_that_the_vault_has_it() {
    let home = claude_home();
    sessions(&home, &["vault", "add", "--agent", "claude"]);
    fs::remove_file(project(&home).join(format!("{SESSION}.jsonl"))).unwrap();
    let hint = format!(
        "hint: the vault has a copy: `lapidary sessions vault restore {SESSION} --apply` brings it back\n"
    );
    for args in commands(&SESSION[..12]) {
        let ran = sessions(&home, &args);
        assert_eq!(ran.code, Some(13), "{args:?}: {ran:?}");
        assert!(ran.stderr.ends_with(&hint), "{args:?}: {ran:?}");
    }
}

#[test]
fn the_newest_session_is_shown_and_exported_whatever_agent_it_is_of() {
    let home = claude_home();
    let check = |expected: &str, args: &[&str]| {
        let ran = sessions(&home, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(ran.stdout.contains(expected), "{args:?}: {ran:?}");
    };
    for args in [
        &["show"][..],
        &["show", "latest"],
        &["export"],
        &["export", "latest"],
    ] {
        check("Both files are in place.", args);
    }
    home.session("older", "2025-01-02T10:00:00.000Z", &["of old"]);
    for args in [&["show"][..], &["export"]] {
        check("Both files are in place.", args);
    }
    // In the format of Gemini CLI only its own sessions are written.
    check("of old", &["export", "--to", "json"]);
    home.session("newer", "2999-01-02T10:00:00.000Z", &["of the future"]);
    for args in [&["show"][..], &["export"]] {
        check("of the future", args);
    }
}

#[test]
fn a_session_file_of_any_agent_is_shown_and_exported_by_its_path() {
    let home = home_of_all();
    let files = [
        ".claude/projects/-tmp-project/c1a0de00-0000-4000-8000-000000000001.jsonl",
        ".codex/sessions/2026/11/18/rollout-2026-11-18T04-16-41-01a1ecdf-0442-72c1-9043-55e89b7fdee9.jsonl",
        ".qwen/projects/-tmp-project/chats/5a6b6c15-c321-45f7-bb9b-85a5c0d350a2.jsonl",
        ".local/share/opencode/storage/session/global/ses_e128cb2b3ffekYo3RO7skVyZg1.json",
    ];
    for file in files {
        let path = home.home().join(file);
        let path = path.to_str().unwrap();
        for args in [&["show", path, "--format", "text"][..], &["export", path]] {
            let ran = sessions(&home, args);
            assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
            assert!(
                ran.stdout.contains("Hello, I am ready."),
                "{args:?}: {ran:?}"
            );
        }
        let ran = sessions(&home, &["export", path, "--to", "json"]);
        assert_eq!(ran.code, Some(13), "{path}: {ran:?}");
        let error = format!("error: `{path}` is not a session file of Gemini CLI\n");
        assert!(ran.stderr.starts_with(&error), "{path}: {ran:?}");
    }
    // A file of Gemini CLI of which only a damaged line is left is still read as one.
    let damaged = home.chat("session-2026-01-03T10-00-damaged.jsonl", "{\"id\":\"m1\"\n");
    let ran = sessions(&home, &["show", damaged.to_str().unwrap()]);
    assert!(
        ran.stderr.contains("holds no record of a session"),
        "{ran:?}"
    );
}

#[test]
fn a_damaged_compressed_rollout_is_shown_as_far_as_it_can_be_read() {
    let home = home_of_all();
    let day = home.home().join(".codex/sessions/2026/11/18");
    let name = "rollout-2026-11-18T04-16-41-01a1ecdf-0442-72c1-9043-55e89b7fdee9.jsonl";
    let rollout = fs::read(day.join(name)).unwrap();
    // The header of a frame with a window of 32 MiB, one block that is not the last one, and a part of another header.
    let block = u32::try_from(rollout.len()).unwrap() << 3;
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 15 << 3];
    packed.extend_from_slice(&block.to_le_bytes()[..3]);
    packed.extend_from_slice(&rollout);
    packed.push(0);
    fs::remove_file(day.join(name)).unwrap();
    let path = day.join(format!("{name}.zst"));
    fs::write(&path, packed).unwrap();
    let path = path.to_str().unwrap();
    let ran = sessions(&home, &["show", path, "--format", "messages"]);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    assert!(ran.stdout.contains("Hello, I am ready."), "{ran:?}");
    let error = format!("error: cannot read `{path}`: it is damaged or cut off\n");
    assert!(ran.stderr.ends_with(&error), "{ran:?}");
    let hidden = sessions(&home, &["list", "--all", "--hidden", "--format", "text"]);
    let told = format!("{path}: it cannot be read: it is damaged or cut off\n");
    assert!(hidden.stdout.contains(&told), "{hidden:?}");
}

#[test]
fn a_backup_of_another_agents_sessions_is_not_called_empty() {
    let home = home_of_all();
    let to = home.root().join("backup");
    let args = ["export", "--all", "--agent", "claude", "-o"];
    let ran = sessions(&home, &[&args[..], &[to.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("no session to export"), "{ran:?}");
    // The session's project is none that Gemini CLI has a name for.
    assert!(to.join("c1a0de00-0000-4000-8000-000000000001.md").is_file());
}

#[test]
fn a_list_without_sessions_of_the_named_agent_names_it() {
    let home = claude_home();
    fs::write(project(&home).join("noise.jsonl"), "no JSON\n").unwrap();
    let list = |args: &[&str]| {
        let args = [&["list", "--format", "text"], args].concat();
        sessions(&home, &args).stderr
    };
    assert_eq!(
        list(&["--agent", "codex"]),
        "note: no sessions of `codex` recorded here yet; --all shows those of other projects\n"
    );
    fs::remove_file(project(&home).join(format!("{SESSION}.jsonl"))).unwrap();
    assert_eq!(
        list(&["--all"]),
        "note: no sessions recorded here yet\nnote: 1 file was skipped; use --hidden to see why\n"
    );
}
