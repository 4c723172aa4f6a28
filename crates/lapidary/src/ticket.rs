//! Ticket mode: a run as the events that an orchestrator wants. Each event comes from an event of the agent.
//!
//! ```standalone_crate
//! use lapidary::engine::gemini_cli::PromptText;
//! use lapidary::engine::config::Config;
//! use lapidary::engine::headless::Job;
//! use lapidary::engine::process::Supervisor;
//! use lapidary::ticket::TicketRun;
//! use lapidary::engine::{RunHost, run::RecordingOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if lapidary::supervise_if_asked().is_some() {
//!         return Ok(());
//!     }
//! #   let world = std::env::temp_dir().join(format!("lapidary-doc-ticket-{}", std::process::id()));
//! #   std::fs::create_dir_all(&world)?;
//! #   let gemini = world.join("gemini");
//! #   std::fs::write(&gemini, "#!/bin/sh\necho '{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"done\",\"delta\":true}'\necho '{\"type\":\"result\",\"status\":\"success\"}'\n")?;
//! #   std::fs::set_permissions(&gemini, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
//! #   let state = world.join("runs");
//!     let vars = std::env::vars_os();
//! #   let vars = vars.chain([("GEMINI_CLI_PATH".into(), gemini.into()), ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
//!     let host = RunHost::new(vars, std::env::current_dir()?, Supervisor::at(std::env::current_exe()?), RecordingOptions::below(state));
//!     let job = Job::gemini(&host, Config::default(), PromptText::Text("fix it".to_owned()), "ticket-7");
//!
//!     let mut ticket = TicketRun::start(&job);
//!     let mut names = Vec::new();
//!     while let Some(event) = ticket.blocking_next() {
//!         names.push(serde_json::to_value(&event)?["event"].as_str().unwrap_or_default().to_owned());
//!     }
//!     assert_eq!(names, ["output_produced", "turn_completed"]);
//! #   std::fs::remove_dir_all(world)?;
//!     Ok(())
//! }
//! ```

use std::collections::VecDeque;

use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_vocab::RuntimeEvent;

use lapidary_engine::headless::Job;
use lapidary_engine::run::{Run, StopHandle};

/// A run in ticket mode. Dropping it ends the agent.
#[derive(Debug)]
pub struct TicketRun {
    run: Run,
    fold: RuntimeFold,
    events: VecDeque<RuntimeEvent>,
}

impl TicketRun {
    /// Starts a job.
    pub fn start(job: &Job) -> Self {
        Self {
            run: job.start(),
            fold: RuntimeFold::new(&job.options.run),
            events: VecDeque::new(),
        }
    }

    /// The next event, or none after the end. Can be cancelled.
    pub async fn next(&mut self) -> Option<RuntimeEvent> {
        while self.events.is_empty() {
            let event = self.run.next().await?;
            self.events.extend(self.fold.push(&event));
        }
        self.events.pop_front()
    }

    /// The next event, for callers without a runtime.
    pub fn blocking_next(&mut self) -> Option<RuntimeEvent> {
        while self.events.is_empty() {
            let event = self.run.blocking_next()?;
            self.events.extend(self.fold.push(&event));
        }
        self.events.pop_front()
    }

    /// A handle that ends the run from any thread.
    pub fn stopper(&self) -> StopHandle {
        self.run.stopper()
    }
}
