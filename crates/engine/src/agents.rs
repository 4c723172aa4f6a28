//! The agents we know: their start commands and their abilities.

mod adapter;
pub mod gemini_versions;
mod mode_words;
mod model_api;
pub mod own_policy;
mod registry;
mod words;

pub use adapter::AcpAdapter;
pub use mode_words::ModeWords;
pub use model_api::model_variables;
pub use registry::{AcpAgent, AgentSpec, KNOWN, family};
pub use words::{WordsError, split as split_words};
