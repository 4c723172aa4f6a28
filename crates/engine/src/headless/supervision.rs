//! The supervision of commands that an agent of this process starts itself.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use crate::process::Supervisor;

/// The supervisor for the commands of an in-process agent. Its tools and the engine share it: the tools are made before the run
/// begins, and the engine confines the run when it begins.
#[derive(Debug, Clone)]
pub struct CommandSupervision {
    unbound: Supervisor,
    bound: Arc<OnceLock<BoundCommands>>,
}

/// The supervisor of a confined or leased run, and the variables that name the temporary directory of a confined one.
#[derive(Debug)]
struct BoundCommands {
    supervisor: Supervisor,
    variables: Vec<(OsString, OsString)>,
}

impl CommandSupervision {
    /// Supervision that confines nothing yet.
    pub fn new(supervisor: Supervisor) -> Self {
        Self {
            unbound: supervisor,
            bound: Arc::default(),
        }
    }

    /// The supervisor, with the confinement and the lease of the run.
    pub fn supervisor(&self) -> Supervisor {
        let bound = self.bound.get();
        bound.map_or_else(|| self.unbound.clone(), |it| it.supervisor.clone())
    }

    /// The variables that a confined command needs.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let bound = self.bound.get();
        bound.map_or_else(Vec::new, |it| it.variables.clone())
    }

    /// Puts the commands under the confinement and the lease of their run from now on, which begins once.
    pub(super) fn bind_commands(
        &self,
        supervisor: Supervisor,
        variables: Vec<(OsString, OsString)>,
    ) {
        let _ = self.bound.set(BoundCommands {
            supervisor,
            variables,
        });
    }
}
