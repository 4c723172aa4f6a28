//! The setup of a workspace.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::process::Supervisor;

/// How a workspace is to be.
#[derive(Debug, Clone)]
pub struct ServicesSetup {
    /// The directories that files are read and written in, absolute. The first is where terminals start whose session works nowhere else.
    pub roots: Vec<PathBuf>,
    /// Ends terminals with all processes that they start.
    pub supervisor: Supervisor,
    /// The environment of terminals, before the variables that the agent adds.
    pub environment: Vec<(OsString, OsString)>,
    /// The answer to a read of a missing file.
    pub missing: MissingFile,
    /// How much is read, written and kept.
    pub limits: ServiceLimits,
}

impl ServicesSetup {
    /// These roots, an empty environment, and defaults otherwise.
    pub fn new<P: Into<PathBuf>>(
        roots: impl IntoIterator<Item = P>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            roots: roots.into_iter().map(Into::into).collect(),
            supervisor,
            environment: Vec::new(),
            missing: MissingFile::default(),
            limits: ServiceLimits::default(),
        }
    }
}

/// The answer to a read of a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingFile {
    /// That it is empty. Gemini CLI (0.61) reads each file before it writes it, and takes any error for a reason not to.
    #[default]
    Empty,
    /// That it is not there: -32002.
    Refused,
}

/// How much of everything there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceLimits {
    /// How many bytes of a file are read or written at most.
    pub file_bytes: usize,
    /// How many terminals there may be at once, including ended ones that were not released.
    pub terminals: usize,
    /// How many bytes of a terminal's output are kept where the agent does not say.
    pub output_bytes: usize,
    /// The upper limit for the number of bytes that an agent can ask for.
    pub max_output_bytes: usize,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            terminals: 64,
            output_bytes: 1 << 20,
            max_output_bytes: 16 << 20,
        }
    }
}
