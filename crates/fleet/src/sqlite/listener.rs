//! Changes of a `SQLite` file, seen by polling its data version: a number in memory that other connections' commits change.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tokio::time::{MissedTickBehavior, interval};

use super::connection::polling_connection;
use crate::{ChangeListener, ListenFuture, StoreChanges};

/// The pause between two looks at the data version.
const PAUSE: Duration = Duration::from_millis(50);

/// After so many looks without a change everything is reported all the same.
const LONGEST_SILENCE: u32 = 40;

/// Polls a file.
#[derive(Debug)]
pub(super) struct DataVersionListener {
    path: PathBuf,
    connection: Option<Connection>,
    version: Option<i64>,
    /// Looks without a change since the last report.
    silence: u32,
}

impl DataVersionListener {
    pub(super) fn new(path: &Path) -> Self {
        let mut listener = Self {
            path: path.to_owned(),
            connection: None,
            version: None,
            silence: 0,
        };
        listener.version = listener.read_version();
        listener
    }

    /// The version: a statement on memory that all processes share, not on the disk.
    fn read_version(&mut self) -> Option<i64> {
        if self.connection.is_none() {
            self.connection = polling_connection(&self.path).ok();
        }
        let connection = self.connection.as_ref()?;
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0));
        if version.is_err() {
            self.connection = None;
        }
        version.ok()
    }

    fn note_change(&mut self) -> bool {
        let version = self.read_version();
        self.silence += 1;
        if version == self.version && self.silence < LONGEST_SILENCE {
            return false;
        }
        self.version = version;
        self.silence = 0;
        true
    }
}

impl ChangeListener for DataVersionListener {
    fn next(&mut self) -> ListenFuture<'_> {
        Box::pin(async {
            let mut looks = interval(PAUSE);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                if self.note_change() {
                    return StoreChanges::everything();
                }
            }
        })
    }

    fn is_live(&self) -> bool {
        true
    }
}
