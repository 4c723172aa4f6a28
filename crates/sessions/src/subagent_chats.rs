//! Session files of sub-agents, written as Gemini CLI 0.61 writes them: a header, one record a line, and a changed record again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::projects::{SessionStore, project_hash};
use crate::subagent_files::is_plain_name;

/// The longest summary, in characters.
const SUMMARY_CHARS: usize = 200;

/// Where the sub-agents of one session have their files.
#[derive(Debug, Clone)]
pub struct SubagentChats {
    directory: PathBuf,
    project_hash: String,
    workspace: PathBuf,
}

/// The file of one sub-agent.
#[derive(Debug)]
pub struct SubagentChat {
    file: File,
    /// The model's last record, to which its calls are added.
    last_answer: Option<Value>,
}

impl SubagentChats {
    /// The place for the sub-agents of a session in a workspace. A project that has no directory yet gets one, with the marker by which
    /// Gemini CLI recognises it.
    pub fn open(store: &SessionStore, workspace: &Path, session_id: &str) -> io::Result<Self> {
        if !is_plain_name(session_id) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let project = store.claim_project(workspace)?;
        let directory = project.directory.join("chats").join(session_id);
        fs::create_dir_all(&directory)?;
        Ok(Self {
            directory,
            project_hash: project_hash(workspace),
            workspace: workspace.to_owned(),
        })
    }

    /// Begins the file of a sub-agent.
    pub fn begin(&self, agent_id: &str, now: SystemTime) -> io::Result<SubagentChat> {
        if !is_plain_name(agent_id) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let path = self.directory.join(format!("{agent_id}.jsonl"));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        let mut chat = SubagentChat {
            file,
            last_answer: None,
        };
        let now = timestamp_text(now);
        chat.append_record(&json!({
            "sessionId": agent_id, "projectHash": self.project_hash, "startTime": now, "lastUpdated": now,
            "kind": "subagent", "directories": [self.workspace.to_string_lossy()],
        }))?;
        Ok(chat)
    }
}

impl SubagentChat {
    /// Adds a message of the caller, or the results of calls, as the parts that the model is told.
    pub fn add_message(&mut self, id: &str, parts: &[Value], now: SystemTime) -> io::Result<()> {
        self.last_answer = None;
        let message =
            json!({"id": id, "timestamp": timestamp_text(now), "type": "user", "content": parts});
        self.append_record(&message)?;
        self.set_last_updated(now)
    }

    /// Adds an answer of the model: a record of type `gemini` without `id`, `timestamp` and `type`.
    pub fn add_answer(&mut self, id: &str, members: &Value, now: SystemTime) -> io::Result<()> {
        let mut answer = json!({"id": id, "timestamp": timestamp_text(now), "type": "gemini"});
        let members = members.as_object().into_iter().flatten();
        for (name, value) in members {
            answer[name] = value.clone();
        }
        self.append_record(&answer)?;
        self.last_answer = Some(answer);
        self.set_last_updated(now)
    }

    /// Adds the calls of the last answer, with their results.
    pub fn add_calls(&mut self, calls: Vec<Value>, now: SystemTime) -> io::Result<()> {
        let Some(mut answer) = self.last_answer.take() else {
            return Ok(());
        };
        let calls = calls.into_iter().map(|mut call| {
            call["timestamp"] = timestamp_text(now).into();
            call
        });
        answer["toolCalls"] = calls.collect();
        self.append_record(&answer)
    }

    /// Adds the result of the task, cut to two hundred characters.
    pub fn add_summary(&mut self, result: &str) -> io::Result<()> {
        let summary = match result.char_indices().nth(SUMMARY_CHARS) {
            None => result.to_owned(),
            Some(_) => result
                .chars()
                .take(SUMMARY_CHARS - 3)
                .chain("...".chars())
                .collect(),
        };
        self.append_record(&json!({"$set": {"summary": summary}}))
    }

    fn set_last_updated(&mut self, now: SystemTime) -> io::Result<()> {
        self.append_record(&json!({"$set": {"lastUpdated": timestamp_text(now)}}))
    }

    /// A whole line with one write, so that a reader never sees a part of one.
    fn append_record(&mut self, record: &Value) -> io::Result<()> {
        let line = format!("{record}\n");
        self.file.write_all(line.as_bytes())
    }
}

fn timestamp_text(now: SystemTime) -> String {
    let now = Timestamp::try_from(now).unwrap_or_default();
    format!("{now:.3}")
}
