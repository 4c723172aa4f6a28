//! The moves from a staging directory to the skills' places, written down, so that another process can finish them.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::FILE;
use super::install::check_name;
use super::staging::PLAN;
use crate::owned_dir::{FileIdentity, OwnedDir, nanoseconds};

/// A plan with more is not ours.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// One skill that was made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlanStep {
    /// Where on the desk it was made.
    pub(super) number: usize,
    /// The name that it is installed under.
    pub(super) name: String,
    pub(super) made: KnownFile,
    /// The skill that it replaces, if there was one.
    pub(super) was: Option<KnownFile>,
}

/// A skill as the disk knows it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct KnownFile {
    identity: FileIdentity,
    /// When its `SKILL.md` was written, if it is a directory that has one.
    written: Option<u64>,
}

impl KnownFile {
    /// None if nothing is there.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(about) => Ok(Some(Self {
                identity: FileIdentity::from_metadata(&about),
                written: written(path, &about),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same directory or link; its content may have changed.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.identity.is(&other.identity)
    }

    /// The same, and its `SKILL.md` was not written since.
    pub(super) fn is_unchanged(&self, other: &Self) -> bool {
        self.is(other) && self.written == other.written
    }
}

/// Not through a link: its target is not moved.
fn written(path: &Path, about: &Metadata) -> Option<u64> {
    let file = about.is_dir().then(|| path.join(FILE))?;
    nanoseconds(fs::symlink_metadata(file).ok()?.modified().ok()?)
}

/// Writes the plan of a desk, whole or not at all.
pub(super) fn write(desk: &OwnedDir, steps: &[PlanStep]) -> io::Result<()> {
    let draft = "plan.draft";
    desk.write(draft, &serde_json::to_vec(steps)?)?;
    desk.rename(draft, PLAN)
}

/// None if a desk has no plan. An error says why there is none that can be followed.
pub(super) fn read(desk: &OwnedDir) -> Result<Option<Vec<PlanStep>>, String> {
    let bytes = match desk.read(PLAN, MOST_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(odd) if odd.kind() == io::ErrorKind::InvalidData => {
            return Err(format!("its plan {odd}"));
        }
        Err(error) => return Err(unreadable(&error)),
    };
    let steps: Vec<PlanStep> =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    let mut seen = HashSet::new();
    for step in &steps {
        if check_name(&step.name).is_err() || !seen.insert(&step.name) {
            return Err(format!("its plan has a step for `{}`", step.name));
        }
    }
    Ok(Some(steps))
}

fn unreadable(why: &dyn std::fmt::Display) -> String {
    format!("its plan cannot be read: {why}")
}
