//! The staging directory: hidden, beside the skills, where they are made.
//!
//! No reader sees half a skill: each is made here and moved to its place in one step. The moves are written down before the first
//! one, in the file [`PLAN`]. [`recover`](super::recover()) handles a staging directory whose owner was killed.

#[cfg(test)]
mod meddling;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::copy::CopyTarget;
use super::failure::{InstallError, RollbackFailure, at};
use super::install::PlacedSkill;
use super::plan::{self, KnownFile, PlanStep};
use super::transaction::{self, MoveDisk, SlotState, StagedMoves, StepResult};
use crate::lock;
use crate::owned_dir::{self, OwnedDir};

/// How the name of a desk begins.
const DESK: &str = ".lapidary-";
/// The file with the planned moves.
pub(super) const PLAN: &str = "plan";

/// A desk, and the lock of the directory of skills that it lies in: one at a time works there.
pub(super) struct StagingDir {
    target: PathBuf,
    directory: OwnedDir,
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
    pub(super) fn wait(target: &Path, is_stopped: &dyn Fn() -> bool) -> Result<Self, InstallError> {
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
                Err(error) => return Err(at(target)(error)),
            }
        }
        Ok(Self {
            target: target.to_owned(),
            held,
        })
    }

    /// The staging directories of killed processes. The owner of one holds the lock while it works; we hold it now, so no owner
    /// lives.
    pub(super) fn abandoned(&self) -> Vec<PathBuf> {
        if self.held.is_none() {
            return Vec::new();
        }
        let mut desks = self.entries();
        desks.retain(|path| is_desk(path));
        desks.sort();
        desks
    }

    /// Removes staging directories whose owner was killed before the mark was written, or after it was removed.
    pub(super) fn sweep(&self) {
        let entries = self.held.is_some().then(|| self.entries());
        for path in entries.into_iter().flatten() {
            owned_dir::sweep(&path, DESK);
        }
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.target).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// A desk of one's own.
    pub(super) fn desk(self) -> Result<StagingDir, InstallError> {
        let directory = OwnedDir::make(&self.target, DESK).map_err(at(&self.target))?;
        match directory.mark() {
            // On a full disk go on without a mark: removing a skill makes room and needs none.
            Err(error) if error.kind() != io::ErrorKind::StorageFull => {
                let _ = directory.clear();
                return Err(at(directory.path())(error));
            }
            _ => {}
        }
        Ok(StagingDir {
            target: self.target.clone(),
            directory,
            _lock: self,
        })
    }
}

/// Ours, and no other directory that is called so.
pub(super) fn is_desk(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(DESK.as_bytes()) && owned_dir::is_ours(path)
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        if !self.is_needed() {
            let _ = self.directory.clear();
        }
    }
}

impl StagingDir {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The staging directory as a target for copies.
    pub(super) fn place(&self) -> Result<CopyTarget, InstallError> {
        CopyTarget::open(&self.directory).map_err(at(self.directory.path()))
    }

    /// Where the skill of that number is made.
    pub(super) fn made(&self, number: usize) -> PathBuf {
        transaction::made(self.directory.path(), number)
    }

    /// Moves the made skills to their places, in the order of the names. If one cannot be moved, the ones before it are moved
    /// back.
    pub(super) fn put(self, names: &[String]) -> Result<Vec<PlacedSkill>, InstallError> {
        self.put_with(names, transaction::REAL)
    }

    pub(super) fn put_with(
        self,
        names: &[String],
        disk: MoveDisk<'_>,
    ) -> Result<Vec<PlacedSkill>, InstallError> {
        let steps = self.steps(names)?;
        let plan = self.path(PLAN);
        plan::write(&self.directory, &steps).map_err(at(&plan))?;
        let moves = StagedMoves {
            target: &self.target,
            desk: self.directory.path(),
            disk,
        };
        let outcome = all(&moves, &steps);
        let is_stuck = matches!(outcome, Err(InstallError::Stuck(_)));
        if !is_stuck && is_clear(&moves, &steps) {
            self.directory.remove(PLAN).map_err(at(&plan))?;
        }
        outcome?;
        self.clear()?;
        Ok(placed(&self.target, names, &steps))
    }

