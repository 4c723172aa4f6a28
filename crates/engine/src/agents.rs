//! The agents we know: their start commands and their abilities.

mod adapter;
mod agent_url;
pub mod gemini_versions;
mod mode_words;
mod model_api;
pub mod own_policy;
mod registry;
mod words;

pub use adapter::AcpAdapter;
pub use agent_url::{AgentUrl, AgentUrlError};
pub use mode_words::ModeWords;
pub use model_api::model_variables;
pub use registry::{AcpAgent, AgentSpec, KNOWN, RemoteEndpoint, TokenPlace, family};
pub use words::{WordsError, split as split_words};
