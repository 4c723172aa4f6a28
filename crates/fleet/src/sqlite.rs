//! The store of one machine: a `SQLite` file that several processes share.

mod attempt;
mod bell;
mod claim;
mod commit_log;
mod connection;
mod listener;
mod orders;
mod submit;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Transaction;

use self::bell::{StoreBell, ring};
use self::connection::{SqliteFault, SqliteFile};
use self::listener::DataVersionListener;
use crate::{
    AnswerReply, AppendReply, ArtifactPart, ArtifactRecord, ArtifactSeal, AttemptEnd, CancelReply,
    CancelRequest, ChangeListener, ClaimRequest, ClaimedTerm, EventAppend, EventChunk,
    FleetOverview, FleetStore, HeartbeatReply, LogState, NewPrompt, NewTicket, PromptAnswer,
    PromptRecord, RetryReply, RunId, StoreError, StoreFuture, SubmissionAnswer, TicketClaim,
    TicketFate, TicketFilter, TicketId, TicketRecord, TicketRelease, WorkerHeartbeat, WorkerId,
    WorkerStart,
};

pub(crate) use connection::initial_sql;

/// A store in a `SQLite` file.
#[derive(Debug)]
pub struct SqliteStore {
    file: Arc<SqliteFile>,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the store in this file, and makes it if it is not there. The directory must exist.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let address = format!("sqlite:{}", path.display());
        let path = path.to_owned();
        let opened = path.clone();
        let file =
            on_a_thread(address.clone(), move || SqliteFile::open(&opened, &address)).await?;
        Ok(Self {
            file: Arc::new(file),
            path,
        })
    }

    /// Makes the file and its tables, or updates them. Returns the versions that it applied.
    pub async fn initialise(path: &Path) -> Result<Vec<i64>, StoreError> {
        let address = format!("sqlite:{}", path.display());
        let path = path.to_owned();
        let shown = address.clone();
        let initialise = move || connection::initialise(&path, &address);
        on_a_thread(shown, initialise).await
    }

    /// Limits the size of the file for this store alone, in pages, as a full disk would.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        let limit = move |transaction: &Transaction<'_>| {
            transaction.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            Ok(())
        };
        self.write(limit).await
    }

    fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let file = Arc::clone(&self.file);
        Box::pin(on_a_thread(file.address().to_owned(), move || {
            file.write(operation)
        }))
    }

    /// Changes ticket state, and raises the change counts that other connections poll.
    fn write_and_ring<T: Send + 'static>(
        &self,
        bell: StoreBell,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.write(move |transaction| {
            let value = operation(transaction)?;
            ring(transaction, bell)?;
            Ok(value)
        })
    }

    fn append_to_log<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let file = Arc::clone(&self.file);
        Box::pin(on_a_thread(file.address().to_owned(), move || {
            file.append(operation)
        }))
    }

    fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let file = Arc::clone(&self.file);
        Box::pin(on_a_thread(file.address().to_owned(), move || {
            file.read(operation)
        }))
    }
}

/// Runs an operation on a thread for blocking work: `SQLite` waits for the disk and for other writers.
async fn on_a_thread<T: Send + 'static>(
    store: String,
    operation: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(operation).await;
    done.unwrap_or_else(|error| {
        let reason = error.to_string();
        Err(StoreError::Internal { store, reason })
    })
}

impl FleetStore for SqliteStore {
    fn address(&self) -> &str {
        self.file.address()
    }

    fn submit<'a>(&'a self, tickets: &'a [NewTicket]) -> StoreFuture<'a, Vec<SubmissionAnswer>> {
        let tickets = tickets.to_vec();
        self.write_and_ring(StoreBell::Queue, move |transaction| {
            submit::submit(transaction, &tickets)
        })
    }

    fn list<'a>(&'a self, filter: &'a TicketFilter) -> StoreFuture<'a, Vec<TicketRecord>> {
        let filter = filter.clone();
        self.read(move |transaction| view::list(transaction, &filter))
    }

    fn ticket<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, Option<TicketRecord>> {
        let ticket = ticket.clone();
        self.read(move |transaction| view::ticket(transaction, &ticket))
    }

