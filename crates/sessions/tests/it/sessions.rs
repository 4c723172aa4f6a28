//! Recorded sessions: found, listed, removed.

mod delete;
mod delete_peers;
mod list_peers;
mod listed;
mod projects_peers;
mod real;
mod retention;
mod stats;

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use lapidary_gemini::GeminiHome;
use lapidary_sessions::{DeleteError, SelectError, SessionInventory, SessionStore};
use lapidary_testkit::recorded::RecordedHome;

/// The inventory of a home, for the project that it knows.
pub(crate) fn inventory(home: &RecordedHome) -> SessionInventory {
    let store = SessionStore::new(GeminiHome::at(home.home()));
    let project = store.project(&home.project());
    SessionInventory::read(vec![project], SystemTime::now())
}

/// Deletes a session by a name that a user would give.
pub(crate) fn delete(home: &RecordedHome, named: &str) -> Result<(), SelectError> {
    let inventory = inventory(home);
    let going = HashSet::from([inventory.named(named)?]);
    for deletion in inventory.deletions(&going) {
        deletion.carry_out(&mut |_: &Path| Ok(())).unwrap();
    }
    Ok(())
}

pub(crate) fn refuse(_: &Path) -> io::Result<()> {
    Err(io::Error::other("the disk is full"))
}

pub(crate) fn is_changed(errors: &[DeleteError]) -> bool {
    matches!(errors, [DeleteError::Changed { .. }])
}
