//! Lapidary as a library: run agents, and read their events and sessions.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! use lapidary::{Body, PermissionMode};
//!
//! fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
//!     // This program is also the supervisor of its agents: they end with it, even if it is killed.
//!     if let Some(exit) = lapidary::supervise_if_asked() {
//!         return Ok(exit);
//!     }
//!     let mut run = lapidary::run("fix the test")
//!         .agent("claude")
//!         .permission_mode(PermissionMode::AcceptEdits)
//!         .timeout(Duration::from_secs(300))
//!         .start()?;
//!     while let Some(event) = run.blocking_next() {
//!         if let Body::RunEnd(end) = event.body {
//!             println!("{}: {}", end.outcome, end.cause);
//!             return Ok(ExitCode::from(end.exit_code));
//!         }
//!     }
//!     Ok(ExitCode::FAILURE)
//! }
//! ```
//!
//! [`Run`] is a stream of [`Event`]s; [`Run::subscribe`] gives any number of others the same events, [`Run::outcome`] only the
//! end. [`Run::stop`] ends the run. [`RunBuilder::permission_prompts`] lets the program answer requests for permission.
//!
//! | module | content |
//! |---|---|
//! | [`prepare`] | makes a job from a user's options: agent, settings, rules, directories |
//! | [`execute`], [`provider`], [`chat`], [`ticket`] | a run in the shapes of the specifications: options and a result, a
//! response, turns, runtime events |
//! | [`sessions`] | recorded sessions: lists, search, statistics, the vault; one session as messages |
//! | [`agents`] | agents of our own as agents of a run |
//! | [`demo`] | `--agent demo`: one of them on a scripted model |
//! | [`native`] | the parts of these agents: model client, tools, executor |
//! | [`engine`] | running agents: configuration, detection, runs, recordings |
//! | [`gemini`] | the files in `.gemini`: settings, trust, extensions, hooks, skills |
//! | [`wire`] | the formats that agents write, field for field |
//! | [`normalize`] | from these formats to our events: pure state machines |
//! | [`vocab`] | our published vocabularies and their JSON Schemas |
//! | [`render`] | events as text, Markdown and HTML |
//! | [`standin`] | stand-ins for models: a scripted API, the script of the demo |
//!
//! A stream in, events out:
//!
//! ```
//! use lapidary::normalize::{NormalizeOptions, Normalizer as _, ProcessEnd, gemini::stream::StreamNormalizer};
//! use lapidary::vocab::Body;
//! use lapidary::wire::lines::LineBuffer;
//!
//! let mut lines = LineBuffer::default();
//! lines.push(b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Hi.\",\"delta\":true}\n");
//! lines.push(b"{\"type\":\"result\",\"status\":\"success\"}\n");
//!
//! let mut normalizer = StreamNormalizer::new(&NormalizeOptions::new("run-1"));
//! let mut events = Vec::new();
//! while let Some(line) = lines.next_line() {
//!     normalizer.push(line, None, &mut events);
//! }
//! if let Some(line) = lines.last_line() {
//!     normalizer.push(line, None, &mut events); // it may lack its newline
//! }
//! normalizer.finish(&ProcessEnd { exit_code: Some(0), ..ProcessEnd::default() }, &mut events);
//!
//! assert!(matches!(&events[0].body, Body::StreamDelta(delta) if delta.text_delta.as_ref().unwrap() == "Hi."));
//! assert!(matches!(&events[2].body, Body::RunEnd(end) if end.outcome.as_str() == "completed"));
//! ```

mod adapter_job;
pub mod agents;
pub mod chat;
pub mod demo;
pub mod directories;
pub mod execute;
pub mod mcp;
pub mod moments;
pub mod prepare;
pub mod provider;
mod run_builder;
mod server_depth;
pub mod sessions;
mod submission;
pub mod ticket;

use std::process::ExitCode;

use lapidary_engine::process::{stdio_bridge, supervisor};

pub use lapidary_engine::conversation::{PermissionAnswer, PermissionPrompt};
pub use lapidary_engine::policy::PermissionMode;
pub use lapidary_engine::run::{Run, Subscription};
pub use lapidary_vocab::event::ToolKind;
pub use lapidary_vocab::{Body, Cause, Event, Outcome, Text};
pub use prepare::PrepareError;
pub use run_builder::{RunBuilder, run};

pub use lapidary_engine as engine;
pub use lapidary_gemini as gemini;
pub use lapidary_native as native;
pub use lapidary_normalize as normalize;
pub use lapidary_render as render;
pub use lapidary_standin as standin;
pub use lapidary_vocab as vocab;
pub use lapidary_wire as wire;

/// Supervises agents, or connects one with a tool of its run, if this process was started for that, and says how it is to exit.
/// To be called first thing in `main` by programs that run agents.
pub fn supervise_if_asked() -> Option<ExitCode> {
    let supervised = supervisor::run_if_asked(std::env::args_os());
    supervised.or_else(|| stdio_bridge::run_if_asked(std::env::args_os()))
}

/// The README's snippet compiles as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[derive(Debug)]
pub struct Readme;
