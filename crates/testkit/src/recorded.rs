//! A home with sessions written by hand: for tests that care about each of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A home and a project that vanish when this is dropped.
#[derive(Debug)]
pub struct RecordedHome {
    root: TempDir,
}

impl RecordedHome {
    /// A home that knows a project, in which nothing was recorded yet.
    ///
    /// # Panics
    /// If there is no place for it.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let home = Self { root };
        fs::create_dir_all(home.project()).expect("the project can be made");
        let registry =
            json!({ "projects": { home.project().to_str().expect("a name"): "project" } });
        home.put("projects.json", &registry.to_string());
        let root = home.project().display().to_string();
        home.put("tmp/project/.project_root", &root);
        home.put("history/project/.project_root", &root);
        home
    }

    /// The folder that holds everything, with room for files of a test.
    ///
    /// # Panics
    /// If it is gone.
    pub fn root(&self) -> PathBuf {
        let root = self.root.path().canonicalize();
        root.expect("the folder is there")
    }

    /// The home folder, with `.gemini` in it.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The project's folder.
    pub fn project(&self) -> PathBuf {
        self.root().join("work/project")
    }

    /// The project's folder in the home.
    pub fn folder(&self) -> PathBuf {
        self.home().join(".gemini/tmp/project")
    }

    /// Writes a file below `.gemini`.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home().join(".gemini").join(name);
        let folder = path.parent().expect("a file has a folder");
        fs::create_dir_all(folder).expect("the folder can be made");
        fs::write(&path, text).expect("the file can be written");
        path
    }

    /// Writes a file among the project's sessions.
    pub fn chat(&self, name: &str, text: &str) -> PathBuf {
        self.put(&format!("tmp/project/chats/{name}"), text)
    }

    /// Records a session in which a user says things and is answered, the first at `start`, one a minute.
    pub fn session(&self, id: &str, start: &str, says: &[&str]) -> PathBuf {
        self.chat(&file_name(id, start), &log(id, start, says))
    }

    /// Records a run of an agent in the project: a user who looks for a lighthouse is told of a lightship.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn recorded_run(&self, run: &str, agent: &str, session: &str) {
        const START: &str = "2026-01-02T10:00:00.000Z";
        let folder = self.home().join(".local/state/lapidary/runs").join(run);
        fs::create_dir_all(&folder).expect("the folder can be made");
        let stream = [
            json!({"type": "init", "timestamp": START, "session_id": session, "model": "m"}),
            json!({"type": "message", "timestamp": START, "role": "user", "content": "find the lighthouse"}),
            json!({"type": "message", "timestamp": START, "role": "assistant", "content": "A light", "delta": true}),
            json!({"type": "message", "timestamp": START, "role": "assistant", "content": "ship.", "delta": true}),
            json!({"type": "result", "timestamp": START, "status": "success", "stats": {"total_tokens": 120, "input_tokens": 100, "output_tokens": 20}}),
        ];
        let stream = stream.map(|line| line.to_string()).join("\n");
        let manifest = json!({
            "schema": "lapidary.recording/1", "writer": "lapidary 0.1.0", "run": run, "agent": agent,
            "transport": "stream-json", "argv": [agent], "environment": [], "directory": self.project(),
            "startedAt": "2026-01-03T10:00:00.000Z",
            "end": {"durationMs": 2000, "exitCode": 0, "agentExitCode": 0, "outcome": "completed", "cause": "end_turn",
                "sessionId": session, "model": "m", "prompt": "find the lighthouse"},
        });
        let (stream, manifest) = (stream.as_str(), manifest.to_string());
        let files = [
            ("stdout", stream),
            ("run.json", &manifest),
            ("timing", ""),
            ("stdin", ""),
            ("stderr", ""),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("the file can be written");
        }
    }

    /// Every file, folder and link below `.gemini`, with its content or its target.
    pub fn tree(&self) -> BTreeMap<String, String> {
        directory_tree(&self.home().join(".gemini"))
    }

    /// Makes a file look as old as this.
    ///
    /// # Panics
    /// If it cannot be changed.
    pub fn age(&self, path: &Path, now: SystemTime, age: Duration) {
        let file = fs::File::options().append(true).open(path);
        let file = file.expect("the file is there");
        file.set_modified(now - age).expect("its time can be set");
    }
}

impl Default for RecordedHome {
    fn default() -> Self {
        Self::new()
    }
}

/// The name that the CLI gives a session's file.
pub fn file_name(id: &str, start: &str) -> String {
    let minute = start.get(..16).unwrap_or(start).replace(':', "-");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let short = id.chars().take(8);
    let short: String = short
        .map(|letter| if plain(letter) { letter } else { '_' })
        .collect();
    format!("session-{minute}-{short}.jsonl")
}

/// The first record of a log.
pub fn header(id: &str, start: &str, updated: &str) -> Value {
    json!({ "sessionId": id, "projectHash": "0".repeat(64), "startTime": start, "lastUpdated": updated, "kind": "main" })
}

/// A log in which a user says things and is answered: 100 tokens in, 10 of them cached, 20 out, 5 thought.
pub fn log(id: &str, start: &str, says: &[&str]) -> String {
    let mut lines = vec![header(id, start, start)];
    for (turn, text) in says.iter().enumerate() {
        let time = start.get(..17).unwrap_or(start);
        let time = format!("{time}{:02}.000Z", turn % 60);
        lines.push(json!({ "id": format!("{id}-u{turn}"), "timestamp": time, "type": "user", "content": [{ "text": text }] }));
        lines.push(json!({
            "id": format!("{id}-g{turn}"), "timestamp": time, "type": "gemini", "content": format!("You said {text}"),
            "model": "gemini-2.5-flash", "thoughts": [],
            "tokens": { "input": 100, "output": 20, "cached": 10, "thoughts": 5, "tool": 0, "total": 125 },
        }));
        lines.push(json!({ "$set": { "lastUpdated": time } }));
    }
    lines
        .iter()
        .fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

fn directory_tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        let entries = fs::read_dir(&at).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap_or(&path);
            let name = name.to_string_lossy().into_owned();
            let kind = entry.file_type().ok();
            let content = if kind.is_some_and(|kind| kind.is_symlink()) {
                let target = fs::read_link(&path).unwrap_or_default();
                format!("-> {}", target.display())
            } else if kind.is_some_and(|kind| kind.is_dir()) {
                left.push(path);
                "/".to_owned()
            } else if kind.is_some_and(|kind| kind.is_file()) {
                fs::read_to_string(&path).unwrap_or_else(|error| error.to_string())
            } else {
                "neither".to_owned()
            };
            found.insert(name, content);
        }
    }
    found
}
