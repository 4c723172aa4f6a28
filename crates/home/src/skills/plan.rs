//! What is to be moved from a desk to its place, written down, so that somebody else can finish it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A plan with more is not ours.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// One skill that was made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Step {
    /// What it is to be called.
    pub(super) name: String,
    /// By what the disk knows it. When it is exchanged for another, that one lies where it was made, and is not this.
    id: Option<u64>,
}

impl Step {
    pub(super) fn new(name: String, made: &Path) -> io::Result<Self> {
        let id = id(&fs::symlink_metadata(made)?);
        Ok(Self { name, id })
    }

    /// Whether it still lies where it was made.
    pub(super) fn waits_at(&self, made: &Path) -> bool {
        fs::symlink_metadata(made).is_ok_and(|about| id(&about) == self.id)
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn id(about: &fs::Metadata) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(about.ino())
}

/// Nothing is exchanged here: whatever lies where it was made is what was made.
#[cfg(not(unix))]
fn id(_: &fs::Metadata) -> Option<u64> {
    None
}

/// Writes a plan, whole or not at all.
pub(super) fn write(path: &Path, steps: &[Step]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, serde_json::to_vec(steps)?)?;
    fs::rename(draft, path)
}

/// None if there is no plan, or none that can be read.
pub(super) fn read(path: &Path) -> Option<Vec<Step>> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    let mut bytes = Vec::new();
    let file = is_file.then(|| File::open(path))?.ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
