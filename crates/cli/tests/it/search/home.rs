//! A home with sessions in it, and the command run in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{Ran, lapidary, output, program};

/// A home, a project and a cache of their own.
pub(super) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    /// A home without sessions.
    pub(super) fn empty() -> Self {
        let home = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(home.project()).unwrap();
        home
    }

    /// A home with two sessions.
    pub(super) fn new() -> Self {
        let home = Self::empty();
        fs::create_dir_all(home.chats()).unwrap();
        let root = home.project().canonicalize().unwrap();
        let marker = home.chats().with_file_name(".project_root");
        fs::write(marker, root.to_str().unwrap()).unwrap();
        home.session(
            "aaaa-1",
            &[r#"{"id":"1","type":"user","content":"Where is the zebra now?"}"#],
        );
        home.session("bbbb-2", &[
            r#"{"id":"1","type":"user","content":"look"}"#,
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"read_file","args":{"file_path":"a.txt"},"status":"success","result":[{"functionResponse":{"id":"c","name":"read_file","response":{"output":"the zebra\ncrosses the road"}}}]}]}"#,
            r#"{"$set":{"summary":"Striped animals"}}"#,
        ]);
        home
    }

    pub(super) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    pub(super) fn gemini(&self) -> PathBuf {
        self.directory.path().join(".gemini")
    }

    fn chats(&self) -> PathBuf {
        self.gemini().join("tmp/project/chats")
    }

    /// A session that says this, and was written a while ago. Its times are in the future, so that no age changes.
    pub(super) fn session(&self, id: &str, records: &[&str]) {
        let time = "2999-01-01T00:00:00.000Z";
        let header = format!(
            r#"{{"sessionId":"{id}","projectHash":"ab","startTime":"{time}","lastUpdated":"{time}","kind":"main"}}"#
        );
        let name: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        let path = self.chats().join(format!("session-{name}.jsonl"));
        fs::write(&path, format!("{header}\n{}\n", records.join("\n"))).unwrap();
        let then = SystemTime::now() - Duration::from_hours(1);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(then).unwrap();
    }

    /// A session of Codex CLI in another project, written a while ago.
    pub(super) fn rollout(&self, id: &str) {
        let day = self.directory.path().join(".codex/sessions/2026/11/18");
        fs::create_dir_all(&day).unwrap();
        let records = [
            format!(
                r#"{{"timestamp":"2026-11-18T04:13:06.000Z","type":"session_meta","payload":{{"id":"{id}","cwd":"/tmp/elsewhere"}}}}"#
            ),
            r#"{"timestamp":"2026-11-18T04:13:07.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Any zebra?"}]}}"#.to_owned(),
        ];
        let path = day.join(format!("rollout-2026-11-18T04-13-06-{id}.jsonl"));
        fs::write(&path, records.join("\n") + "\n").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let then = SystemTime::now() - Duration::from_hours(1);
        file.set_modified(then).unwrap();
    }

    /// The databases in the cache.
    pub(super) fn databases(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| {
                Path::new(name)
                    .extension()
                    .is_some_and(|ending| ending == "sqlite")
            })
            .collect()
    }

    /// `lapidary sessions` with these arguments, in the project.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        self.at_home(lapidary([&["sessions"], args].concat()))
    }

    fn at_home(&self, mut command: Command) -> Command {
        command
            .env("HOME", self.directory.path())
            .env("GEMINI_CLI_HOME", self.directory.path())
            .env("LAPIDARY_CACHE_DIR", self.cache())
            .env("LAPIDARY_STATE_DIR", self.directory.path().join("state"))
            .current_dir(self.project());
        command
    }

    pub(super) fn ran(&self, args: &[&str]) -> Ran {
        ran(self.command(args))
    }

    /// The same, by a line of shell that gets the command as its arguments.
    pub(super) fn ran_by(&self, shell: &str, args: &[&str]) -> Ran {
        let mut command = program("sh");
        command
            .args(["-c", shell, env!("CARGO_BIN_EXE_lapidary"), "sessions"])
            .args(args);
        ran(self.at_home(command))
    }
}

fn ran(command: Command) -> Ran {
    let output = output(command, b"");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
