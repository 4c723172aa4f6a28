//! A private directory beside a recording, for files that the agent needs until the run is over.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{TIMING, fresh_file};
use lapidary_process::platform::private_directory;

/// The suffix of the directory with a policy for the agent, behind the id of the run.
pub(super) const POLICY_ENDING: &str = ".policy";
/// The suffix of the directory with the sockets of the tool `submit_result`.
const ANSWERS_ENDING: &str = ".answers";

/// Whether a directory with this name lies beside a recording.
pub(super) fn is_side_directory(name: &str) -> bool {
    name.ends_with(POLICY_ENDING) || name.ends_with(ANSWERS_ENDING)
}

/// A private directory. It goes when this is dropped.
#[derive(Debug)]
pub struct SideDirectory {
    path: PathBuf,
    /// Held, not read: as long as it is, the directory is not cleaned up.
    _lock: File,
}

impl SideDirectory {
    /// Makes the directory for the answers that the agent of a run hands over. It must not be there yet.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create_for_answers(root: &Path, run: &str) -> io::Result<Self> {
        Self::create(root.join(format!("{run}{ANSWERS_ENDING}")))
    }

    /// Makes the directory. The empty `timing` makes it a recording for the clean-up, and its lock one that is being made.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        if let Some(root) = path.parent() {
            super::private_directories(root)?;
        }
        private_directory().create(&path)?;
        let lock = fresh_file(&path.join(TIMING))?;
        lock.try_lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SideDirectory {
    fn drop(&mut self) {
        // A directory that cannot be deleted now is cleaned up as old recordings are.
        let _ = fs::remove_dir_all(&self.path);
    }
}