    /// Removes the staging directory, and with it the replaced or removed skills.
    pub(super) fn clear(&self) -> Result<(), InstallError> {
        let cleared = if self.is_needed() {
            Err(io::Error::other("another process changed it"))
        } else {
            self.directory.clear()
        };
        cleared.map_err(|source| InstallError::Left {
            path: self.directory.path().to_owned(),
            source,
        })
    }

    /// As long as there is a plan, recovery by another process may need this directory.
    fn is_needed(&self) -> bool {
        self.directory.has(PLAN)
    }

    /// Of two that are called the same only the last one is ever seen.
    fn steps(&self, names: &[String]) -> Result<Vec<PlanStep>, InstallError> {
        let mut steps = Vec::with_capacity(names.len());
        let last: std::collections::HashMap<_, _> = names.iter().zip(0..).collect();
        for (number, name) in names.iter().enumerate() {
            if last.get(name) != Some(&number) {
                continue;
            }
            let (made, place) = (self.made(number), self.target.join(name));
            let known = KnownFile::at(&made).map_err(at(&made))?;
            let gone = || at(&made)(io::ErrorKind::NotFound.into());
            steps.push(PlanStep {
                number,
                name: name.clone(),
                made: known.ok_or_else(gone)?,
                was: KnownFile::at(&place).map_err(at(&place))?,
            });
        }
        Ok(steps)
    }
}

/// One result per name. It counts as replaced if a skill of that name was there, or comes earlier in `names`.
fn placed(target: &Path, names: &[String], steps: &[PlanStep]) -> Vec<PlacedSkill> {
    let steps = steps.iter().filter(|step| step.was.is_some());
    let mut there: std::collections::HashSet<&str> = steps.map(|step| step.name.as_str()).collect();
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

/// Takes all steps, or none.
pub(super) fn all(moves: &StagedMoves<'_>, steps: &[PlanStep]) -> Result<(), InstallError> {
    for step in steps {
        let location = moves.target.join(&step.name);
        let error = match moves.forward(step) {
            Ok(StepResult::Done) => continue,
            Ok(StepResult::LeftAlone) => InstallError::Changed(location),
            Err(error) => at(&location)(error),
        };
        return Err(undo(moves, steps, error));
    }
    Ok(())
}

/// Takes steps back, the last one first.
fn undo(moves: &StagedMoves<'_>, steps: &[PlanStep], error: InstallError) -> InstallError {
    let mut is_stuck = false;
    for step in steps.iter().rev() {
        is_stuck |= moves.back(step).is_err();
    }
    if is_stuck {
        return InstallError::Stuck(Box::new(stuck(moves, steps, error)));
    }
    error
}

/// Where all are that could not be moved, nor all moved back.
pub(super) fn stuck(
    moves: &StagedMoves<'_>,
    steps: &[PlanStep],
    source: InstallError,
) -> RollbackFailure {
    let mut stuck = RollbackFailure {
        desk: moves.desk.to_owned(),
        new: Vec::new(),
        old: Vec::new(),
        away: Vec::new(),
        source,
    };
    for step in steps {
        let name = step.name.clone();
        match moves.standing(step) {
            SlotState::New => stuck.new.push(name),
            SlotState::Old => stuck.old.push(name),
            SlotState::Away(path) => stuck.away.push((name, path)),
            SlotState::Theirs => {}
        }
    }
    stuck
}

/// Whether a desk can go.
pub(super) fn is_clear(moves: &StagedMoves<'_>, steps: &[PlanStep]) -> bool {
    steps.iter().all(|step| moves.is_clear(step))
}
