//! What changed in the file, for those who poll it: counts in the row of the fleet, which transactions that are news for others raise.
//!
//! The data version of `SQLite` says only that something was committed. A worker that acted on that would send heartbeats because of
//! the heartbeats of others, for ever.

use rusqlite::{Connection, Transaction};

use crate::StoreChanges;

/// What a transaction changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreBell {
    /// Tickets may wait.
    Queue,
    /// Tickets began, or prompts are open.
    States,
    /// Tickets ended, or wait again: both of the above.
    Fates,
    /// Workers have orders.
    Orders,
    /// A ticket was cancelled: it may have ended, or its worker has an order.
    Cancels,
}

/// Raises the counts, in a transaction that changed something.
pub(super) fn ring(transaction: &Transaction<'_>, bell: StoreBell) -> rusqlite::Result<()> {
    let (queue, orders, states) = match bell {
        StoreBell::Queue => (true, false, false),
        StoreBell::States => (false, false, true),
        StoreBell::Fates => (true, false, true),
        StoreBell::Orders => (false, true, false),
        StoreBell::Cancels => (false, true, true),
    };
    let update = "update fleet set queue_changes = queue_changes + ?1, order_changes = order_changes + ?2, \
        state_changes = state_changes + ?3";
    let mut update = transaction.prepare_cached(update)?;
    update.execute((queue, orders, states))?;
    Ok(())
}

/// The counts at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangeCounts {
    queue: i64,
    orders: i64,
    states: i64,
}

impl ChangeCounts {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let query = "select queue_changes, order_changes, state_changes from fleet";
        let mut query = connection.prepare_cached(query)?;
        query.query_row([], |row| {
            Ok(Self {
                queue: row.get(0)?,
                orders: row.get(1)?,
                states: row.get(2)?,
            })
        })
    }

    /// What changed since then. Logs have no count: any may have grown.
    pub(super) fn since(self, earlier: Self) -> StoreChanges {
        StoreChanges {
            queue: self.queue != earlier.queue,
            orders: self.orders != earlier.orders,
            states: self.states != earlier.states,
            runs: Vec::new(),
            all_runs: true,
        }
    }
}
