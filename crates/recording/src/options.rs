//! Where runs are recorded.

use std::path::PathBuf;

use crate::keep::KeepLimits;

/// Where runs are recorded, and how many are kept.
#[derive(Debug, Clone)]
pub struct RecordingOptions {
    /// The directory that holds the recordings.
    pub root: PathBuf,
    /// Whether the recording stays when the run is over.
    pub keep: bool,
    /// How many bytes the agent may write. More ends the run.
    pub max_output: u64,
    /// Limits on older runs.
    pub limits: KeepLimits,
}

impl RecordingOptions {
    /// Recordings below `root`, kept within the usual limits; 1 GiB for a single run.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            keep: true,
            max_output: 1 << 30,
            limits: KeepLimits::default(),
        }
    }
}
