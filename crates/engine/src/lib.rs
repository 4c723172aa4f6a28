//! Running agents: start an agent, follow its output, end it with all processes it started, and report the outcome.

mod agent_hooks;
pub mod agents;
mod answer_texts;
pub mod budget;
pub mod capabilities;
mod client;
pub mod config;
pub mod confine;
pub mod conversation;
pub mod detect;
pub mod doctor;
mod flag_answer;
pub mod gemini_cli;
pub mod git;
pub mod headless;
pub mod hooks;
pub mod npm;
pub mod output_schema;
pub mod own_stream;
mod prompt_files;
pub mod recorded_sessions;
pub mod replay;
pub mod run;
mod run_host;
pub mod session_guard;
mod violations;
pub mod workspace;

pub use lapidary_policy as policy;
pub use lapidary_process as process;
use lapidary_process::{platform as system, signals};
pub use lapidary_recording as recording;
use lapidary_recording::follow;
pub use lapidary_recording::record;
pub use lapidary_rpc as acp;

pub use lapidary_recording::fresh_run;
pub use run_host::RunHost;
pub use violations::{OnViolation, PermissionWatch};
