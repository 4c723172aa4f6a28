//! Files that an attempt leaves: its patch, its bundle, its recording.

use crate::{ClaimedTerm, LeaseUse, StoreError};

/// The patch of an attempt: `git diff --binary` against the base, untracked files included.
pub const PATCH_ARTIFACT: &str = "changes.patch";

/// The new commits of an attempt: a git bundle.
pub const BUNDLE_ARTIFACT: &str = "commits.bundle";

/// The names of the files that an attempt changed, as JSON.
pub const FILES_ARTIFACT: &str = "files.json";

/// The largest part of an artifact.
pub const LARGEST_PART: usize = 4 * 1024 * 1024;

/// A part of an artifact. Parts may come in any order and again: the last one of a number counts until the artifact is sealed.
#[derive(Debug, Clone)]
pub struct ArtifactPart {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// The name of the artifact within its attempt.
    pub name: String,
    /// The number of the part, from 0.
    pub part: u32,
    /// At most [`LARGEST_PART`] bytes.
    pub body: Vec<u8>,
    /// Whether the lease is needed.
    pub lease: LeaseUse,
}

impl ArtifactPart {
    /// Refuses parts that are too large.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.body.len() <= LARGEST_PART {
            return Ok(());
        }
        let problem = format!("has {} bytes; {LARGEST_PART} are accepted", self.body.len());
        let field = "artifact part";
        Err(StoreError::BadRequest { field, problem })
    }
}

/// The end of an artifact. Its parts are read back and compared before it counts.
#[derive(Debug, Clone)]
pub struct ArtifactSeal {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// The name of the artifact within its attempt.
    pub name: String,
    /// Its media type, such as `text/x-patch`.
    pub media_type: String,
    /// How many parts it has; 0 for an empty one.
    pub parts: u32,
    /// The hash of all parts in order.
    pub sha256: [u8; 32],
    /// Whether the lease is needed.
    pub lease: LeaseUse,
}

/// An artifact that is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRecord {
    /// Its name within its attempt.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// How many parts it has.
    pub parts: u32,
    /// Its size.
    pub bytes: u64,
    /// Its hash.
    pub sha256: [u8; 32],
}
