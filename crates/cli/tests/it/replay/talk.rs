//! A client that talks to a replay, and knows no more of ACP than it is told.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::support::{DEADLINE, ended, lapidary, lines_of, root};

pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Client {
    /// The client of a replay that waits for no time, only for this client.
    pub(super) fn replay(recording: &Path) -> Self {
        let recording = recording.to_str().unwrap();
        Self::start(lapidary(["replay", "--fast", recording]))
    }

    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            lines: lines_of(&mut child),
            child,
        }
    }

    pub(super) fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(super) fn ask(&mut self, id: &str, method: &str) {
        self.write(&format!(r#"{{"id":{id},"method":"{method}"}}"#));
    }

    pub(super) fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).unwrap()
    }

    #[track_caller]
    pub(super) fn hears(&self, expected: &str) {
        assert_eq!(self.line(), expected);
    }

    /// The code and the message of a refusal, which has to come next.
    #[track_caller]
    pub(super) fn refusal(&self, id: &Value) -> (i64, String) {
        let refusal: Value = serde_json::from_str(&self.line()).unwrap();
        assert_eq!(refusal["id"], *id, "{refusal}");
        let code = refusal["error"]["code"].as_i64();
        let message = refusal["error"]["message"].as_str();
        (code.expect("a refusal"), message.unwrap().to_owned())
    }

    /// Asserts that the replay waits: its next line refuses an unknown method.
    #[track_caller]
    pub(super) fn is_waited_for(&mut self) {
        self.ask("\"probe\"", "no/such");
        let (code, _) = self.refusal(&json!("probe"));
        assert_eq!(code, -32601);
    }

    pub(super) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end without hanging up. All that is said must have been heard.
    pub(super) fn outlived(self) -> Output {
        let output = ended(self.child);
        drop(self.stdin);
        assert_eq!(self.lines.iter().collect::<Vec<_>>(), Vec::<String>::new());
        output
    }

    /// Of a replay that takes too long.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Hangs up. All that is said must have been heard.
    pub(super) fn ended(mut self) -> Output {
        self.hang_up();
        let output = ended(self.child);
        let unheard: Vec<_> = self.lines.iter().collect();
        assert_eq!(unheard, Vec::<String>::new());
        output
    }

    /// Closes stdin, asserts that the replay exits with 0, and returns its stderr.
    pub(super) fn ended_well(self) -> String {
        let output = self.ended();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// The transcripts of real agents.
pub(super) fn transcripts() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("fixtures/acp-agents")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    assert!(paths.len() > 10);
    paths
}

/// A record of a transcript: who, and what.
pub(super) fn records(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let record = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        (text("dir"), text("line"))
    };
    text.lines().map(record).collect()
}

/// The ids in the recorded client's requests, each with the string that replaces it in the replay.
#[derive(Default)]
pub(super) struct Renumbered(Vec<(Value, String)>);

impl Renumbered {
    pub(super) fn client(&mut self, line: &str) -> String {
        let mut message: Value = serde_json::from_str(line).unwrap();
        if message.get("method").is_some() && message.get("id").is_some() {
            let fresh = format!("ask-{}", self.0.len());
            self.0.push((message["id"].take(), fresh.clone()));
            message["id"] = json!(fresh);
        }
        message.to_string()
    }

    /// The recorded line for a line of the replay: the original ids put back into the text.
    pub(super) fn as_recorded(&self, heard: &str) -> String {
        let undo = |line: String, (id, fresh): &(Value, String)| {
            line.replacen(&format!("\"{fresh}\""), &id.to_string(), 1)
        };
        self.0.iter().fold(heard.to_owned(), undo)
    }
}

/// Sends the lines of the recorded client, and asserts that the replay prints the recorded lines of the agent.
pub(super) fn talk(client: &mut Client, records: &[(String, String)]) {
    let mut ids = Renumbered::default();
    for (who, line) in records {
        match who.as_str() {
            "client" => client.write(&ids.client(line)),
            "stderr" => {}
            _ => assert_eq!(ids.as_recorded(&client.line()), *line),
        }
    }
}
