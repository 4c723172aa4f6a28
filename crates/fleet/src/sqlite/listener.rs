//! Changes of a `SQLite` file, found by polling its data version: a number in memory that other connections' commits change. The
//! counts of `bell` tell the kinds of change.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tokio::time::{MissedTickBehavior, interval};

use super::bell::ChangeCounts;
use super::connection::polling_connection;
use crate::{ChangeListener, ListenFuture, StoreChanges};

/// The pause between two looks at the data version.
const PAUSE: Duration = Duration::from_millis(50);

/// After so many looks without a change of the queue, everything but orders is reported all the same.
const LONGEST_SILENCE: u32 = 40;

/// Polls a file.
#[derive(Debug)]
pub(super) struct DataVersionListener {
    path: PathBuf,
    connection: Option<Connection>,
    seen: Option<SeenState>,
    /// Looks since the queue was reported.
    silence: u32,
}

/// The data version and the counts at the last look.
#[derive(Debug, Clone, Copy)]
struct SeenState {
    version: i64,
    counts: ChangeCounts,
}

impl DataVersionListener {
    pub(super) fn new(path: &Path) -> Self {
        let mut listener = Self {
            path: path.to_owned(),
            connection: None,
            seen: None,
            silence: 0,
        };
        listener.look();
        listener
    }

    /// The changes since the last look. After a failure, the next look reports everything.
    fn look(&mut self) -> Option<StoreChanges> {
        let Ok(found) = self.read_state() else {
            self.connection = None;
            self.seen = None;
            return None;
        };
        let changes = match self.seen {
            None => Some(StoreChanges::everything()),
            Some(seen) if seen.version == found.version => None,
            Some(seen) => Some(found.counts.since(seen.counts)),
        };
        self.seen = Some(found);
        changes
    }

    /// The version is a number in memory that all processes share; the counts are read only if it changed.
    fn read_state(&mut self) -> rusqlite::Result<SeenState> {
        let connection = match &self.connection {
            Some(connection) => connection,
            None => self.connection.insert(polling_connection(&self.path)?),
        };
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let counts = match self.seen {
            Some(seen) if seen.version == version => seen.counts,
            _ => ChangeCounts::read(connection)?,
        };
        Ok(SeenState { version, counts })
    }

    /// The changes to report, if any. After a long time without a change of the queue it reports everything but orders: the
    /// `not_before` of a ticket may have passed. Heartbeats of other workers raise no count, and do not delay that.
    fn report(&mut self) -> Option<StoreChanges> {
        let changes = self.look();
        self.silence += 1;
        if self.silence >= LONGEST_SILENCE {
            self.silence = 0;
            return Some(StoreChanges {
                orders: changes.is_some_and(|changes| changes.orders),
                ..StoreChanges::everything()
            });
        }
        if changes.as_ref().is_some_and(|changes| changes.queue) {
            self.silence = 0;
        }
        changes
    }
}

impl ChangeListener for DataVersionListener {
    fn next(&mut self) -> ListenFuture<'_> {
        Box::pin(async {
            let mut looks = interval(PAUSE);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                if let Some(changes) = self.report() {
                    return changes;
                }
            }
        })
    }

    fn is_live(&self) -> bool {
        true
    }
}
