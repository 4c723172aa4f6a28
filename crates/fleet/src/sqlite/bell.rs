//! Change counts in the row of the fleet. A transaction that concerns other connections raises them, and listeners poll them.
//!
//! The data version of `SQLite` changes with every commit. A worker that acted on it would answer each heartbeat of another
//! worker with one of its own, without end.

use rusqlite::{Connection, Transaction};

use crate::StoreChanges;

/// The kinds of change that a transaction announces.
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

/// Raises the counts, in the transaction that makes the change.
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

    /// The changes since an earlier reading. Logs have no count: any of them may have grown.
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
