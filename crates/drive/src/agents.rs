//! The agents we know: how each is started, and what it can do.

pub mod gemini;
mod registry;
mod version;
mod words;

pub use registry::{AcpAgent, KNOWN, Known, family};
pub use version::Version;
pub use words::{WordsError, split as split_words};
