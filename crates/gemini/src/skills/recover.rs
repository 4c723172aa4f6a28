//! Recovery of a staging directory whose owner was killed.
//!
//! Without a plan no step was done, or all of them, and the directory is removed. A plan is finished, or undone if that is
//! impossible. Files that another process has changed meanwhile are left as they are.

use std::fmt;
use std::path::{Path, PathBuf};

use super::failure::{InstallError, at, listed};
use super::plan::{self, PlanStep};
use super::staging::{self, PLAN, SkillsLock};
use super::transaction::{self, MoveDisk, SlotState, StagedMoves, StepResult};
use crate::owned_dir::OwnedDir;

/// What became of an install, a link or an uninstall that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredInstall {
    /// The hidden directory that it left.
    pub desk: PathBuf,
    /// Skills that are in their place now.
    pub finished: Vec<String>,
    /// Skills that are as before.
    pub undone: Vec<String>,
    /// Skills that were changed since: they are left as they are.
    pub left_alone: Vec<String>,
    /// Why the hidden directory is still there, if it is.
    pub trouble: Option<String>,
}

/// Finishes or removes the leftovers of killed processes in a directory of skills. A caller that is about to change skills does
/// this first, and reports the result. Other files are not touched.
pub fn recover(
    target: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<RecoveredInstall>, InstallError> {
    if !target.is_dir() {
        return Ok(Vec::new());
    }
    let lock = SkillsLock::wait(target, is_stopped)?;
    lock.sweep();
    let desks = lock.abandoned().into_iter();
    Ok(desks
        .map(|desk| one(target, desk, transaction::REAL))
        .collect())
}

pub(super) fn one(target: &Path, desk: PathBuf, how: MoveDisk<'_>) -> RecoveredInstall {
    let mut told = RecoveredInstall {
        desk,
        finished: Vec::new(),
        undone: Vec::new(),
        left_alone: Vec::new(),
        trouble: None,
    };
    // Checked again through its open descriptor: so far it was looked at by its name.
    let Some(desk) = OwnedDir::find(&told.desk) else {
        told.trouble = Some("it is not ours any more".to_owned());
        return told;
    };
    match plan::read(&desk) {
        Err(why) => told.trouble = Some(why),
        Ok(None) => told.clear(&desk),
        Ok(Some(steps)) => {
            let moves = StagedMoves {
                target,
                desk: desk.path(),
                disk: how,
            };
            told.follow(&steps, &moves, &desk);
        }
    }
    told
}

impl RecoveredInstall {
    fn follow(&mut self, steps: &[PlanStep], moves: &StagedMoves<'_>, desk: &OwnedDir) {
        match self.forward(steps, moves) {
            Ok(()) => {}
            Err(error) => self.back(steps, moves, error),
        }
        if self.trouble.is_some() {
            return;
        }
        if let Some(step) = steps.iter().find(|step| !moves.is_clear(step)) {
            let why = match moves.standing(step) {
                SlotState::Away(path) => {
                    format!("the old `{}` is in `{}`", step.name, path.display())
                }
                _ => format!("there is more of `{}` in it than was planned", step.name),
            };
            self.trouble = Some(why);
            return;
        }
        // Without the plan first: killed in between, it is not begun again.
        match desk.remove(PLAN) {
            Ok(()) => self.clear(desk),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    fn forward(&mut self, steps: &[PlanStep], moves: &StagedMoves<'_>) -> Result<(), InstallError> {
        for step in steps {
            let location = moves.target.join(&step.name);
            match moves.forward(step).map_err(at(&location))? {
                StepResult::Done => self.finished.push(step.name.clone()),
                StepResult::LeftAlone => self.left_alone.push(step.name.clone()),
            }
        }
        Ok(())
    }

    fn back(&mut self, steps: &[PlanStep], moves: &StagedMoves<'_>, error: InstallError) {
        self.finished.clear();
        self.left_alone.clear();
        let mut is_stuck = false;
        for step in steps.iter().rev() {
            match moves.back(step) {
                Ok(StepResult::Done) => self.undone.push(step.name.clone()),
                Ok(StepResult::LeftAlone) => self.left_alone.push(step.name.clone()),
                Err(_) => is_stuck = true,
            }
        }
        if is_stuck {
            self.undone.clear();
            self.trouble = Some(staging::stuck(moves, steps, error).to_string());
        }
    }

    fn clear(&mut self, desk: &OwnedDir) {
        self.trouble = desk.clear().err().map(|error| error.to_string());
    }
}

impl fmt::Display for RecoveredInstall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = Vec::new();
        for (names, words) in [
            (&self.finished, "was finished"),
            (&self.undone, "was undone, and all is as it was before"),
            (&self.left_alone, "left alone, because it was changed since"),
        ] {
            if !names.is_empty() {
                said.push(format!("{words}: {}", listed(names)));
            }
        }
        if let Some(why) = &self.trouble {
            said.push(format!("is still in `{}`: {why}", self.desk.display()));
        }
        if said.is_empty() {
            said.push("was cleared away".to_owned());
        }
        write!(f, "what was interrupted here {}", said.join("; it "))
    }
}
