//! Chat mode: one turn after the other in the same session. Each turn is a run, and its events are its transcript.
//!
//! ```standalone_crate
//! use lapidary::chat::{Chat, ChatError};
//! use lapidary::engine::config::Config;
//! use lapidary::engine::process::Supervisor;
//! use lapidary::engine::{RunHost, run::RecordingOptions};
//! use lapidary::vocab::Body;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if lapidary::supervise_if_asked().is_some() {
//!         return Ok(());
//!     }
//! #   let world = std::env::temp_dir().join(format!("lapidary-doc-chat-{}", std::process::id()));
//! #   std::fs::create_dir_all(&world)?;
//! #   let gemini = world.join("gemini");
//! #   std::fs::write(&gemini, "#!/bin/sh\necho '{\"type\":\"init\",\"session_id\":\"s-1\",\"model\":\"m\"}'\necho \"{\\\"type\\\":\\\"message\\\",\\\"role\\\":\\\"assistant\\\",\\\"content\\\":\\\"$*\\\",\\\"delta\\\":true}\"\necho '{\"type\":\"result\",\"status\":\"success\"}'\n")?;
//! #   std::fs::set_permissions(&gemini, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
//! #   let state = world.join("runs");
//!     let vars = std::env::vars_os();
//! #   let vars = vars.chain([("GEMINI_CLI_PATH".into(), gemini.into()), ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
//!     let host = RunHost::new(vars, std::env::current_dir()?, Supervisor::at(std::env::current_exe()?), RecordingOptions::below(state));
//!     let mut chat = Chat::new(host, Config::default());
//!
//!     let mut turn = chat.send("hello")?;
//!     assert!(matches!(chat.send("and?"), Err(ChatError::Busy))); // one turn at a time
//!     while let Some(event) = turn.blocking_next() {
//!         if let Body::RunEnd(end) = event.body {
//!             assert_eq!(end.outcome.as_str(), "completed");
//!         }
//!     }
//!     drop(turn);
//!     assert_eq!(chat.session().as_deref(), Some("s-1"));
//!     let mut turn = chat.send("and?")?; // goes on in the same session
//! #   let said: Vec<_> = std::iter::from_fn(|| turn.blocking_next()).map(|event| event.to_json()).collect();
//! #   assert!(said.join("").contains("--resume s-1"));
//! #   std::fs::remove_dir_all(world)?;
//!     Ok(())
//! }
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use lapidary_vocab::{Body, Event};

use lapidary_engine::RunHost;
use lapidary_engine::config::Config;
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::run::{Run, StopHandle};

use crate::adapter_job::adapter_job;
use crate::prepare::AgentChoiceError;

/// A conversation with the agent that its configuration names: Gemini CLI, unless it names one.
#[derive(Debug)]
pub struct Chat {
    host: RunHost,
    config: Config,
    state: Arc<Mutex<ChatState>>,
}

#[derive(Debug, Default)]
struct ChatState {
    session: Option<String>,
    is_busy: bool,
    /// The turn that was dropped before its end: its agent may take a while to go.
    dropped: Option<StopHandle>,
}

impl ChatState {
    /// Two agents must not write into one session.
    fn is_free(&self) -> bool {
        !self.is_busy && self.dropped.as_ref().is_none_or(StopHandle::is_over)
    }
}

/// Why nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// There is no such agent.
    #[error(transparent)]
    Agent(#[from] AgentChoiceError),
    /// The last turn is not over yet.
    #[error("a turn is still going on")]
    Busy,
}

impl Chat {
    /// A conversation that has not begun.
    pub fn new(host: RunHost, config: Config) -> Self {
        Self {
            host,
            config,
            state: Arc::default(),
        }
    }

    /// Goes on with a session that there is already.
    pub fn resume(host: RunHost, config: Config, session: impl Into<String>) -> Self {
        let chat = Self::new(host, config);
        lock_state(&chat.state).session = Some(session.into());
        chat
    }

    /// The agent's session, once it has begun.
    pub fn session(&self) -> Option<String> {
        lock_state(&self.state).session.clone()
    }

    /// Sends a prompt and starts a turn. A second prompt during a turn is refused.
    pub fn send(&mut self, prompt: &str) -> Result<ChatTurn, ChatError> {
        let mut state = lock_state(&self.state);
        if !state.is_free() {
            return Err(ChatError::Busy);
        }
        let prompt = PromptText::Text(prompt.to_owned());
        let mut job = adapter_job(&self.host, self.config.clone(), prompt)?;
        state.is_busy = true;
        state.dropped = None;
        job.resume.clone_from(&state.session);
        Ok(ChatTurn {
            run: job.start(),
            state: Arc::clone(&self.state),
            is_over: false,
        })
    }
}

/// A turn that is going on. Dropping it ends it; the chat stays busy until its agent is gone. To wait for that, stop the turn and
/// read it to its end.
#[derive(Debug)]
pub struct ChatTurn {
    run: Run,
    state: Arc<Mutex<ChatState>>,
    is_over: bool,
}

impl ChatTurn {
    /// The next event, or none after the `run_end`. Can be cancelled.
    pub async fn next(&mut self) -> Option<Event> {
        let event = self.run.next().await;
        self.note_event(event)
    }

    /// The next event, for callers without a runtime.
    pub fn blocking_next(&mut self) -> Option<Event> {
        let event = self.run.blocking_next();
        self.note_event(event)
    }

    /// A handle that ends the turn from any thread.
    pub fn stopper(&self) -> StopHandle {
        self.run.stopper()
    }

    /// The session is known from its first event, the turn is over with its last.
    fn note_event(&mut self, event: Option<Event>) -> Option<Event> {
        let mut state = lock_state(&self.state);
        match event
            .as_ref()
            .map(|event| (&event.body, &event.base.session_id))
        {
            Some((Body::SessionInit(_), Some(id))) => state.session = Some(id.to_string()),
            // Only once: a caller may read this turn again after its end, while the next turn is running.
            Some((Body::RunEnd(_), _)) | None if !self.is_over => {
                self.is_over = true;
                state.is_busy = false;
            }
            Some(_) | None => {}
        }
        event
    }
}

impl Drop for ChatTurn {
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = lock_state(&self.state);
            state.is_busy = false;
            state.dropped = Some(self.run.stopper()); // the run is stopped right after this, with its own drop
        }
    }
}

fn lock_state(state: &Mutex<ChatState>) -> std::sync::MutexGuard<'_, ChatState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
