//! The lock on the state directory: one server changes it, further ones only read.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use lapidary::engine::recording::private_file;
use serde_json::{Value, json};

use crate::access_token::write_private;

/// The server that may change the state directory. The system releases the lock when the process ends.
#[derive(Debug)]
pub(crate) struct StateLock {
    _file: File,
    note: PathBuf,
}

impl StateLock {
    /// Takes the lock. None if another server has it.
    pub(crate) fn take(directory: &Path) -> io::Result<Option<Self>> {
        let file = private_file(&directory.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                _file: file,
                note: directory.join(NOTE),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Leaves a note with the address, for servers that find the lock taken.
    pub(crate) fn note_address(&self, directory: &Path, url: &str) -> io::Result<()> {
        let text = json!({"url": url, "pid": std::process::id()});
        write_private(directory, &self.note, format!("{text}\n").as_bytes())
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.note); // it was not written yet
    }
}

const NOTE: &str = "server.json";

/// The address of the server that has the lock, if it has left it.
pub(crate) fn owner_url(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(directory.join(NOTE)).ok()?;
    let note: Value = serde_json::from_str(&text).ok()?;
    note["url"].as_str().map(str::to_owned)
}
