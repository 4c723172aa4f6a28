//! A floor for the free space: below it a worker claims no ticket.

use std::path::PathBuf;

use lapidary::engine::process::platform::free_space;

/// The least free space for new workspaces.
#[derive(Debug, Clone)]
pub struct DiskFloor {
    directory: PathBuf,
    bytes: u64,
}

impl DiskFloor {
    /// At least so many bytes must be free where the directory is.
    pub fn new(directory: impl Into<PathBuf>, bytes: u64) -> Self {
        Self {
            directory: directory.into(),
            bytes,
        }
    }

    /// How many bytes are free, if they are too few. The directory need not exist yet.
    pub fn shortage(&self) -> Option<u64> {
        let existing = self.directory.ancestors().find(|it| it.exists())?;
        free_space(existing).filter(|free| *free < self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_above_the_disks_size_is_a_shortage_and_none_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("not/yet");
        assert!(DiskFloor::new(&missing, u64::MAX).shortage().is_some());
        assert!(DiskFloor::new(&missing, 0).shortage().is_none());
    }
}
