//! Confinement of an agent by the kernel: which directories the agent and its processes can write.
//!
//! `state_place` describes the directories of agents and build tools, `writable` makes the list of directories for one run, and
//! [`ConfinedRun`] holds the state of the confinement during a run: its temporary directory, the files that Landlock cannot
//! protect because they lie in a writable directory, and the writes that were denied. The supervisor does the confining: see
//! [`Confinement`](crate::process::Confinement). `docs/confinement.md` is the page for users.

mod caches;
mod denied;
mod permitted;
mod protected;
mod run;
mod settings;
mod state_place;
mod temporary;
mod violation;
mod worktree;
pub(crate) mod writable;

pub use protected::{FileChange, ProtectedChange, ProtectedFiles};
pub use run::ConfinedRun;
pub use state_place::StatePlace;
pub use writable::ConfineError;

/// The extent of an agent's writable directories, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfineMode {
    /// Everything that the user can.
    Off,
    /// The workspace, a temporary directory of its own, its state, and the caches of build tools.
    Workspace,
    /// A temporary directory of its own, and its state.
    ReadOnly,
}

impl ConfineMode {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Workspace, Self::ReadOnly, Self::Off];

    /// The word for it in `confine` and `--confine`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
        }
    }
}

/// The reaction to a run that the kernel cannot confine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfinementNeed {
    /// It runs, with a warning.
    #[default]
    Wanted,
    /// The run fails before the agent is started.
    Required,
}

impl ConfinementNeed {
    /// Both, in the order of the documentation.
    pub const ALL: [Self; 2] = [Self::Wanted, Self::Required];

    /// The word for it in `confinement`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wanted => "wanted",
            Self::Required => "required",
        }
    }
}
