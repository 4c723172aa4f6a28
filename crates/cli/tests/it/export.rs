//! `sessions export`: files that are whole, private, never overwritten, and without secrets if that was asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use lapidary_testkit::captures;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{lapidary, output, root};

const FORMATS: [&str; 4] = ["markdown", "html", "json", "session"];

/// A home with two sessions of one project.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let project = stage.path("project");
        fs::create_dir_all(&project).unwrap();
        let chats = stage.path("home/.gemini/tmp/project/chats");
        fs::create_dir_all(&chats).unwrap();
        let project = project.canonicalize().unwrap();
        fs::write(chats.join("../.project_root"), project.to_str().unwrap()).unwrap();
        let registry = json!({"projects": {project.to_str().unwrap(): "project"}});
        let file = stage.path("home/.gemini/projects.json");
        fs::write(file, registry.to_string()).unwrap();
        for name in ["thoughts", "tool-glob-grep"] {
            let source = capture(name);
            let name = source.file_name().unwrap().to_str().unwrap();
            let name = &name[name.find("session-").unwrap()..];
            fs::copy(&source, chats.join(name)).unwrap();
        }
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, args: &[&str]) -> Output {
        let mut command = lapidary(["sessions", "export"]);
        command
            .args(args)
            .env("HOME", self.path("home"))
            .env_remove("GEMINI_CLI_HOME")
            .current_dir(self.path("project"));
        output(command, b"")
    }
}

fn capture(name: &str) -> PathBuf {
    let sessions = captures::fixtures().join("gemini-0.61.0/sessions");
    let entries = fs::read_dir(sessions).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let named = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(name)
    };
    paths.into_iter().find(named).unwrap()
}

