//! A project with sessions, written as Gemini CLI 0.61 writes them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_sessions::vault::{AddRequest, AddedFiles, Guard, GuardRequest, Vault, session_files};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The id of the context message, the same in every session.
pub(crate) const CONTEXT: &str = "d04923d38bb0f6017037e74183378ef4";

pub(crate) struct Chats {
    root: TempDir,
}

/// A time that names of files are told by.
pub(crate) fn now() -> SystemTime {
    // 2026-11-16T04:44:30Z
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_804_270)
}

pub(crate) fn later(minutes: u64) -> SystemTime {
    now() + Duration::from_mins(minutes)
}

impl Chats {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let chats = Self { root };
        fs::create_dir_all(chats.dir()).unwrap();
        chats
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("home/.gemini/tmp/project")
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.project().join("chats")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub(crate) fn vault(&self) -> Vault {
        Vault::open(self.root.path().join("state/vault"))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        append(&self.path(name), text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let (files, _) = session_files(&self.dir());
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        files.iter().map(name).collect()
    }

    pub(crate) fn add(&self, now: SystemTime) -> AddedFiles {
        let (files, _) = session_files(&self.dir());
        let request = AddRequest {
            project: &self.project(),
            files: &files,
            reason: "test",
            now,
        };
        self.vault().add(&request).unwrap()
    }

    pub(crate) fn request(&self) -> GuardRequest {
        GuardRequest {
            chats: vec![self.dir()],
            now: now(),
            resume: None,
            retention: None,
        }
    }

    pub(crate) fn guard(&self) -> Guard {
        Guard::before(&self.vault(), self.request()).unwrap()
    }
}

pub(crate) fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A line of a log.
pub(crate) fn line(value: &Value) -> String {
    format!("{value}\n")
}

pub(crate) fn header(id: &str, time: &str) -> String {
    line(&json!({
        "sessionId": id, "projectHash": "306ba437", "startTime": time, "lastUpdated": time, "kind": "main"
    }))
}

pub(crate) fn context() -> Value {
    json!({
        "id": CONTEXT, "timestamp": "2026-11-16T04:40:00.000Z", "type": "user",
        "content": [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}]
    })
}

/// The lines that the CLI appends when it starts, to the file that has the name of this minute.
pub(crate) fn start(id: &str, time: &str) -> String {
    let context = line(&json!({"$set": {"messages": [context()], "lastUpdated": time}}));
    header(id, time) + &context
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-11-16T04:40:01.000Z", "type": "user", "content": [{"text": text}]})
}

pub(crate) fn gemini(id: &str, text: &str) -> Value {
    json!({
        "id": id, "timestamp": "2026-11-16T04:40:02.000Z", "type": "gemini", "content": text, "thoughts": [],
        "tokens": {"input": 100, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": 110}, "model": "gemini-3.8-flash"
    })
}

/// A question and its answer.
pub(crate) fn turn(name: &str) -> String {
    let time = line(&json!({"$set": {"lastUpdated": "2026-11-16T04:40:03.000Z"}}));
    let question = line(&user(&format!("{name}-u"), &format!("question {name}")));
    let answer = line(&gemini(&format!("{name}-g"), &format!("answer {name}")));
    question + &time + &answer + &time
}

/// A session with turns of these names.
pub(crate) fn session(id: &str, turns: &[&str]) -> String {
    let turns = turns.iter().map(|name| turn(name));
    start(id, "2026-11-16T04:40:00.000Z") + &turns.collect::<String>()
}

/// The ids of the messages that the CLI shows of a file.
pub(crate) fn shown(text: &str) -> Vec<String> {
    let log = lapidary_wire::gemini::session::ReplayedLog::read(text.as_bytes());
    let id = |message: lapidary_json::Token<'_>| {
        let id = message.get("id").and_then(lapidary_json::Token::string);
        id.unwrap_or_default().into_owned()
    };
    log.messages().map(id).collect()
}
