//! The state that all handlers share.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::access_log::AccessLog;
use crate::command_output::CommandRunner;
use crate::run_request::RunBounds;
use crate::run_table::RunTable;

/// How many clients read events at a time.
pub(crate) const MOST_WATCHERS: usize = 192;

/// State that all handlers share.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) bounds: RunBounds,
    pub(crate) runs: RunTable,
    pub(crate) commands: Arc<dyn CommandRunner>,
    /// The directory of recordings.
    pub(crate) recordings: PathBuf,
    pub(crate) access_log: AccessLog,
    /// Watchers end when the server does.
    pub(crate) stopped: CancellationToken,
    /// A place for each watcher that may come yet.
    pub(crate) watcher_places: Arc<Semaphore>,
}

impl ServerState {
    /// How many clients read events.
    pub(crate) fn watchers(&self) -> usize {
        MOST_WATCHERS - self.watcher_places.available_permits()
    }
}
