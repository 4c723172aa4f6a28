//! One execution, as the specification `0-session-to-messages` has it: options in, callbacks on the way, one result.
//!
//! ```standalone_crate
//! use lapidary::engine::gemini_cli::PromptText;
//! use lapidary::engine::config::Config;
//! use lapidary::execute::{DataRequest, execute};
//! use lapidary::engine::headless::Job;
//! use lapidary::engine::process::Supervisor;
//! use lapidary::engine::{RunHost, run::RecordingOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if lapidary::supervise_if_asked().is_some() {
//!         return Ok(());
//!     }
//! #   let world = std::env::temp_dir().join(format!("lapidary-doc-execute-{}", std::process::id()));
//! #   std::fs::create_dir_all(&world)?;
//! #   let gemini = world.join("gemini");
//! #   std::fs::write(&gemini, "#!/bin/sh\necho '{\"type\":\"init\",\"session_id\":\"s-1\",\"model\":\"m\"}'\necho '{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{\\\"ok\\\": true}\",\"delta\":true}'\necho '{\"type\":\"result\",\"status\":\"success\"}'\n")?;
//! #   std::fs::set_permissions(&gemini, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
//! #   let state = world.join("runs");
//!     let vars = std::env::vars_os();
//! #   let vars = vars.chain([("GEMINI_CLI_PATH".into(), gemini.into()), ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
//!     let host = RunHost::new(vars, std::env::current_dir()?, Supervisor::at(std::env::current_exe()?), RecordingOptions::below(state));
//!     let config = Config::builder().set("permission_mode", "acceptEdits").build()?;
//!     let job = Job::gemini(&host, config, PromptText::Text("answer in JSON".to_owned()), "run-1");
//!
//!     let mut seen = 0;
//!     let executed = execute(&job, DataRequest::Json, |_event| seen += 1);
//!     assert!(executed.success);
//!     assert_eq!(executed.session_id.as_deref(), Some("s-1"));
//!     assert_eq!(executed.messages.len(), 1);
//!     assert_eq!(executed.data.unwrap()["ok"], true);
//! #   std::fs::remove_dir_all(world)?;
//!     Ok(())
//! }
//! ```

use std::time::{Duration, Instant};

use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::result::ResultFold;
use lapidary_vocab::{Cause, Event, Message};
use serde_json::Value;

use lapidary_engine::headless::Job;

/// The content of [`ExecutionResult::data`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataRequest {
    /// The agent's last message, as text.
    Text,
    /// JSON found in the agent's messages; the last message as text, if there is none.
    Json,
}

/// The result of an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionResult {
    /// True only if the agent said so *and* nothing contradicts it.
    pub success: bool,
    /// Why it ended as it did.
    pub cause: Cause,
    /// The exit code that `lapidary run` would have.
    pub exit_code: u8,
    /// The agent's exit code. None if it was killed, or never started.
    pub agent_exit_code: Option<i32>,
    /// The agent's session.
    pub session_id: Option<String>,
    /// How long it took.
    pub duration: Duration,
    /// The messages of the run.
    pub messages: Vec<Message>,
    /// The agent's last message, or the JSON found in its messages. None if there are no messages.
    pub data: Option<Value>,
    /// The error, if the run failed.
    pub error: Option<String>,
    /// The next step for the user.
    pub hint: Option<String>,
}

/// Runs a job to its end. `watch` sees every event as it comes; for a stream of them instead use [`Job::start`].
pub fn execute(job: &Job, data: DataRequest, mut watch: impl FnMut(&Event)) -> ExecutionResult {
    let started = Instant::now();
    let mut run = job.start();
    let mut messages = MessageFold::new(&job.options.run);
    let mut folded = Vec::new();
    let mut result = ResultFold::default();
    while let Some(event) = run.blocking_next() {
        watch(&event);
        folded.extend(messages.push(&event));
        result.push(&event);
    }
    folded.extend(messages.finish());
    let result = result.finish(data == DataRequest::Json);
    let found = result
        .data
        .as_ref()
        .and_then(|json| serde_json::to_value(json).ok());
    let said = result.response.to_str();
    let said = (!said.is_empty()).then(|| Value::from(said.as_ref()));
    ExecutionResult {
        success: result.success,
        cause: result.cause,
        exit_code: result.exit_code,
        agent_exit_code: result.agent_exit_code,
        session_id: result.session_id.map(|id| id.to_string()),
        duration: started.elapsed(),
        messages: folded,
        data: found.or(said),
        hint: result.error.as_ref().and_then(|error| error.hint.clone()),
        error: result.error.map(|error| error.message.to_string()),
    }
}
