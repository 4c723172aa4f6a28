//! The heartbeat: one statement that extends the leases of all tickets of a worker, and brings cancellations and answers.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::process::BootTime;
use tokio::time::sleep;

use super::held::HeldTable;
use super::patience::{self, request};
use super::{WorkerNote, WorkerState, WorkerStop};
use crate::{HeartbeatReply, StoreError, WorkerHeartbeat};

/// The longest pause between two looks at the leases. An agent in this process has no supervisor that holds the end of its lease.
const LEASE_LOOK: Duration = Duration::from_secs(1);

/// Keeps leases until the store does not know this worker any more.
pub(super) async fn keep_leases(state: Arc<WorkerState>) -> StoreError {
    while_looking(&state.held, send_heartbeats(&state)).await
}

/// Loses tickets whose leases have ended, also while a heartbeat waits for its answer: the store may be out of reach.
async fn while_looking<T>(held: &HeldTable, heartbeats: impl Future<Output = T>) -> T {
    let looks = async {
        loop {
            let held = held.all();
            for held in &held {
                held.check_lease();
            }
            let kept = held.iter().filter(|held| !held.is_lost());
            let ends = kept.map(|held| held.lease.until().left());
            sleep(ends.min().unwrap_or(LEASE_LOOK).min(LEASE_LOOK)).await;
        }
    };
    tokio::select! {
        ended = heartbeats => ended,
        never = looks => never,
    }
}

/// Sends heartbeats. A failed one does not tell which worker holds a ticket: it is repeated, and the leases go on until their end.
async fn send_heartbeats(state: &WorkerState) -> StoreError {
    let mut next = BootTime::now().after(state.options.heartbeat());
    let mut is_away = false;
    loop {
        // Both futures are cancellation-safe.
        tokio::select! {
            () = state.orders.notified() => {}
            () = sleep(next.left().min(LEASE_LOOK)) => {
                // In steps: `sleep` does not count the time during which the machine sleeps.
                if !next.left().is_zero() {
                    continue;
                }
            }
        }
        let pause = match send_heartbeat(state).await {
            Ok(()) => {
                if mem::take(&mut is_away) {
                    state.tell(WorkerNote::StoreBack);
                }
                state.options.heartbeat()
            }
            Err(error @ StoreError::UnknownWorker { .. }) => return error,
            Err(error) => {
                if !mem::replace(&mut is_away, true) {
                    let reason = match error {
                        StoreError::Unavailable { reason, .. } => reason,
                        error => error.to_string(),
                    };
                    state.tell(WorkerNote::StoreAway { reason });
                }
                patience::PAUSE
            }
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::worker::held::HeldTicket;
    use crate::{ClaimedTerm, TicketId};

    #[tokio::test]
    async fn a_lease_that_ends_while_a_heartbeat_waits_is_lost() {
        let claimed = ClaimedTerm {
            ticket: TicketId::fresh(),
            term: 1,
        };
        let until = BootTime::now().after(Duration::from_millis(20));
        let table = HeldTable::default();
        let held = table.insert(HeldTicket::new(claimed, until));
        let lost = async {
            while !held.is_lost() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        // The answer never comes, and no other one is needed.
        tokio::select! {
            never = while_looking(&table, pending::<()>()) => never,
            () = lost => {}
        }
    }
}
