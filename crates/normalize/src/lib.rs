//! From an agent's words to ours.
//!
//! Data flows one way: a line goes into a normaliser ([`gemini::stream::StreamNormalizer`], …), [`Event`]s come out, and the other
//! vocabularies are folds over events ([`views`]). Everything here is pure: no clock, no file, no process. And nothing here can
//! fail: a line that is not understood becomes a `diagnostic` that carries it.
//!
//! ```
//! use lapidary_normalize::gemini::stream::StreamNormalizer;
//! use lapidary_normalize::{NormalizeOptions, Normalizer as _, ProcessEnd};
//! use lapidary_wire::lines::RawLine;
//!
//! let mut normalizer = StreamNormalizer::new(&NormalizeOptions::new("demo"));
//! let mut events = Vec::new();
//! normalizer.push(RawLine::Whole(br#"{"type":"result","status":"success"}"#), None, &mut events);
//! normalizer.finish(&ProcessEnd::default(), &mut events);
//! let names: Vec<_> = events.iter().map(|event| event.to_json()).collect();
//! assert!(names[0].starts_with(r#"{"event":"turn_complete""#));
//! assert!(names[1].starts_with(r#"{"event":"run_end","outcome":"completed""#));
//! ```

mod completions;
mod denials;
mod excerpt;
mod held;
mod joined;
mod normalizer;
mod options;
mod own;
mod parent_call;
mod pending;
mod raw;
mod record_events;
mod session_normalizer;
mod skipped_counts;
mod stamp;
mod stream_run;
mod subagent_transcripts;
mod verdict;

pub mod acp;
pub mod claude;
pub mod codex;
pub mod event_lines;
pub mod extract;
pub mod gemini;
pub mod opencode;
pub mod qwen;
pub mod time;
pub mod tools;
pub mod unified_diff;
pub mod views;

pub use denials::DeniedCalls;
pub use normalizer::{LineDirection, Normalizer};
pub use options::{DeltaMode, NormalizeOptions, OnDenied, RecordOrder, TextJoint};
pub use session_normalizer::{SessionNormalizer, session_events_of};
pub use subagent_transcripts::{SubagentTranscripts, WithoutSubagents};
pub use verdict::{
    AgentReport, AgentSetup, AgentStall, ExitInitiator, OutcomeJudge, ProcessEnd, StderrOrder,
    StopCause, TurnLimit,
};

use lapidary_vocab::Event;

#[cfg(doc)]
use gemini::stream::StreamNormalizer;

/// Where a normaliser puts its events. A reused vector keeps the hot path free of allocation.
pub type EventBuffer = Vec<Event>;
