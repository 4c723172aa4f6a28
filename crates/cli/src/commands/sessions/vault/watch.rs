//! `sessions vault add --watch`: copies sessions when they change, until a signal comes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary::engine::recording::follow::GrowthWatch;
use lapidary::sessions::{ProjectReach, ProviderScope, SessionProject, VaultFolder, providers};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::super::common::SessionsContext;
use super::agents::NamedAgents;
use crate::failure::Failure;
use crate::system::Interruptions;

/// How many folders are watched, the newest first. The system allows only so many, and a look now and then sees the others.
const MOST_WATCHED: usize = 256;

/// How often files are looked at without a word from the system: new folders, and those beyond the limit.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// How long files are left alone after a change, so that a turn that is being written is copied once.
const SETTLING: Duration = Duration::from_secs(2);

/// Whether to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchStep {
    /// A file may have changed.
    Look,
    /// A signal came.
    Stop,
}

/// Waits for changes of session files. Signals are heard from its beginning on, also while files are copied.
pub(super) struct SessionWatch {
    runtime: Runtime,
    signals: Option<Interruptions>,
    growth: Option<GrowthWatch>,
}

impl SessionWatch {
    pub(super) fn start(place: &SessionsContext) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(Failure::internal)?;
        let signals = {
            let _inside = runtime.enter();
            place.invocation.listen_for_signals()
        };
        Ok(Self {
            runtime,
            signals,
            growth: None,
        })
    }

    /// Begins to note changes. Called before files are copied, so that a change meanwhile is copied next.
    pub(super) fn note_changes(
        &mut self,
        agents: &NamedAgents,
        place: &SessionsContext,
    ) -> Result<(), Failure> {
        let folders = watched_folders(agents, place)?;
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let _inside = self.runtime.enter();
        self.growth = Some(GrowthWatch::new(&folders));
        Ok(())
    }

    /// Waits until session files may have changed, or a signal comes.
    pub(super) fn next_step(&mut self) -> WatchStep {
        let (signals, growth) = (&mut self.signals, &mut self.growth);
        self.runtime.block_on(async {
            let changed = async {
                match growth {
                    Some(growth) => drop(timeout(LOOK_EVERY, growth.happened()).await),
                    None => sleep(LOOK_EVERY).await,
                }
                sleep(SETTLING).await;
            };
            let stopped = async {
                match signals {
                    Some(signals) => signals.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => WatchStep::Look,
                () = stopped => WatchStep::Stop,
            }
        })
    }
}

fn watched_folders(agents: &NamedAgents, place: &SessionsContext) -> Result<Vec<PathBuf>, Failure> {
    let scope = ProviderScope {
        projects: &[],
        reach: ProjectReach::Everywhere,
        now: place.now,
    };
    let providers = providers(&place.environment);
    let mut folders: Vec<PathBuf> = Vec::new();
    for (_, source) in agents.sources(&providers)? {
        let found = source.vault_folders(&scope, &mut Vec::new()).into_iter();
        folders.extend(found.map(|VaultFolder { path, .. }| path));
    }
    if agents.has_gemini() {
        let projects = place.store.projects();
        let chats = projects.iter().flat_map(SessionProject::chats);
        folders.extend(chats.filter(|chats| chats.is_dir()));
    }
    let changed = |folder: &PathBuf| folder.metadata().and_then(|it| it.modified()).ok();
    folders.sort_by_cached_key(|folder| std::cmp::Reverse(changed(folder)));
    folders.truncate(MOST_WATCHED);
    Ok(folders)
}
