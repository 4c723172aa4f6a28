//! The state that all handlers share.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::access_log::AccessLog;
use crate::command_output::CommandRunner;
use crate::problem::HttpProblem;
use crate::request_keys::RequestKeys;
use crate::run_request::RunBounds;
use crate::run_table::RunTable;
use crate::started_runs::StartedRuns;

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
    pub(crate) ledger: RunLedger,
    /// Watchers end when the server does.
    pub(crate) stopped: CancellationToken,
    /// A place for each watcher that may come yet.
    pub(crate) watcher_places: Arc<Semaphore>,
}

/// Files about the runs of this server, which one server of a state directory writes.
#[derive(Debug)]
pub(crate) enum RunLedger {
    Own {
        keys: RequestKeys,
        started: StartedRuns,
    },
    /// Another server has them: this one only reads. Its address, if it is known.
    OfAnother(Option<String>),
}

impl ServerState {
    /// How many clients read events.
    pub(crate) fn watchers(&self) -> usize {
        MOST_WATCHERS - self.watcher_places.available_permits()
    }

    /// A place for one more watcher.
    pub(crate) fn watcher_place(&self) -> Result<OwnedSemaphorePermit, HttpProblem> {
        let place = Arc::clone(&self.watcher_places).try_acquire_owned();
        place.map_err(|_| {
            let detail = "too many clients read events";
            HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .with_hint("close one of them, and try again")
        })
    }

    /// Refuses a change where this server only reads.
    pub(crate) fn check_writable(&self) -> Result<(), HttpProblem> {
        match &self.ledger {
            RunLedger::Own { .. } => Ok(()),
            RunLedger::OfAnother(owner) => {
                let detail = "this server only reads: another one has the same state directory";
                let hint = match owner {
                    Some(url) => format!("send the request to `{url}`"),
                    None => {
                        "send the request to the other server, or end it and start this one again"
                            .to_owned()
                    }
                };
                Err(HttpProblem::new(StatusCode::CONFLICT, detail).with_hint(hint))
            }
        }
    }

    /// Refuses a run where too many go on.
    pub(crate) fn check_room(&self) -> Result<(), HttpProblem> {
        if self.runs.has_room() {
            return Ok(());
        }
        let detail = "too many runs are going on";
        Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail)
            .with_hint("wait until one has ended, or stop one"))
    }

    /// Notes a run before it starts: if this server is killed, the next one ends it.
    pub(crate) fn note_start(&self, id: &str) -> Result<(), HttpProblem> {
        match &self.ledger {
            RunLedger::Own { started, .. } => {
                started.note(id).map_err(|error| disk_problem(&error))
            }
            RunLedger::OfAnother(_) => self.check_writable(),
        }
    }

    /// The request keys, if this server writes them.
    pub(crate) fn keys(&self) -> Result<&RequestKeys, HttpProblem> {
        match &self.ledger {
            RunLedger::Own { keys, .. } => Ok(keys),
            RunLedger::OfAnother(_) => {
                self.check_writable()?;
                Err(HttpProblem::internal("this server only reads"))
            }
        }
    }
}

/// The disk is full, or its directory is gone.
pub(crate) fn disk_problem(error: &io::Error) -> HttpProblem {
    let detail = format!("the server cannot write its state: {error}");
    HttpProblem::new(StatusCode::INSUFFICIENT_STORAGE, detail)
        .with_hint("free some space; no run was started")
}
