//! The vault: copies of session files that only Lapidary touches, and the means to put them back.
//!
//! Gemini CLI 0.61 destroys conversations: a session resumed in a later minute leaves a content-free stub with the same short id,
//! and the next start deletes every file of that short id; one loaded in the minute in which it was made is cut down to its
//! context. So the files are copied before an agent starts ([`Guard::before`]), held by a second name while it runs ([`SessionHolding`]),
//! and missing ones are put back afterwards ([`Guard::after`]).
//!
//! ```text
//! vault/blobs/ab/<sha256>            a content, named by its SHA-256; never changed, never a hard link (the CLI appends in place)
//! vault/snapshots/<time>-<8>.json    which file had which content when ([`Snapshot`])
//! vault/cache/<project>.json         what an unchanged file was known to hold, so that it costs a look and no reading
//! vault/cache/<project>.gone.json    the newest content of each session whose file is gone, so that a list need not read every snapshot
//! vault/within/<sha256>              the content that a content is the beginning of, where only that one is still kept
//! vault/open-guards/<8>.json         runs that are not over: whoever finds one whose process is gone finishes it
//! vault/tombstones/<sha256>.json     what was removed on purpose, and when
//! vault/sequence                     how many snapshots were written
//! vault/lock                         shared by who adds, exclusive to who prunes
//! vault/overtaken                    somebody did not wait for a prune any longer, which therefore ends
//! ```
//!
//! Everything is written under a temporary name, synced and renamed, contents before the snapshot that names them: a crash
//! leaves at most a temporary file or a content that no snapshot names.

mod add;
mod agent_copies;
mod blobs;
mod cache;
mod content_prefix;
mod error;
mod guard;
mod held;
mod lost_sessions;
mod open;
mod prune;
mod rebuild;
pub mod recover;
mod replay;
mod restore;
mod runs;
mod session_files;
mod snapshot;
mod stat;
mod tombstones;
mod verify;

pub use crate::content_facts::ContentFacts;
pub use add::{AddRequest, AddedFiles};
pub use agent_copies::{AgentCopyRequest, DEFAULT_MOST_BYTES, DeletedSession};
pub use error::VaultError;
pub(crate) use guard::project_of;
pub use guard::{
    Guard, GuardAction, GuardRequest, RepairKind, RetentionSettings, SessionRepair, summary,
};
pub use held::SessionHolding;
pub use prune::{PruneRequest, PruneResult};
pub use restore::{BroughtBack, ChosenFiles, RestoreMethod, RestoreTarget};
pub use runs::SessionClaim;
pub use session_files::{FlawKind, GatherFlaw, files_of, session_files};
pub use snapshot::{SCHEMA, Snapshot, SnapshotEntry, SnapshotHistory};
pub use tombstones::RemovedItem;
pub use verify::VaultVerdict;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use error::ErrorContext as _;

/// A vault in a directory, which is made with the first addition.
#[derive(Debug, Clone)]
pub struct Vault {
    dir: PathBuf,
    /// Called before each step that changes the disk: tests end the process there.
    step: fn(&'static str),
    /// How long to wait for the lock.
    patience: Duration,
}

impl Vault {
    /// The vault in this directory.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        let step = |_| {};
        Self {
            dir: dir.into(),
            step,
            patience: guard::lock::PATIENCE,
        }
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Calls this before each step that changes the disk. For tests that crash there.
    #[doc(hidden)]
    #[must_use]
    pub fn on_step(mut self, step: fn(&'static str)) -> Self {
        self.step = step;
        self
    }

    /// Sets how long to wait for the lock, for tests that would wait too long.
    #[doc(hidden)]
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    fn announce_step(&self, name: &'static str) {
        (self.step)(name);
    }

    fn blobs_dir(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    fn snapshots_dir(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    fn caches_dir(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// Makes the directories, accessible only to their owner.
    fn make_directories(&self) -> Result<(), VaultError> {
        self.announce_step("make the directories");
        for folder in [
            self.dir.clone(),
            self.blobs_dir(),
            self.snapshots_dir(),
            self.caches_dir(),
        ] {
            make_private(&folder)?;
        }
        Ok(())
    }

    /// Takes the lock for adding: nothing is pruned meanwhile. The flaw reports a prune that held the lock for too long.
    fn lock_shared(&self) -> Result<(File, Option<GatherFlaw>), VaultError> {
        let lock = self.lock_file()?;
        if guard::lock::wait(self.patience, || lock.try_lock_shared()).at("lock", &self.dir)? {
            return Ok((lock, None));
        }
        // A process that prunes for so long is more likely stopped than at work, and keeping sessions matters more than disk
        // space. If it continues after all, it finds this file and removes nothing more.
        let path = self.overtaken_path();
        fs::write(&path, "").at("write", &path)?;
        let path = self.dir.join("lock");
        let kind = FlawKind::Held;
        Ok((lock, Some(GatherFlaw { path, kind })))
    }

    /// Takes the lock for reading. None if the vault does not exist, is not writable, or is locked for too long.
    fn share_where_it_is(&self) -> Option<File> {
        let lock = self.lock_file().ok()?;
        let is_ours = guard::lock::wait(self.patience, || lock.try_lock_shared()).ok()?;
        is_ours.then_some(lock)
    }

    /// Takes the lock for pruning: no other process adds or prunes meanwhile.
    fn lock_exclusive(&self) -> Result<File, VaultError> {
        let lock = self.lock_file()?;
        if guard::lock::wait(self.patience, || lock.try_lock()).at("lock", &self.dir)? {
            let _ = fs::remove_file(self.overtaken_path());
            return Ok(lock);
        }
        let held = std::io::Error::other("another process is using it");
        Err(held).at("lock", &self.dir)
    }

    /// The file that an addition leaves when it stops waiting for a prune.
    fn overtaken_path(&self) -> PathBuf {
        self.dir.join("overtaken")
    }

    fn lock_file(&self) -> Result<File, VaultError> {
        let path = self.dir.join("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(&path).at("open", &path)
    }
}

fn make_private(folder: &Path) -> Result<(), VaultError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).at("make", folder)
}
