//! A worker: claims tickets, runs their agents, keeps their leases, and stores logs and results.
//!
//! Three kinds of task share a `WorkerState`: this loop claims tickets, `heartbeat` keeps the leases of all of them with one
//! statement, and each ticket has an `attempt_task`, which is the only one that changes the ticket.

mod artifacts;
mod ask_desk;
mod attempt_end;
mod attempt_task;
mod bounds;
mod heartbeat;
mod held;
mod late_history;
mod metrics;
mod note;
mod patience;
mod retry;
mod settings;
mod unfinished;
mod upload;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::process::BootTime;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

pub use bounds::{BoundsError, WorkerBounds};
pub use metrics::{MetricsError, MetricsServer, WorkerMetrics};
pub use note::WorkerNote;
pub use patience::connect_patiently;
pub use settings::{FleetSettings, SettingsError};

use crate::workspace::{DiskFloor, GcLimits, WorkspaceRoot};
use crate::{ClaimRequest, FleetStore, StoreError, WorkerId, WorkerStart, fresh_nonce};
use attempt_task::AttemptTask;
use held::{HeldTable, HeldTicket};

/// The longest pause between two sweeps for leases of vanished workers. New tickets need no poll of their own: the listener
/// reports the queue, and from time to time does so without a change.
const RECLAIM_POLL: Duration = Duration::from_secs(10);

/// The pause between two garbage collections.
const GC_PAUSE: Duration = Duration::from_hours(1);

/// The most attempts that one sweep ends.
const RECLAIM_LIMIT: u32 = 100;

/// The options of a worker.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// A name for people.
    pub name: String,
    /// The machine.
    pub host: String,
    /// Its labels, such as `agent:gemini` and `os:linux`.
    pub labels: Vec<String>,
    /// How many tickets run at a time.
    pub slots: u32,
    /// How long a ticket is held without a heartbeat.
    pub lease: Duration,
    /// When it ends by itself.
    pub until: WorkerEnd,
    /// Its directory for mirrors, workspaces and unfinished attempts.
    pub directory: PathBuf,
    /// At least so many bytes must be free before a ticket is claimed.
    pub min_free: u64,
    /// How long workspaces are kept.
    pub gc: GcLimits,
}

/// When a worker ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// Only when it is told to.
    Never,
    /// After one ticket.
    Once,
    /// When [`FleetStore::find_work`] finds no ticket for it.
    Drained,
}

/// How urgently a worker should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkerStop {
    /// It may go on.
    None,
    /// It claims no more tickets, and ends when its running tickets are done.
    Drain,
    /// It ends its agents, and gives their tickets up.
    Now,
}

/// Why a worker ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The store refuses the worker.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory of unfinished attempts cannot be used.
    #[error("cannot use `{}`", path.display())]
    Files {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The tasks' common state.
#[derive(Debug)]
pub(crate) struct WorkerState {
    pub(crate) store: Arc<dyn FleetStore>,
    pub(crate) id: WorkerId,
    pub(crate) options: WorkerOptions,
    pub(crate) bounds: WorkerBounds,
    pub(crate) workspaces: WorkspaceRoot,
    pub(crate) held: HeldTable,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) unfinished: unfinished::UnfinishedAttempts,
    /// Rings when a heartbeat should be sent at once.
    pub(crate) orders: Notify,
    /// Rings when a ticket may be claimable.
    pub(crate) queue: Notify,
    pub(crate) stop: watch::Receiver<WorkerStop>,
    notes: mpsc::UnboundedSender<WorkerNote>,
}

impl WorkerState {
    /// Reports to the person who started the worker.
    pub(crate) fn tell(&self, note: WorkerNote) {
        let _ = self.notes.send(note); // the worker is ending
    }
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    state: Arc<WorkerState>,
    notes: mpsc::UnboundedReceiver<WorkerNote>,
}

impl Worker {
    /// A worker of this store. `stop` tells it to end.
    pub fn new(
        store: Arc<dyn FleetStore>,
        options: WorkerOptions,
        bounds: WorkerBounds,
        metrics: Arc<WorkerMetrics>,
        stop: watch::Receiver<WorkerStop>,
    ) -> Result<Self, WorkerError> {
        let id = WorkerId::fresh();
        let bounds = bounds.without_store_variables();
        let unfinished = unfinished::UnfinishedAttempts::open(&options.directory, &id)?;
        let (sender, notes) = mpsc::unbounded_channel();
        Ok(Self {
            notes,
            state: Arc::new(WorkerState {
                workspaces: bounds.workspaces(&options.directory),
                store,
                id,
                options,
                bounds,
                held: HeldTable::default(),
                metrics,
                unfinished,
                orders: Notify::new(),
                queue: Notify::new(),
                stop,
                notes: sender,
            }),
        })
    }

