//! Recovery of a staging directory whose owner was killed: a skill that it holds alone moves back, and the directory is removed.

use std::fmt;
use std::path::{Path, PathBuf};

use super::failure::{InstallError, listed_names};
use super::staging::{self, SkillsLock};
use crate::owned_dir::OwnedDir;

/// The result of recovering an install, a link or an uninstall that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredInstall {
    /// The hidden directory that it left.
    pub desk: PathBuf,
    /// Skills that were moved back to their place.
    pub undone: Vec<String>,
    /// Why the hidden directory is still there, if it is.
    pub trouble: Option<String>,
}

/// Removes the leftovers of killed processes in a directory of skills. A caller that is about to change skills does this first,
/// and reports the result. Other files are not touched.
pub fn recover(
    target: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<RecoveredInstall>, InstallError> {
    if !target.is_dir() {
        return Ok(Vec::new());
    }
    let lock = SkillsLock::wait_for_lock(target, is_stopped)?;
    let desks = lock.abandoned_staging().into_iter();
    let held = desks.filter_map(|desk| OwnedDir::find(&desk));
    Ok(held.map(|desk| recover_install(target, &desk)).collect())
}

fn recover_install(target: &Path, desk: &OwnedDir) -> RecoveredInstall {
    let (undone, trouble) = match staging::settle_staging(target, desk) {
        Ok(names) => (names, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    RecoveredInstall {
        desk: desk.path().to_owned(),
        undone,
        trouble,
    }
}

impl fmt::Display for RecoveredInstall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what was interrupted here ")?;
        match &self.trouble {
            Some(why) => write!(f, "is still in `{}`: {why}", self.desk.display()),
            None if self.undone.is_empty() => write!(f, "was cleared away"),
            None => {
                let names = listed_names(&self.undone);
                write!(f, "was undone, and all is as it was before: {names}")
            }
        }
    }
}
