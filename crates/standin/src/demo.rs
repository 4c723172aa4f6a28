//! The recording that `--agent demo` plays: five seconds of an agent at work, on a machine that has none.
//!
//! We wrote it ourselves, in the words of Gemini CLI 0.61, and it says that it is a recording. Its files are those of any recording.

/// `run.json`.
pub const MANIFEST: &str = include_str!("../demo/run.json");
/// `timing`.
pub const TIMING: &str = include_str!("../demo/timing");
/// `stdout`.
pub const STDOUT: &[u8] = include_bytes!("../demo/stdout");
/// `stderr`.
pub const STDERR: &[u8] = include_bytes!("../demo/stderr");
