//! A policy for the agent to read lies beside the recording, in a directory of its own, until the run is over.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{TIMING, fresh_file};
use lapidary_process::platform::private_directory;

/// The suffix of the directory's name.
pub(super) const POLICY_ENDING: &str = ".policy";

/// A file with a policy for the agent. It goes when the last of these is dropped.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    directory: Arc<PolicyDirectory>,
}

#[derive(Debug)]
struct PolicyDirectory {
    path: PathBuf,
    /// Held, not read: as long as it is, the directory is not cleaned up.
    _lock: File,
}

impl PolicyFile {
    /// Where the file of a run is, once it is written.
    pub fn path(root: &Path, run: &str, name: &str) -> PathBuf {
        root.join(format!("{run}{POLICY_ENDING}")).join(name)
    }

    /// Writes it. Its directory must not be there yet.
    pub fn write(file: &Path, text: &str) -> io::Result<Self> {
        let path = file.parent().unwrap_or(Path::new("")).to_owned();
        if let Some(root) = path.parent() {
            super::private_directories(root)?;
        }
        private_directory().create(&path)?;
        // The empty `timing` makes it a recording for the clean-up, and its lock one that is being made.
        let lock = fresh_file(&path.join(TIMING))?;
        lock.try_lock()?;
        let directory = Arc::new(PolicyDirectory { path, _lock: lock });
        fresh_file(file)?.write_all(text.as_bytes())?;
        Ok(Self { directory })
    }

    /// Writes another file for the agent into the same directory.
    pub fn add_file(&self, name: &str, text: &str) -> io::Result<()> {
        let file = self.directory.path.join(name);
        fresh_file(&file)?.write_all(text.as_bytes())
    }
}

impl Drop for PolicyDirectory {
    fn drop(&mut self) {
        // A directory that cannot be deleted now is cleaned up as old recordings are.
        let _ = fs::remove_dir_all(&self.path);
    }
}
