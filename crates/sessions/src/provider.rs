//! The interface for sessions of any agent.
//!
//! A [`SessionProvider`] finds sessions, summarises each for a list, and replays one as events. Gemini CLI's session files are
//! the first provider ([`GeminiSessions`]). Recordings are the second; they are in `lapidary-engine`, which knows how to read
//! them. A list takes Gemini's sessions first, and adds a session of another provider only if its id is new
//! ([`SessionListing::add_others`]): a run whose agent left a session file is one session.
//!
//! [`SessionProviders`] holds the providers beside Gemini CLI's own files. Commands ask it, and not a provider by its name;
//! [`ProviderCapabilities`] tells them which operations a provider does not support.

mod capabilities;
mod duplicates;
mod gemini;
mod registry;
mod usage;
mod vault_source;

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::Event;

use crate::listing::{ListedSession, SessionListing};
use crate::projects::SessionProject;

pub use capabilities::{ProviderCapabilities, SessionAbility, UnsupportedOperation};
pub(crate) use duplicates::newest_of_each;
pub use gemini::GeminiSessions;
pub use registry::{OtherSession, OtherSessions, SessionProviders, file_counts};
pub use usage::{UsageFiles, UsageReader, WantedDirectories};
pub(crate) use vault_source::files_below;
pub use vault_source::{VaultFolder, VaultSource};

/// A source of recorded sessions.
pub trait SessionProvider {
    /// The provider's name, such as `gemini` or `recordings`.
    fn name(&self) -> &'static str;

    /// The operations that its sessions support.
    fn capabilities(&self) -> ProviderCapabilities;

    /// Finds the sessions of a scope, and summarises each. No transcript is kept of it.
    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing;

    /// Passes on the events of a session that [`SessionProvider::list`] has returned, in order, text in whole pieces.
    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError>;

    /// Reads usage from its files. None if its sessions are counted by their events.
    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        None
    }

    /// The command of the agent that continues a session on a terminal, with `{id}` for its id. None if it has no such command.
    fn resume_command(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The files that the vault copies. None if the provider has no files, or none that can be copied one by one.
    fn vault_source(&self) -> Option<&dyn VaultSource> {
        None
    }

    /// Replays sessions that are no files of their own as the caller wants them. None if a session's file is there to be read.
    fn raw_replay(&self) -> Option<&dyn RawReplay> {
        None
    }
}

/// Replays sessions that are no files of their own, such as rows of a database.
pub trait RawReplay {
    /// Passes on the events of a session, with their `raw` if the options say so.
    fn replay_with(
        &self,
        session: &ListedSession,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError>;
}

/// Whose sessions are wanted.
#[derive(Debug, Clone, Copy)]
pub struct ProviderScope<'s> {
    /// The projects that Gemini CLI knows or would make.
    pub projects: &'s [SessionProject],
    /// Whether other directories count.
    pub reach: ProjectReach,
    /// The time of the list.
    pub now: SystemTime,
}

/// Whether a list goes beyond the projects that were named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectReach {
    /// Only these projects.
    Named,
    /// Every directory.
    Everywhere,
}

/// The place of each directory among the projects of a scope.
#[derive(Debug)]
pub struct ProjectPlaces<'s> {
    scope: &'s ProviderScope<'s>,
    places: HashMap<PathBuf, usize>,
    /// The place that the next directory gets which is not among the projects.
    next: usize,
}

impl<'s> ProjectPlaces<'s> {
    /// The places of the projects that were named.
    pub fn new(scope: &'s ProviderScope<'s>) -> Self {
        let roots = scope.projects.iter().enumerate();
        let places = roots.filter_map(|(place, project)| Some((project.root.clone()?, place)));
        Self {
            scope,
            places: places.collect(),
            next: scope.projects.len(),
        }
    }

    /// The place of a directory. One beyond the projects gets the next place, if it counts.
    pub fn place_for(&mut self, directory: &str) -> Option<usize> {
        if let Some(place) = self.places.get(Path::new(directory)) {
            return Some(*place);
        }
        if self.scope.reach == ProjectReach::Named {
            return None;
        }
        let place = self.next;
        self.next += 1;
        self.places.insert(directory.into(), place);
        Some(place)
    }

    /// The name of a project's directory in `.gemini/tmp`; empty for a directory that Gemini CLI does not know.
    pub fn id(&self, place: usize) -> &'s str {
        let project = self.scope.projects.get(place);
        let project = project.filter(|project| !project.directories.is_empty());
        project.map_or("", |project| project.id.as_str())
    }
}

/// Why a session cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the session in `{}`", path.display())]
pub struct ReplaySessionError {
    /// The session's file or directory.
    pub path: PathBuf,
    /// The provider's error.
    pub source: Box<dyn Error + Send + Sync>,
}

impl SessionListing {
    /// Adds the sessions of another provider that are not in this list. The sessions of a project stay together, the others last.
    pub fn add_others(&mut self, others: Self) {
        self.warnings.extend(others.warnings);
        self.hidden.extend(others.hidden);
        if others.sessions.is_empty() {
            return;
        }
        let known = self.sessions.iter().map(ListedSession::id);
        let known: HashSet<&str> = known.collect();
        let is_new = |session: &ListedSession| !known.contains(session.id());
        let new: Vec<ListedSession> = others.sessions.into_iter().filter(is_new).collect();
        self.sessions.extend(new);
        self.sessions.sort_by_key(|session| session.project);
    }
}
