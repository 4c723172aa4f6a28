//! The record of a workspace, for garbage collection: its run, its worker, and whether the store has its changes.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of its file, beside the worktree: the agent cannot write it where it is confined.
const FILE: &str = "workspace.json";

/// A workspace, as its file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRecord {
    /// The run.
    pub run: String,
    /// The process id of its worker.
    pub worker_pid: u32,
    /// When it was made, in seconds of Unix time.
    pub made_at: i64,
    /// When its attempt ended, the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// The outcome of its attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// True once the store has the changes, sealed, and the patch lacks nothing.
    #[serde(default)]
    pub is_safe: bool,
}

impl WorkspaceRecord {
    /// The record of a workspace that is being made by this process.
    pub fn new(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            worker_pid: std::process::id(),
            made_at: Timestamp::now().as_second(),
            ended_at: None,
            outcome: None,
            is_safe: false,
        }
    }

    /// Writes it.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        let path = directory.join(FILE);
        let new = path.with_extension("new");
        fs::write(&new, json)?;
        fs::rename(new, path)
    }

    /// Reads it.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let bytes = fs::read(directory.join(FILE))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}
