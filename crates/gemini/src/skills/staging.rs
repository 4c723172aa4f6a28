//! The staging directory: hidden, beside the skills, where they are made.
//!
//! No reader sees half a skill: each is made here and takes its place in one step. Where two directories cannot be exchanged in
//! one call, the replaced skill waits in [`OLD`] between two renames. If a process is killed there, the next one moves the
//! replaced skill back ([`recover`](super::recover())). So each skill is the old or the new one.

/// A skill that was installed, linked or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSkill {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub location: PathBuf,
    /// Whether a skill of that name was there before.
    pub replaced: bool,
}

#[cfg(test)]
mod failing;
mod moves;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::failure::{InstallError, io_error_at};
use crate::lock;
use crate::owned_dir::{self, OwnedDir};
use moves::{MoveDisk, REAL, SkillMove};

/// How the name of a staging directory begins.
const DESK: &str = ".lapidary-";
/// The directory for replaced skills, on disks that cannot exchange two directories. Each has its own name there.
const OLD: &str = "old";

/// A staging directory, and the lock of the directory of skills that it lies in: one process at a time works there.
pub(super) struct StagingDir {
    target: PathBuf,
    directory: OwnedDir,
    /// It has the only copy of a skill.
    is_needed: bool,
    _lock: SkillsLock,
}

/// A directory of skills, locked against other processes.
pub(super) struct SkillsLock {
    target: PathBuf,
    /// `None` where directories cannot be opened: then processes do not wait for each other, and no staging directory is known to
    /// be abandoned.
    held: Option<File>,
}

impl SkillsLock {
    /// Two who install at once take turns: the directory itself is locked, so that nothing is left behind.
    pub(super) fn wait_for_lock(
        target: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, InstallError> {
        let held = File::open(target).ok();
        if let Some(directory) = &held {
            let attempt = || {
                if is_stopped() {
                    let interrupted = io::ErrorKind::Interrupted.into();
                    return Err(TryLockError::Error(interrupted));
                }
                directory.try_lock()
            };
            match lock::wait(lock::PATIENCE, attempt) {
                Ok(true) => {}
                Ok(false) => return Err(InstallError::Busy(target.to_owned())),
                Err(_) if is_stopped() => return Err(InstallError::Stopped),
                Err(error) => return Err(io_error_at(target)(error)),
            }
        }
        Ok(Self {
            target: target.to_owned(),
            held,
        })
    }

    /// The staging directories of killed processes. The owner of one holds the lock while it works; we hold it now, so no owner
    /// lives. Those whose owner was killed before the mark was written, or after it was removed, go at once.
    pub(super) fn abandoned_staging(&self) -> Vec<PathBuf> {
        if self.held.is_none() {
            return Vec::new();
        }
        let entries = fs::read_dir(&self.target).into_iter().flatten().flatten();
        let mut desks: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        for path in &desks {
            owned_dir::sweep(path, DESK);
        }
        desks.retain(|path| is_desk(path));
        desks.sort();
        desks
    }

    /// Makes a staging directory.
    pub(super) fn make_staging(self) -> Result<StagingDir, InstallError> {
        let directory = OwnedDir::make(&self.target, DESK).map_err(io_error_at(&self.target))?;
        match directory.mark() {
            // On a full disk go on without a mark: removing a skill makes room and needs none.
            Err(error) if error.kind() != io::ErrorKind::StorageFull => {
                let _ = directory.clear();
                return Err(io_error_at(directory.path())(error));
            }
            _ => {}
        }
        Ok(StagingDir {
            target: self.target.clone(),
            directory,
            is_needed: false,
            _lock: self,
        })
    }
}

/// Ours, and no other directory that is called so.
pub(super) fn is_desk(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(DESK.as_bytes()) && owned_dir::is_ours(path)
}

/// Moves the replaced skills of a staging directory back whose places are empty, then removes it. Returns their names.
pub(super) fn settle_staging(target: &Path, desk: &OwnedDir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let old = desk.path().join(OLD);
    for entry in fs::read_dir(&old).into_iter().flatten() {
        let name = entry?.file_name();
        let place = target.join(&name);
        if !moves::path_exists(&place)? {
            (REAL.rename)(&old.join(&name), &place)?;
            names.push(name.to_string_lossy().into_owned());
        }
    }
    desk.clear()?;
    Ok(names)
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        if !self.is_needed {
            let _ = settle_staging(&self.target, &self.directory);
        }
    }
}

impl StagingDir {
    pub(super) fn inner_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the skill of that number is made.
    pub(super) fn made_path(&self, number: usize) -> PathBuf {
        self.inner_path(&format!("new-{number}"))
    }

    /// Moves the made skills to their places, in the order of the names. If one cannot be moved, the ones before it are moved
    /// back.
    pub(super) fn place_skills(self, names: &[String]) -> Result<Vec<PlacedSkill>, InstallError> {
        self.put_with(names, REAL)
    }

    fn put_with(
        mut self,
        names: &[String],
        disk: MoveDisk<'_>,
    ) -> Result<Vec<PlacedSkill>, InstallError> {
        let mut done: Vec<SkillMove> = Vec::new();
        for mut step in self.move_steps(names) {
            match step.move_forward(disk) {
                Ok(()) => done.push(step),
                Err(error) => return Err(self.undo_moves(done, step.refusal_error(error), disk)),
            }
        }
        self.clear()?;
        Ok(placed_skills(&self.target, names, &done))
    }

    /// Removes the staging directory, and with it the replaced or removed skills.
    pub(super) fn clear(&self) -> Result<(), InstallError> {
        let settled = settle_staging(&self.target, &self.directory);
        let left = |source| InstallError::Left {
            path: self.directory.path().to_owned(),
            source,
        };
        settled.map(drop).map_err(left)
    }

    /// Only the last one of two skills with one name is ever seen.
    fn move_steps(&self, names: &[String]) -> Vec<SkillMove> {
        let last: HashMap<&String, usize> = names.iter().zip(0..).collect();
        let numbered = names.iter().enumerate();
        let seen = numbered.filter(|(number, name)| last.get(name) == Some(number));
        seen.map(|(number, name)| SkillMove {
            name: name.clone(),
            made: self.made_path(number),
            place: self.target.join(name),
            aside: self.inner_path(OLD).join(name),
            was: None,
        })
        .collect()
    }

    /// Takes steps back, the last one first.
    fn undo_moves(
        &mut self,
        done: Vec<SkillMove>,
        source: InstallError,
        disk: MoveDisk<'_>,
    ) -> InstallError {
        let steps = done.into_iter().rev();
        let stuck = steps.filter(|step| step.move_back(disk).is_err());
        let new: Vec<String> = stuck.map(|step| step.name).collect();
        if new.is_empty() {
            return source;
        }
        self.is_needed = true;
        InstallError::Stuck {
            new,
            path: self.directory.path().to_owned(),
            source: Box::new(source),
        }
    }
}

/// One result per name. It counts as replaced if a skill of that name was there, or comes earlier in `names`.
fn placed_skills(target: &Path, names: &[String], steps: &[SkillMove]) -> Vec<PlacedSkill> {
    let steps = steps.iter().filter(|step| step.was.is_some());
    let mut there: HashSet<&str> = steps.map(|step| step.name.as_str()).collect();
    let one = |name: &String| PlacedSkill {
        name: name.clone(),
        location: target.join(name),
        replaced: false,
    };
    let mut all: Vec<PlacedSkill> = names.iter().map(one).collect();
    for (placed, name) in all.iter_mut().zip(names) {
        placed.replaced = !there.insert(name);
    }
    all
}
