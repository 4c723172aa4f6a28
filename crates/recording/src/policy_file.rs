//! A policy for the agent to read lies beside the recording, in a directory of its own, until the run is over.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fresh_file;
use super::side_directory::{POLICY_ENDING, SideDirectory};

/// A file with a policy for the agent. It goes when the last of these is dropped.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    directory: Arc<SideDirectory>,
}

impl PolicyFile {
    /// Where the file of a run is, once it is written.
    pub fn path(root: &Path, run: &str, name: &str) -> PathBuf {
        root.join(format!("{run}{POLICY_ENDING}")).join(name)
    }

    /// Writes it. Its directory must not be there yet.
    pub fn write(file: &Path, text: &str) -> io::Result<Self> {
        let path = file.parent().unwrap_or(Path::new("")).to_owned();
        let directory = Arc::new(SideDirectory::create(path)?);
        fresh_file(file)?.write_all(text.as_bytes())?;
        Ok(Self { directory })
    }

    /// Writes another file for the agent into the same directory.
    pub fn add_file(&self, name: &str, text: &str) -> io::Result<()> {
        let file = self.directory.path().join(name);
        fresh_file(&file)?.write_all(text.as_bytes())
    }
}
