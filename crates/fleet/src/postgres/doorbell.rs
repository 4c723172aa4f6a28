//! The doorbell: notifies listeners of changes, at most ten times a second.
//!
//! `PostgreSQL` takes a lock on the whole database at each commit that notifies, which costs two thirds of the rate of appends.
//! So statements that change rows do not notify. Changes are collected, and a separate statement announces all of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::pool::{PooledSession, PostgresFault, SessionPool, on_session};
use crate::{RunId, StoreChanges, StoreError};

/// The channel of notifications.
pub(super) const CHANNEL: &str = "lapidary";

/// The pause after each ring.
const PAUSE: Duration = Duration::from_millis(100);

/// `PostgreSQL` takes 7,999 bytes. A longer message is replaced by `*`, which announces every kind of change.
const LONGEST_PAYLOAD: usize = 7_900;

/// How long [`NotifyDoorbell::flush`] waits. Listeners poll as well.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Changes that were not announced yet.
#[derive(Debug, Default)]
struct PendingChanges {
    words: BTreeSet<String>,
    /// How many changes were noted.
    noted: u64,
}

/// Collects changes, and announces them.
#[derive(Debug)]
pub(super) struct NotifyDoorbell {
    shared: Arc<DoorbellState>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct DoorbellState {
    pending: Mutex<PendingChanges>,
    noted: Notify,
    /// How many of the noted changes were announced.
    announced: watch::Sender<u64>,
}

impl NotifyDoorbell {
    /// Starts the task that announces. It ends with the doorbell.
    pub(super) fn start(pool: Arc<SessionPool>) -> Self {
        let shared = Arc::new(DoorbellState {
            pending: Mutex::default(),
            noted: Notify::new(),
            announced: watch::Sender::new(0),
        });
        let task = tokio::spawn(announce(Arc::clone(&shared), pool));
        Self { shared, task }
    }

    /// Tickets may wait.
    pub(super) fn note_queue(&self) {
        self.note("q");
    }

    /// Workers have orders.
    pub(super) fn note_orders(&self) {
        self.note("o");
    }

    /// Tickets began or ended.
    pub(super) fn note_states(&self) {
        self.note("s");
    }

    /// A log grew.
    pub(super) fn note_run(&self, run: &RunId) {
        self.note(run.as_str());
    }

    fn note(&self, word: &str) {
        let mut pending = self.shared.lock();
        if !pending.words.contains(word) {
            pending.words.insert(word.to_owned());
        }
        pending.noted += 1;
        drop(pending);
        self.shared.noted.notify_one();
    }

    /// Waits until all noted changes are announced.
    pub(super) async fn flush(&self) {
        let noted = self.shared.lock().noted;
        let mut announced = self.shared.announced.subscribe();
        let done = announced.wait_for(|announced| *announced >= noted);
        let _ = timeout(FLUSH_TIMEOUT, done).await;
    }
}

impl Drop for NotifyDoorbell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl DoorbellState {
    fn lock(&self) -> std::sync::MutexGuard<'_, PendingChanges> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn announce(shared: Arc<DoorbellState>, pool: Arc<SessionPool>) {
    loop {
        shared.noted.notified().await;
        let (words, noted) = {
            let mut pending = shared.lock();
            (std::mem::take(&mut pending.words), pending.noted)
        };
        if !words.is_empty() {
            let payload = payload(&words);
            // Without the notification, listeners find the change by polling.
            let _ = ring(&pool, &payload).await;
        }
        shared.announced.send_replace(noted);
        sleep(PAUSE).await;
    }
}

/// Notifies all listeners.
pub(super) async fn ring(pool: &SessionPool, payload: &str) -> Result<(), StoreError> {
    on_session!(pool, notify, payload).await
}

/// Notifies without a wait for the disk, during which the lock of the database would be held. If a crash loses the notification,
/// listeners find the change by polling.
async fn notify(session: &mut PooledSession, payload: &str) -> Result<(), PostgresFault> {
    let query = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
    session.query(query, &[&CHANNEL, &payload]).await?;
    Ok(())
}

fn payload(words: &BTreeSet<String>) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let payload = words.join(",");
    match payload.len() {
        ..=LONGEST_PAYLOAD => payload,
        _ => "*".to_owned(),
    }
}

/// Adds the changes of a payload.
pub(super) fn read_payload(payload: &str, changes: &mut StoreChanges) {
    for word in payload.split(',') {
        match word {
            "q" => changes.queue = true,
            "o" => changes.orders = true,
            "s" => changes.states = true,
            "*" => *changes = StoreChanges::everything(),
            run => {
                if let Ok((ticket, term)) = RunId::parse(run) {
                    changes.runs.push(RunId::new(&ticket, term));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_reads_back_and_a_long_one_is_everything() {
        let run = RunId::new(&crate::TicketId::fresh(), 3);
        let mut words: BTreeSet<String> = ["q", "o", run.as_str()].map(str::to_owned).into();
        let mut changes = StoreChanges::default();
        read_payload(&payload(&words), &mut changes);
        let expected = StoreChanges {
            queue: true,
            orders: true,
            runs: vec![run],
            ..StoreChanges::default()
        };
        assert_eq!(changes, expected);
        words.extend((1..400).map(|term| RunId::new(&crate::TicketId::fresh(), term).to_string()));
        let mut changes = StoreChanges::default();
        read_payload(&payload(&words), &mut changes);
        assert_eq!(changes, StoreChanges::everything());
    }
}
