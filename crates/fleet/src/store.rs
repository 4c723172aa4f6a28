//! The store of a fleet: one trait, for `PostgreSQL` and `SQLite`.
//!
//! **Idempotence.** Every operation can be repeated when its answer was lost ([`StoreError::is_passing`]): the second call finds
//! the effect of the first one and answers the same. So the only correct reaction to a passing error is to ask again, and to
//! treat the effect as unknown until then. A failed heartbeat does not tell which worker holds a ticket.
//!
//! **Clock.** All times are the store's. A worker compares no clock of its own with them: it counts its lease from the moment
//! before it sent the request, on a clock that runs while the machine sleeps.
//!
//! **Fencing.** Operations that name a [`ClaimedTerm`] change a ticket only while it is `running` under that very term; otherwise
//! they fail with [`StoreError::LeaseLost`] and have no effect.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::{
    AnswerReply, AppendReply, ArtifactPart, ArtifactRecord, ArtifactSeal, AttemptEnd, CancelReply,
    CancelRequest, ClaimRequest, ClaimedTerm, EventAppend, EventChunk, FleetOverview,
    HeartbeatReply, LogState, NewPrompt, NewTicket, PromptAnswer, PromptRecord, RetryReply, RunId,
    SubmissionAnswer, TicketClaim, TicketFate, TicketFilter, TicketId, TicketRecord, TicketRelease,
    WorkerHeartbeat, WorkerId, WorkerStart,
};

/// An operation of a store. Dropping it may leave the operation done or not done, never half done.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A wait for changes.
pub type ListenFuture<'a> = Pin<Box<dyn Future<Output = StoreChanges> + Send + 'a>>;

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, or was interrupted: whether the operation was done is unknown. Ask again.
    #[error("the store `{store}` cannot be reached: {reason}")]
    Unavailable {
        /// The store, without its password.
        store: String,
        /// The reason in the driver's words.
        reason: String,
    },
    /// The store only reads: a standby, a file system without write access, or a role that may only view.
    #[error("the store `{store}` is read-only: {reason}")]
    ReadOnly {
        /// The store.
        store: String,
        /// The reason in the driver's words.
        reason: String,
    },
    /// The disk of the store is full.
    #[error("the disk of the store `{store}` is full: {reason}")]
    DiskFull {
        /// The store.
        store: String,
        /// The reason in the driver's words.
        reason: String,
    },
    /// The credentials or the rights do not suffice.
    #[error("the store `{store}` refuses access: {reason}")]
    Denied {
        /// The store.
        store: String,
        /// The reason in the driver's words.
        reason: String,
    },
    /// The store has no tables of ours.
    #[error("`{store}` is not a fleet's store yet")]
    NotInitialised {
        /// The store.
        store: String,
    },
    /// The file belongs to another program.
    #[error("`{store}` is not a fleet's store: the file belongs to another program")]
    ForeignFile {
        /// The store.
        store: String,
    },
    /// The tables are of another version.
    #[error("the store `{store}` has schema version {found}; this program uses version {known}")]
    OtherSchema {
        /// The store.
        store: String,
        /// The version of its tables.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// The ticket is not held under this term any more. Kill the tree; upload its history as [`crate::LeaseUse::Late`].
    #[error("the lease of ticket `{}` under term {} is lost", .0.ticket, .0.term)]
    LeaseLost(ClaimedTerm),
    /// The store does not know the worker: it was restored from a backup, or another store has the same address now. The worker
    /// must end: its memory of terms and tickets contradicts the store.
    #[error("the store does not know worker `{worker}`: it may have been restored from a backup")]
    UnknownWorker {
        /// The worker.
        worker: WorkerId,
    },
    /// The stored parts of an artifact do not match the count and the hash of its seal.
    #[error("the artifact `{name}` is not stored as it was sent")]
    ArtifactMismatch {
        /// Its name.
        name: String,
    },
    /// The store does not accept a value of the request.
    #[error("`{field}` {problem}")]
    BadRequest {
        /// The field.
        field: &'static str,
        /// The problem in words.
        problem: String,
    },
    /// An unexpected failure, with no variant of its own.
    #[error("the store `{store}` failed: {reason}")]
    Internal {
        /// The store.
        store: String,
        /// The reason in the driver's words.
        reason: String,
    },
}