fn stderr(ran: &Output) -> String {
    String::from_utf8(ran.stderr.clone()).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn one_session_goes_to_stdout_or_into_a_file_that_is_ours_alone() {
    let stage = Stage::new();
    let printed = stage.export(&["2"]);
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    assert!(
        String::from_utf8(printed.stdout.clone())
            .unwrap()
            .contains("Found.")
    );
    assert_eq!(stage.export(&["2", "-o", "-"]).stdout, printed.stdout);

    let ran = stage.export(&["2", "-o", "a.md"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let file = stage.path("project/a.md");
    assert_eq!(fs::read(&file).unwrap(), printed.stdout);
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn a_file_that_exists_is_only_replaced_by_force() {
    let stage = Stage::new();
    let file = stage.path("project/a.md");
    fs::write(&file, "mine").unwrap();
    let ran = stage.export(&["-o", "a.md"]);
    assert_eq!(ran.status.code(), Some(13));
    assert_eq!(
        stderr(&ran),
        "error: `a.md` exists already\nhint: --force replaces it\n"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(
        stage.export(&["-o", "a.md", "--force"]).status.code(),
        Some(0)
    );
    assert_ne!(fs::read_to_string(&file).unwrap(), "mine");
    // Nothing else is left beside it.
    let files = fs::read_dir(stage.path("project")).unwrap().count();
    assert_eq!(files, 1);
    let ran = stage.export(&["-o", "nowhere/a.md"]);
    assert_eq!(ran.status.code(), Some(13), "{ran:?}");
}

#[test]
fn several_sessions_go_into_a_directory() {
    let stage = Stage::new();
    let ran = stage.export(&["1", "2", "--to", "html"]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    for (args, count) in [(&["1", "2", "1"][..], 2), (&["--all"], 2)] {
        let folder = format!("out{}", args.len());
        let args = [args, &["--to", "session", "-o", &folder]].concat();
        let ran = stage.export(&args);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let files: Vec<_> = fs::read_dir(stage.path("project").join(&folder))
            .unwrap()
            .collect();
        assert_eq!(files.len(), count);
        let again = stage.export(&args);
        assert_eq!(again.status.code(), Some(13), "{again:?}");
    }
}

#[test]
fn the_document_is_as_its_schema_says() {
    let schema = fs::read_to_string(root().join("schemas/session.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for capture in captures::all() {
        if capture.kind != captures::CaptureKind::Session {
            continue;
        }
        let mut command = lapidary(["sessions", "export", "--to", "json"]);
        command.arg(&capture.path);
        let ran = output(command, b"");
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["schema"], "lapidary.session/1");
        if let Err(error) = validator.validate(&document) {
            panic!("{}: {error}", capture.name);
        }
    }
}

/// A session that says a text in every way.
fn session(text: &str) -> String {
    let lines = [
        json!({"sessionId": "s-1", "projectHash": "0", "summary": text}),
        json!({"id": "1", "type": "user", "content": [{"text": text}], "displayContent": text}),
        json!({"id": "2", "type": "gemini", "content": text, "thoughts": [{"subject": text, "description": text}], "toolCalls": [
            {"id": "c", "name": "write_file", "args": {"file_path": text, "content": text}, "status": "success", "description": text,
             "resultDisplay": {"fileDiff": text, "fileName": text, "originalContent": text, "newContent": text},
             "result": [{"functionResponse": {"id": "c", "name": "write_file", "response": {"output": text}}}]}]}),
        json!({"id": "3", "type": "error", "content": text}),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn no_secret_survives_in_any_format(
        kind in 0..6_usize,
        random in "[a-z][0-9][A-Z][A-Za-z0-9]{33}",
        before in "[ -~\n]{0,20}[ \n(]",
        after in "[ \n)][ -~\n]{0,20}",
    ) {
        let (secret, placed) = match kind {
            0 => { let s = format!("gh{}_{random}", "p"); (s.clone(), s) }
            1 => { let s = format!("AI{}{}", "za", &random[..35]); (s.clone(), s) }
            2 => (random.clone(), format!("API_KEY={random}")),
            3 => (random.clone(), format!("{{\"password\": \"{random}\"}}")),
            4 => (random.clone(), format!("https://me:{random}@host.example/")),
            _ => (random.clone(), format!("Authorization: Bearer {random}")),
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        fs::write(&file, session(&format!("{before}{placed}{after}"))).unwrap();
        for format in FORMATS {
            let mut command = lapidary(["sessions", "export", "--redact", "--to", format]);
            command.arg(&file);
            let ran = output(command, b"");
            prop_assert_eq!(ran.status.code(), Some(0));
            let printed = String::from_utf8(ran.stdout).unwrap();
            prop_assert!(!printed.contains(&secret), "{}", printed);
            prop_assert!(!String::from_utf8_lossy(&ran.stderr).contains(&secret));
        }
    }
}

#[test]
fn an_export_lists_redacted_secrets_without_revealing_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let text = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD1234");
    let text = format!("PASSWORD=hunter2hunter {text} in /home/ada/x");
    let lines = [
        json!({"sessionId": "s-1", "projectHash": "0"}),
        json!({"id": "1", "type": "user", "content": text}),
        json!({"id": "2", "type": "gemini", "content": "hunter2hunter it is"}),
    ];
    fs::write(&file, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let mut command = lapidary(["sessions", "export", "--redact", "--dry-run"]);
    command.arg(&file);
    let ran = output(command, b"");
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(0), 0));
    let expected = "\
redacted: 3 secrets in 4 places
  password-1      2×  h…        messages 1, 2
  github-token-1  1×  ghp_…34   message 1
  home directory  1×  /home/a…  message 1
";
    assert_eq!(stderr(&ran), expected);
}

#[test]
fn a_backup_says_what_is_not_in_it() {
    let stage = Stage::new();
    let said = |stage: &Stage, folder: &str| {
        let folder = stage.path(folder);
        let output = stage.export(&["--all", "-o", folder.to_str().unwrap()]);
        assert!(output.status.success(), "{output:?}");
        let count = fs::read_dir(&folder).unwrap().count();
        (String::from_utf8(output.stderr).unwrap(), count)
    };
    assert_eq!(said(&stage, "whole"), (String::new(), 2));
    let chats = stage.path("home/.gemini/tmp/project/chats");
    fs::write(chats.join("session-2026-01-01T00-00-aaaaaaaa.jsonl"), "").unwrap();
    let (told, count) = said(&stage, "partial");
    assert_eq!(count, 2);
    let expected = "note: 1 file without a session to resume was skipped; `lapidary sessions list --all --hidden` says why\n";
    assert_eq!(told, expected);
    fs::remove_dir_all(stage.path("home/.gemini/tmp")).unwrap();
    fs::write(stage.path("home/.gemini/tmp"), "").unwrap();
    let (told, count) = said(&stage, "nothing");
    assert_eq!(count, 0);
    assert!(told.starts_with("warning: cannot look into"), "{told}");
    assert!(
        told.ends_with("note: there is no session to export\n"),
        "{told}"
    );
}
