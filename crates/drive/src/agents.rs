//! The agents we know: how each is started, and what it can do.

pub mod gemini;
mod version;

pub use version::Version;