impl StoreError {
    /// Whether the operation may succeed when it is repeated: the effect of this one is unknown until then.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unavailable { store, .. } if store.starts_with("sqlite:") => {
                "check the path in `--store`: its directory must exist, on a disk of this machine"
            }
            Self::Unavailable { .. } => "check the address in `--store`, and that the server runs",
            Self::ReadOnly { .. } => "name the primary server, or a file that you can write",
            Self::DiskFull { .. } => {
                "make room, or remove old tickets with `lapidary fleet archive`"
            }
            Self::Denied { .. } => "check the user and the password in `--store`, and its role",
            Self::NotInitialised { .. } => "run `lapidary fleet init`",
            Self::ForeignFile { .. } => "name another file with `--store`",
            Self::OtherSchema { found, known, .. } if found > known => {
                "update lapidary on this machine"
            }
            Self::OtherSchema { .. } => "run `lapidary fleet init`, which updates the tables",
            Self::UnknownWorker { .. } => "look at `lapidary fleet list`, then start the worker",
            Self::LeaseLost(_)
            | Self::ArtifactMismatch { .. }
            | Self::BadRequest { .. }
            | Self::Internal { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// Possible changes in a store. A listener may report changes that did not happen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreChanges {
    /// Tickets may wait that did not before.
    pub queue: bool,
    /// Tickets may have been cancelled, or prompts answered: a worker sends its heartbeat now.
    pub orders: bool,
    /// Tickets may have begun or ended.
    pub states: bool,
    /// Runs whose logs grew.
    pub runs: Vec<RunId>,
    /// Any log may have grown.
    pub all_runs: bool,
}

impl StoreChanges {
    /// All kinds of change, in all runs.
    pub fn everything() -> Self {
        Self {
            queue: true,
            orders: true,
            states: true,
            runs: Vec::new(),
            all_runs: true,
        }
    }
}

/// Waits for changes of a store. It never fails: without a connection it reports everything at each poll.
pub trait ChangeListener: fmt::Debug + Send {
    /// The next changes, at the latest after a few seconds ([`StoreChanges::everything`]). Can be dropped at any time: no change
    /// is lost.
    fn next(&mut self) -> ListenFuture<'_>;

    /// Whether changes come by themselves, rather than by polling (a pooler between us and `PostgreSQL` swallows them).
    fn is_live(&self) -> bool;
}

/// The store of a fleet.
pub trait FleetStore: fmt::Debug + Send + Sync {
    /// The store for people: its address without a password.
    fn address(&self) -> &str;

    // ---- Submitters and viewers ----

    /// Submits tickets, in order; one answer for each. Tickets that are refused do not keep the others out.
    fn submit<'a>(&'a self, tickets: &'a [NewTicket]) -> StoreFuture<'a, Vec<SubmissionAnswer>>;

    /// Tickets, the newest first, without their specs, results and attempts.
    fn list<'a>(&'a self, filter: &'a TicketFilter) -> StoreFuture<'a, Vec<TicketRecord>>;

    /// One ticket with everything but its log and its artifacts' content.
    fn ticket<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, Option<TicketRecord>>;

