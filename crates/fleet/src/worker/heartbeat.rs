//! The heartbeat: one statement that extends the leases of all tickets of a worker, and brings cancellations and answers.

use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::process::BootTime;
use tokio::time::sleep;

use super::patience::{self, request};
use super::{WorkerState, WorkerStop};
use crate::{HeartbeatReply, StoreError, WorkerHeartbeat};

/// How often leases are checked between heartbeats: the store may be out of reach.
const LEASE_LOOK: Duration = Duration::from_secs(1);

/// Sends heartbeats until the store does not know this worker any more. A failed heartbeat does not tell which worker holds a
/// ticket: it is repeated, and the leases go on until their end.
pub(super) async fn keep_leases(state: Arc<WorkerState>) -> StoreError {
    let mut next = BootTime::now().after(state.options.heartbeat());
    loop {
        // Both futures are cancellation-safe.
        let is_ordered = tokio::select! {
            () = state.orders.notified() => true,
            () = sleep(next.left().min(LEASE_LOOK)) => false,
        };
        for held in state.held.all() {
            held.check_lease();
        }
        if !is_ordered && !next.left().is_zero() {
            continue;
        }
        let pause = match send_heartbeat(&state).await {
            Ok(()) => state.options.heartbeat(),
            Err(error @ StoreError::UnknownWorker { .. }) => return error,
            Err(_) => patience::PAUSE,
        };
        next = BootTime::now().after(pause);
    }
}

async fn send_heartbeat(state: &WorkerState) -> Result<(), StoreError> {
    let held = state.held.all().into_iter();
    let held = held.filter(|held| !held.is_lost());
    let heartbeat = WorkerHeartbeat {
        worker: state.id.clone(),
        held: held.map(|held| held.claimed.clone()).collect(),
        lease: state.options.lease,
        draining: *state.stop.borrow() != WorkerStop::None,
    };
    // The store may have carried the request out at once, so the lease counts from this moment.
    let sent = BootTime::now();
    let reply = request(state.store.heartbeat(&heartbeat), state.options.heartbeat()).await?;
    state.metrics.note_heartbeat();
    apply_reply(state, sent, reply);
    Ok(())
}

fn apply_reply(state: &WorkerState, sent: BootTime, reply: HeartbeatReply) {
    let until = sent.after(state.options.lease_time());
    for kept in reply.kept {
        let Some(held) = state.held.get(&kept.claimed) else {
            continue; // its attempt has ended meanwhile
        };
        held.renew(until);
        if let Some(order) = kept.cancel {
            held.cancel(order);
        }
    }
    for lost in reply.lost {
        if let Some(held) = state.held.get(&lost) {
            held.lose();
        }
    }
    for answer in reply.answers {
        let mut held = state.held.all().into_iter();
        if let Some(held) = held.find(|it| it.claimed.run() == answer.run) {
            held.answer(answer);
        }
    }
}