    fn cancel<'a>(
        &'a self,
        ticket: &'a TicketId,
        request: &'a CancelRequest,
    ) -> StoreFuture<'a, CancelReply> {
        let (ticket, request) = (ticket.clone(), request.clone());
        self.write_and_ring(StoreBell::Cancels, move |transaction| {
            orders::cancel(transaction, &ticket, &request)
        })
    }

    fn retry<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, RetryReply> {
        let ticket = ticket.clone();
        self.write_and_ring(StoreBell::Fates, move |transaction| {
            orders::retry(transaction, &ticket)
        })
    }

    fn remove<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, bool> {
        let ticket = ticket.clone();
        self.write(move |transaction| orders::remove(transaction, &ticket))
    }

    fn overview(&self) -> StoreFuture<'_, FleetOverview> {
        self.read(view::overview)
    }

    fn open_prompts<'a>(
        &'a self,
        ticket: Option<&'a TicketId>,
    ) -> StoreFuture<'a, Vec<PromptRecord>> {
        let ticket = ticket.cloned();
        self.read(move |transaction| view::open_prompts(transaction, ticket.as_ref()))
    }

    fn answer<'a>(&'a self, answer: &'a PromptAnswer) -> StoreFuture<'a, AnswerReply> {
        let answer = answer.clone();
        self.write_and_ring(StoreBell::Orders, move |transaction| {
            orders::answer(transaction, &answer)
        })
    }

    fn chunks<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<EventChunk>> {
        let run = run.clone();
        self.read(move |transaction| view::chunks(transaction, &run, from, bytes))
    }

    /// Other processes see each commit by polling: there is nothing to ring.
    fn watch<'a>(&'a self, _: &'a RunId) -> StoreFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn artifacts<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<ArtifactRecord>> {
        let run = run.clone();
        self.read(move |transaction| view::artifacts(transaction, &run))
    }

    fn artifact_part<'a>(
        &'a self,
        run: &'a RunId,
        name: &'a str,
        part: u32,
    ) -> StoreFuture<'a, Option<Vec<u8>>> {
        let (run, name) = (run.clone(), name.to_owned());
        self.read(move |transaction| view::artifact_part(transaction, &run, &name, part))
    }

    fn listen(&self) -> StoreFuture<'_, Box<dyn ChangeListener>> {
        let listener = DataVersionListener::new(&self.path);
        Box::pin(std::future::ready(Ok(
            Box::new(listener) as Box<dyn ChangeListener>
        )))
    }

    /// Commits are visible at once.
    fn flush(&self) -> StoreFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn register<'a>(&'a self, worker: &'a WorkerStart) -> StoreFuture<'a, ()> {
        let worker = worker.clone();
        self.write(move |transaction| claim::register(transaction, &worker))
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> StoreFuture<'a, Vec<TicketClaim>> {
        let (asked, request) = (request.clone(), request.clone());
        Box::pin(async move {
            let claimable_exists =
                self.read(move |transaction| claim::claimable_exists(transaction, &asked));
            if !claimable_exists.await? {
                return Ok(Vec::new());
            }
            self.write(move |transaction| claim::claim(transaction, &request))
                .await
        })
    }

    fn heartbeat<'a>(&'a self, heartbeat: &'a WorkerHeartbeat) -> StoreFuture<'a, HeartbeatReply> {
        let heartbeat = heartbeat.clone();
        // Not synced by itself: a power cut that takes it has ended the worker and its agents, too.
        self.append_to_log(move |transaction| claim::heartbeat(transaction, &heartbeat))
    }

    fn append<'a>(&'a self, append: &'a EventAppend) -> StoreFuture<'a, AppendReply> {
        let append = append.clone();
        self.append_to_log(move |transaction| attempt::append(transaction, &append))
    }

    fn log_state<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a WorkerId,
    ) -> StoreFuture<'a, Option<LogState>> {
        let (run, worker) = (run.clone(), worker.clone());
        self.read(move |transaction| view::log_state(transaction, &run, &worker))
    }

    fn record_prompt<'a>(&'a self, prompt: &'a NewPrompt) -> StoreFuture<'a, ()> {
        let prompt = prompt.clone();
        self.write_and_ring(StoreBell::States, move |transaction| {
            orders::record_prompt(transaction, &prompt)
        })
    }

    fn settle_prompt<'a>(
        &'a self,
        run: &'a RunId,
        request: &'a str,
        how: &'a str,
    ) -> StoreFuture<'a, ()> {
        let (run, request, how) = (run.clone(), request.to_owned(), how.to_owned());
        self.write(move |transaction| orders::settle_prompt(transaction, &run, &request, &how))
    }

    fn put_part<'a>(&'a self, part: &'a ArtifactPart) -> StoreFuture<'a, ()> {
        let part = part.clone();
        self.append_to_log(move |transaction| orders::put_part(transaction, &part))
    }

    fn seal_artifact<'a>(&'a self, seal: &'a ArtifactSeal) -> StoreFuture<'a, ArtifactRecord> {
        let seal = seal.clone();
        self.write(move |transaction| orders::seal_artifact(transaction, &seal))
    }

    fn finish<'a>(&'a self, end: &'a AttemptEnd) -> StoreFuture<'a, TicketFate> {
        let end = end.clone();
        self.write_and_ring(StoreBell::Fates, move |transaction| {
            attempt::finish(transaction, &end)
        })
    }

    fn release<'a>(&'a self, release: &'a TicketRelease) -> StoreFuture<'a, TicketFate> {
        let release = release.clone();
        self.write_and_ring(StoreBell::Fates, move |transaction| {
            attempt::release(transaction, &release)
        })
    }

    fn reclaim(
        &self,
        lease: Duration,
        limit: u32,
    ) -> StoreFuture<'_, Vec<(ClaimedTerm, TicketFate)>> {
        Box::pin(async move {
            let reclaimable_exists =
                self.read(move |transaction| attempt::reclaimable_exists(transaction, lease));
            if !reclaimable_exists.await? {
                return Ok(Vec::new());
            }
            self.write(move |transaction| attempt::reclaim(transaction, lease, limit))
                .await
        })
    }

    fn find_work<'a>(&'a self, labels: &'a [String]) -> StoreFuture<'a, bool> {
        let labels = labels.to_vec();
        self.read(move |transaction| claim::find_work(transaction, &labels))
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> StoreFuture<'a, ()> {
        let worker = worker.clone();
        self.write(move |transaction| claim::leave(transaction, &worker))
    }
}