    /// Orders the end of a ticket. One that waits is done at once.
    fn cancel<'a>(
        &'a self,
        ticket: &'a TicketId,
        request: &'a CancelRequest,
    ) -> StoreFuture<'a, CancelReply>;

    /// Lets a ticket that ended wait again. Its history stays, and its term goes on growing.
    fn retry<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, RetryReply>;

    /// Removes a ticket that ended, with its log and artifacts. False if there is none, or if it has not ended.
    fn remove<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, bool>;

    /// Queue, lanes and workers.
    fn overview(&self) -> StoreFuture<'_, FleetOverview>;

    /// Permission requests that wait for an answer, of one ticket or of all, the oldest first.
    fn open_prompts<'a>(
        &'a self,
        ticket: Option<&'a TicketId>,
    ) -> StoreFuture<'a, Vec<PromptRecord>>;

    /// Answers a permission request. The first answer counts.
    fn answer<'a>(&'a self, answer: &'a PromptAnswer) -> StoreFuture<'a, AnswerReply>;

    /// Chunks of a run's log from the one with event `from`, in order, together at most about `bytes`. Empty if there is none yet.
    fn chunks<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<EventChunk>>;

    /// Marks a run's log as watched for the next minute: its appends notify listeners.
    fn watch<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()>;

    /// The sealed artifacts of a run.
    fn artifacts<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<ArtifactRecord>>;

    /// A part of a sealed artifact.
    fn artifact_part<'a>(
        &'a self,
        run: &'a RunId,
        name: &'a str,
        part: u32,
    ) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// A listener for changes.
    fn listen(&self) -> StoreFuture<'_, Box<dyn ChangeListener>>;

    /// Waits until changes that this program made are announced. Call it before the program ends.
    fn flush(&self) -> StoreFuture<'_, ()>;

    // ---- Workers ----

    /// Registers a worker: once, before its other requests.
    fn register<'a>(&'a self, worker: &'a WorkerStart) -> StoreFuture<'a, ()>;

    /// Claims tickets: those whose needs are among the labels, whose lanes have room, and whose time has come; higher priority
    /// first, then the kind of ticket (lanes and needs) that was claimed longest ago, then the oldest. Each gets the next term,
    /// counts an attempt, and takes its place in its lanes. Fewer than `limit`, or none, if there are no more.
    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> StoreFuture<'a, Vec<TicketClaim>>;

    /// Extends the leases of all tickets that the worker holds, and brings cancellations and answers. If the whole fleet was
    /// silent for half a lease (the database was away), all leases are extended once, so that no worker loses its tickets to the
    /// first one that comes back.
    fn heartbeat<'a>(&'a self, heartbeat: &'a WorkerHeartbeat) -> StoreFuture<'a, HeartbeatReply>;

    /// Appends events to an attempt's log: exactly once, in order.
    fn append<'a>(&'a self, append: &'a EventAppend) -> StoreFuture<'a, AppendReply>;

    /// How far the log of an attempt of this worker is. None if the run is unknown, or if another worker claimed it: a store that was
    /// restored from a backup gives terms for a second time.
    fn log_state<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a WorkerId,
    ) -> StoreFuture<'a, Option<LogState>>;

    /// Records a permission request. Again with the same `requestId`: no effect.
    fn record_prompt<'a>(&'a self, prompt: &'a NewPrompt) -> StoreFuture<'a, ()>;

    /// Records how a permission request ended (`answered`, `withdrawn`, `timed_out`): it is not open any more, and heartbeats do
    /// not bring its answer again.
    fn settle_prompt<'a>(
        &'a self,
        run: &'a RunId,
        request: &'a str,
        how: &'a str,
    ) -> StoreFuture<'a, ()>;

    /// Stores a part of an artifact.
    fn put_part<'a>(&'a self, part: &'a ArtifactPart) -> StoreFuture<'a, ()>;

    /// Seals an artifact: reads its parts back, and compares. Only then it counts.
    fn seal_artifact<'a>(&'a self, seal: &'a ArtifactSeal) -> StoreFuture<'a, ArtifactRecord>;

    /// Ends an attempt, and with it the lease. A ticket that was cancelled never waits again. Its prompts are settled, its places
    /// in the lanes are free, tickets that waited for it go on.
    fn finish<'a>(&'a self, end: &'a AttemptEnd) -> StoreFuture<'a, TicketFate>;

    /// Gives a ticket back before an agent was started. The attempt counts as given back, not against the limit.
    fn release<'a>(&'a self, release: &'a TicketRelease) -> StoreFuture<'a, TicketFate>;

    /// Ends attempts whose lease is over (`lease_lost`), at most `limit`, and returns the fates of their tickets. Every worker
    /// calls it from time to time. A cancelled ticket is done. One whose policy allows it waits again, unless it was lost three
    /// times or has no attempts left (`gave_up`); others end with `lease_lost`. After a silent fleet no attempt is ended until
    /// the leases were extended once; `lease` is the sweeper's own.
    fn reclaim(
        &self,
        lease: Duration,
        limit: u32,
    ) -> StoreFuture<'_, Vec<(ClaimedTerm, TicketFate)>>;

    /// Whether a worker with these labels may still get a ticket: one that it could claim now or later, or a running one that may
    /// come back. For `--drain`.
    fn find_work<'a>(&'a self, labels: &'a [String]) -> StoreFuture<'a, bool>;

    /// The worker leaves in order. It must hold no ticket.
    fn leave<'a>(&'a self, worker: &'a WorkerId) -> StoreFuture<'a, ()>;
}
