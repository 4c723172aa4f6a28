//! What the caller decides.

use std::sync::Arc;

/// How to translate.
#[derive(Debug, Clone)]
pub struct Options {
    /// The run's id, from which event and message ids are made.
    pub run: Arc<str>,
    /// Whether events carry what the agent wrote. Diagnostics always do.
    pub keep_raw: bool,
    /// What becomes of text that arrives in chunks.
    pub deltas: Deltas,
    /// Whether files that an ACP agent reads and writes through its client are calls of tools, and commands that it may
    /// not or cannot start. They are diagnostics otherwise.
    pub show_files: bool,
    /// Where the agent works, for agents that do not say so.
    pub directory: Option<Arc<str>>,
}

impl Options {
    /// The defaults: raw kept, chunks as they come.
    pub fn new(run: &str) -> Self {
        Self {
            run: Arc::from(run),
            keep_raw: true,
            deltas: Deltas::Only,
            show_files: false,
            directory: None,
        }
    }
}

/// What becomes of text that arrives in chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deltas {
    /// Each chunk is a `stream_delta`. Needs no memory.
    #[default]
    Only,
    /// Chunks are joined to one `text`, whose `raw` is the array of their lines.
    Final,
    /// Both: each chunk, then the whole.
    Both,
}
