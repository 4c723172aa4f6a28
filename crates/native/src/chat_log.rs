//! The interface for session files of sub-agents: the executor hands over each message, and the implementation writes it to the
//! file.

use std::fmt;
use std::io;

use serde_json::{Map, Value};

use crate::model::ModelAnswer;
use crate::tool::ToolOutput;

/// Begins session files.
pub trait ChatRecorder: fmt::Debug + Send + Sync {
    /// Begins the file of a sub-agent.
    ///
    /// # Errors
    /// The file cannot be made. The agent works without.
    fn begin(&self, agent_id: &str) -> io::Result<Box<dyn ChatLog>>;
}

/// The session file of one sub-agent. Each entry is one small write.
pub trait ChatLog: fmt::Debug + Send + Sync {
    /// Adds an entry.
    ///
    /// # Errors
    /// It cannot be written. The agent goes on, and adds no more.
    fn add(&mut self, entry: ChatEntry<'_>) -> io::Result<()>;
}

/// One entry of a session file.
#[derive(Debug, Clone, Copy)]
pub enum ChatEntry<'a> {
    /// The model is told these parts.
    Message(&'a [Value]),
    /// The model answers.
    Answer {
        /// The model's name.
        model: &'a str,
        /// The answer.
        answer: &'a ModelAnswer,
    },
    /// The calls of the last answer have their results.
    Calls(&'a [FinishedCall]),
    /// The task is complete, with this result.
    Summary(&'a str),
}

/// A call with its result.
#[derive(Debug, Clone)]
pub struct FinishedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The parts that the model is told.
    pub response: Vec<Value>,
    /// The result.
    pub output: ToolOutput,
    /// The id of the agent that ran in it, whose own file has that name.
    pub agent_id: Option<String>,
}
