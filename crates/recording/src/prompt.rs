//! A prompt that is too long for the agent's stdin lies beside the recording, in a directory of its own.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PROMPT, TIMING, fresh_file};
use lapidary_process::platform::private_directory;

/// A directory that holds a prompt for the agent to read. While this value lives, no clean-up removes it.
#[derive(Debug, Clone)]
pub struct PromptDirectory {
    path: PathBuf,
    /// Held, not read.
    _lock: Arc<File>,
}

impl PromptDirectory {
    /// Makes the directory, which must not be there yet.
    pub fn create(path: &Path, text: &str) -> io::Result<Self> {
        private_directory().create(path)?;
        Self::fill_directory(path, text).inspect_err(|_| {
            // It is ours, and half a prompt is none.
            let _ = fs::remove_dir_all(path);
        })
    }

    /// The empty `timing` makes it a recording for the clean-up, and its lock marks it as unfinished.
    fn fill_directory(path: &Path, text: &str) -> io::Result<Self> {
        let lock = fresh_file(&path.join(TIMING))?;
        lock.try_lock()?;
        let directory = Self {
            path: path.to_owned(),
            _lock: Arc::new(lock),
        };
        fresh_file(&directory.file())?.write_all(text.as_bytes())?;
        Ok(directory)
    }

    /// Deletes it.
    pub fn discard(&self) {
        // A directory that cannot be deleted now is cleaned up as old recordings are.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The prompt in it.
    pub fn file(&self) -> PathBuf {
        self.path.join(PROMPT)
    }
}
