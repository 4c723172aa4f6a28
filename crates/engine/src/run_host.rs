//! The facts that a run needs from its caller: the library does not read the environment of the process itself.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::detect::SearchEnvironment;
use crate::process::Supervisor;
use crate::recording::RecordingOptions;

/// Where runs are made.
#[derive(Debug, Clone)]
pub struct RunHost {
    /// The variables that the agent inherits, and where the caller is.
    pub environment: SearchEnvironment,
    /// The program that supervises agents.
    pub supervisor: Supervisor,
    /// Where runs are recorded.
    pub records: RecordingOptions,
    /// Where sessions are kept safe. None to leave them to the agent.
    pub vault: Option<PathBuf>,
}

impl RunHost {
    /// A host with these variables, in this directory. The vault is beside the recordings.
    pub fn new(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        directory: impl Into<PathBuf>,
        supervisor: Supervisor,
        records: RecordingOptions,
    ) -> Self {
        Self {
            environment: SearchEnvironment::from_vars(vars, directory),
            supervisor,
            vault: Some(records.root.with_file_name("vault")),
            records,
        }
    }
}
