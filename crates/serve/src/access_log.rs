//! A line for every request that is not a `GET`: time, method, path and status, never a token or a body.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::json;

/// A longer log is begun anew; the one before stays as `access.log.1`.
const LONGEST_LOG: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct AccessLog {
    path: PathBuf,
    /// Whole lines are written under the lock.
    file: Mutex<File>,
}

impl AccessLog {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("access.log");
        let file = Mutex::new(open_log(&path)?);
        Ok(Self { path, file })
    }

    /// Adds a line. A full disk does not stop the server.
    pub(crate) fn add(&self, method: &str, path: &str, status: u16) {
        let line = json!({"time": Timestamp::now().to_string(), "method": method, "path": path, "status": status});
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata().is_ok_and(|known| known.len() > LONGEST_LOG) {
            let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            if let Ok(fresh) = open_log(&self.path) {
                *file = fresh;
            }
        }
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
