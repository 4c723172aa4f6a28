//! The order of commands. A session has one turn at a time: a prompt waits for the prompt before it, and for settings before it.
//! A command that names no session waits until all sessions that are being opened are open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard, RwLock, watch};
use tokio_util::sync::CancellationToken;

use super::results::CommandError;

/// The error of a prompt whose session is closed.
const CLOSED: &str = "the session was closed before the turn was over";

/// The error of a prompt that waits when its session is interrupted.
const INTERRUPTED: &str = "interrupted before the agent was given it";

/// The queues of all sessions.
#[derive(Debug, Default)]
pub(crate) struct SessionQueues {
    by_session: Lock<HashMap<String, Arc<SessionQueue>>>,
    /// Held while a session is being opened.
    pub(crate) opening: Mutex<()>,
    interrupts: AtomicU64,
}

/// The queue of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionQueue {
    /// Held for a turn. The first command that waits gets it first.
    turn: Arc<Mutex<()>>,
    /// Held for reading by commands that change a setting.
    pub(crate) settings: RwLock<()>,
    interrupts: watch::Sender<u64>,
    /// Whether the first prompt was given.
    pub(crate) has_begun: AtomicBool,
    /// The session is forgotten.
    closed: CancellationToken,
}

/// How often all sessions had been interrupted when a command came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InterruptEpoch(u64);

impl SessionQueues {
    pub(crate) fn queue_for(&self, session: &str) -> Arc<SessionQueue> {
        let mut queues = self
            .by_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(queues.entry(session.to_owned()).or_default())
    }

    /// Gives up the commands in the queue of a session.
    pub(crate) fn forget_session(&self, session: &str) {
        let mut queues = self
            .by_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.remove(session) {
            queue.closed.cancel();
        }
    }

    pub(crate) fn current_epoch(&self) -> InterruptEpoch {
        InterruptEpoch(self.interrupts.load(Ordering::SeqCst))
    }

    /// Prompts that came before this are not given any more, in any session.
    pub(crate) fn interrupt_all(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
    }

    /// The turn of a session, for a command of that epoch. No other command has the turn while it is held.
    pub(crate) async fn wait_for_turn(
        &self,
        session: &str,
        came: InterruptEpoch,
    ) -> Result<OwnedMutexGuard<()>, CommandError> {
        let queue = self.queue_for(session);
        let before = *queue.interrupts.borrow();
        let turn = Arc::clone(&queue.turn).lock_owned().await;
        drop(queue.settings.write().await);
        if queue.closed.is_cancelled() {
            return Err(CLOSED.into());
        }
        let is_interrupted =
            self.current_epoch().0 != came.0 || *queue.interrupts.borrow() != before;
        if is_interrupted {
            return Err(INTERRUPTED.into());
        }
        Ok(turn)
    }
}

impl SessionQueue {
    /// Prompts that wait here are not given any more.
    pub(crate) fn interrupt_waiting(&self) {
        self.interrupts.send_modify(|interrupts| *interrupts += 1);
    }

    /// Waits for `does`, unless the session is interrupted or closed meanwhile, which drops it.
    pub(crate) async fn unless_interrupted<T>(
        &self,
        does: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        let mut interrupts = self.interrupts.subscribe();
        // Each of these can be cancelled.
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(CLOSED.into()),
            _ = interrupts.changed() => Err(INTERRUPTED.into()),
            done = does => Ok(done),
        }
    }

    /// Waits for `does`, unless the session is closed meanwhile, which drops it.
    pub(crate) async fn unless_closed<T>(
        &self,
        does: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        tokio::select! {
            biased;
            done = does => Ok(done),
            () = self.closed.cancelled() => Err(CLOSED.into()),
        }
    }

    /// Waits until earlier turns are over. Can be cancelled.
    pub(crate) async fn wait_until_free(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }
}