    /// Works until it is told to end, or until the condition of [`WorkerOptions::until`] is met. Returns how many tickets it ran.
    pub async fn run(self) -> Result<u64, WorkerError> {
        self.run_with_notes(|_| {}).await
    }

    /// The same, with a function that takes the worker's notes.
    pub async fn run_with_notes(
        self,
        mut take: impl FnMut(WorkerNote),
    ) -> Result<u64, WorkerError> {
        let Self { state, mut notes } = self;
        let mut working = pin!(work(state));
        let worked = loop {
            // Both futures are cancellation-safe.
            tokio::select! {
                worked = &mut working => break worked,
                Some(note) = notes.recv() => take(note),
            }
        };
        while let Ok(note) = notes.try_recv() {
            take(note);
        }
        worked
    }
}

async fn work(state: Arc<WorkerState>) -> Result<u64, WorkerError> {
    let mut stop = state.stop.clone();
    // Both futures are cancellation-safe: the store may know a worker that never claims.
    tokio::select! {
        biased;
        registered = register(&state) => registered?,
        Ok(_) = stop.wait_for(|stop| *stop != WorkerStop::None) => return Ok(0),
    }
    let mut helpers = JoinSet::new();
    helpers.spawn(listen(Arc::clone(&state)));
    let mut keeper = JoinSet::new();
    keeper.spawn(heartbeat::keep_leases(Arc::clone(&state)));
    helpers.spawn(late_history::upload_late_history(Arc::clone(&state)));
    helpers.spawn(collect_garbage(Arc::clone(&state)));
    let mut attempts = JoinSet::new();
    let worked = tokio::select! {
        worked = claim_and_run(&state, &mut attempts) => worked,
        ended = keeper.join_next() => Err(heartbeat_error(ended)),
    };
    // The heartbeat goes on until the last attempt is done.
    helpers.abort_all();
    drain_attempts(&state, &mut attempts).await;
    if worked.is_ok() {
        late_history::upload_abandoned(&state).await;
    }
    keeper.abort_all();
    let _ = state.store.leave(&state.id).await; // a worker that is not reached any more has left, too
    let _ = state.store.flush().await;
    worked
}

fn heartbeat_error(ended: Option<Result<StoreError, tokio::task::JoinError>>) -> WorkerError {
    match ended {
        Some(Ok(error)) => error.into(),
        Some(Err(_)) | None => WorkerError::Store(StoreError::Internal {
            store: String::new(),
            reason: "the heartbeat broke off".to_owned(),
        }),
    }
}

/// Attempts that still run when the worker ends early have lost their leases.
async fn drain_attempts(state: &WorkerState, attempts: &mut JoinSet<()>) {
    if !attempts.is_empty() {
        state.held.all().iter().for_each(|held| held.lose());
    }
    while attempts.join_next().await.is_some() {}
}

async fn register(state: &WorkerState) -> Result<(), WorkerError> {
    let start = WorkerStart {
        id: state.id.clone(),
        name: state.options.name.clone(),
        host: state.options.host.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: state.options.labels.clone(),
        slots: state.options.slots,
    };
    Ok(patience::first_contact(|| state.store.register(&start)).await?)
}

/// Passes changes in the store on to the worker's tasks.
async fn listen(state: Arc<WorkerState>) {
    loop {
        let Ok(mut listener) = state.store.listen().await else {
            tokio::time::sleep(patience::PAUSE).await;
            continue;
        };
        loop {
            let changes = listener.next().await;
            if changes.queue || changes.states {
                state.queue.notify_one();
            }
            if changes.orders {
                state.orders.notify_one();
            }
        }
    }
}

/// Removes workspaces that are not needed any more, at every `GC_PAUSE`.
async fn collect_garbage(state: Arc<WorkerState>) {
    loop {
        let (root, limits) = (state.workspaces.clone(), state.options.gc);
        let collect = move || root.collect_garbage(limits, false);
        let _ = tokio::task::spawn_blocking(collect).await; // what stays is looked at again
        tokio::time::sleep(GC_PAUSE).await;
    }
}

