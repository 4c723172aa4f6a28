//! The agents we know: how each is started, and what it can do.

mod adapter;
mod capabilities;
pub mod gemini;
mod model_api;
pub mod own_policy;
mod registry;
mod version;
mod words;

pub use adapter::AcpAdapter;
pub use model_api::model_variables;
pub use registry::{AcpAgent, KNOWN, Known, family};
pub use version::Version;
pub use words::{WordsError, split as split_words};
