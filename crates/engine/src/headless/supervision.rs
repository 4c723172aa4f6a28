//! The supervision of commands that an agent of this process starts itself.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use crate::process::Supervisor;

/// The supervisor for the commands of an in-process agent. Its tools and the engine share it: the tools are made before the run
/// begins, and the engine confines the run when it begins.
#[derive(Debug, Clone)]
pub struct CommandSupervision {
    unconfined: Supervisor,
    confined: Arc<OnceLock<ConfinedCommands>>,
}

/// The supervisor of a confined run, and the variables that name its temporary directory.
#[derive(Debug)]
struct ConfinedCommands {
    supervisor: Supervisor,
    variables: Vec<(OsString, OsString)>,
}

impl CommandSupervision {
    /// Supervision that confines nothing yet.
    pub fn new(supervisor: Supervisor) -> Self {
        Self {
            unconfined: supervisor,
            confined: Arc::default(),
        }
    }

    /// The supervisor, confined if the run is.
    pub fn supervisor(&self) -> Supervisor {
        let confined = self.confined.get();
        confined.map_or_else(|| self.unconfined.clone(), |it| it.supervisor.clone())
    }

    /// The variables that a confined command needs.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let confined = self.confined.get();
        confined.map_or_else(Vec::new, |it| it.variables.clone())
    }

    /// Confines the commands from now on. A run is confined once.
    pub(super) fn confine_commands(
        &self,
        supervisor: Supervisor,
        variables: Vec<(OsString, OsString)>,
    ) {
        let _ = self.confined.set(ConfinedCommands {
            supervisor,
            variables,
        });
    }
}