/// Claims tickets and starts their tasks, until the worker ends.
async fn claim_and_run(
    state: &Arc<WorkerState>,
    attempts: &mut JoinSet<()>,
) -> Result<u64, WorkerError> {
    let mut claimed = 0;
    let mut stop = state.stop.clone();
    let mut poll = interval(RECLAIM_POLL.min(state.options.lease / 3));
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut was_short = false;
    loop {
        let urgency = *stop.borrow_and_update();
        if urgency == WorkerStop::Now {
            state.held.all().iter().for_each(|held| held.lose());
        }
        let is_done = state.options.until == WorkerEnd::Once && claimed > 0;
        if urgency == WorkerStop::None && !is_done {
            let is_short = check_disk(state, was_short);
            if !is_short {
                claimed += claim_tickets(state, attempts).await;
            }
            was_short = is_short;
        } else if attempts.is_empty() {
            return Ok(claimed);
        }
        if attempts.is_empty() && is_drained(state).await {
            return Ok(claimed);
        }
        loop {
            // All of these futures are cancellation-safe.
            tokio::select! {
                Some(_) = attempts.join_next() => break,
                _ = stop.changed() => break,
                () = state.queue.notified() => break,
                _ = poll.tick() => reclaim(state).await, // it rings if a ticket waits again
            }
        }
    }
}

async fn is_drained(state: &WorkerState) -> bool {
    if state.options.until != WorkerEnd::Drained {
        return false;
    }
    let work = state.store.find_work(&state.options.labels).await;
    matches!(work, Ok(false))
}

/// Ends attempts of workers that vanished. Every worker does it regularly.
async fn reclaim(state: &WorkerState) {
    if let Ok(ended) = state
        .store
        .reclaim(state.options.lease, RECLAIM_LIMIT)
        .await
        && !ended.is_empty()
    {
        state.metrics.note_reclaimed(ended.len());
        state.queue.notify_one();
    }
}

/// Whether the disk has too little space for another ticket. A new shortage is reported.
fn check_disk(state: &WorkerState, was_short: bool) -> bool {
    let floor = DiskFloor::new(&state.options.directory, state.options.min_free);
    let shortage = floor.shortage();
    if let (Some(free), false) = (shortage, was_short) {
        let directory = state.options.directory.clone();
        state.tell(WorkerNote::DiskShort { directory, free });
    }
    shortage.is_some()
}

/// Claims as many tickets as there are free slots, and starts them. Returns how many.
async fn claim_tickets(state: &Arc<WorkerState>, attempts: &mut JoinSet<()>) -> u64 {
    let most = match state.options.until {
        WorkerEnd::Once => 1,
        WorkerEnd::Never | WorkerEnd::Drained => state.options.slots,
    };
    let running = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
    let free = most.saturating_sub(running);
    if free == 0 {
        return 0;
    }
    let request = ClaimRequest {
        worker: state.id.clone(),
        labels: state.options.labels.clone(),
        limit: free,
        lease: state.options.lease,
        nonce: fresh_nonce(),
    };
    // The lease counts from before the first request: one that is repeated gives the same tickets with the same lease.
    let sent = BootTime::now();
    // A worker that is told to end does not wait for a store that is away.
    let may_claim = || *state.stop.borrow() == WorkerStop::None;
    let claim = || state.store.claim(&request);
    let claims = patience::while_leased(sent, state.options.lease, may_claim, claim);
    let Ok(claims) = claims.await else { return 0 };
    let mut started = 0;
    for claim in claims {
        state.metrics.note_claimed(claim.waited);
        let held = HeldTicket::new(claim.claimed_term(), sent.after(state.options.lease_time()));
        let held = state.held.insert(held);
        let task = AttemptTask::new(Arc::clone(state), held, claim);
        attempts.spawn(task.run());
        started += 1;
    }
    started
}

impl WorkerOptions {
    /// How long after a request the agent must be gone: before the lease ends, so that its processes are dead when another worker
    /// may claim the ticket.
    pub(crate) fn lease_time(&self) -> Duration {
        const MARGIN: Duration = Duration::from_secs(10);
        self.lease.saturating_sub(MARGIN.min(self.lease / 3))
    }

    /// The time between heartbeats.
    pub(crate) fn heartbeat(&self) -> Duration {
        self.lease / 6
    }
}
