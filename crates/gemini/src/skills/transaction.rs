//! The moves from a staging directory to the skills' places, and back.
//!
//! Before each move, the directories are compared with the plan. So a transaction can be finished wherever its process was
//! killed, and a directory that is neither the made nor the replaced one is never touched.

#[cfg(test)]
pub(super) mod failing;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::{KnownFile, PlanStep};

/// How things are moved. Tests have disks that fail.
#[derive(Clone, Copy)]
pub(super) struct MoveDisk<'a> {
    /// Swaps two in one step, so that there is never none, where the system and the disk can do that.
    pub(super) exchange: &'a dyn Fn(&Path, &Path) -> io::Result<()>,
    /// Moves one to where nothing is.
    pub(super) rename: &'a dyn Fn(&Path, &Path) -> io::Result<()>,
}

pub(super) const REAL: MoveDisk<'static> = MoveDisk {
    exchange: &exchange,
    rename: &rename,
};

/// From a desk to where it belongs.
pub(super) struct StagedMoves<'a> {
    pub(super) target: &'a Path,
    pub(super) desk: &'a Path,
    pub(super) disk: MoveDisk<'a>,
}

/// The content of a step's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotContent {
    Empty,
    Made {
        is_unchanged: bool,
    },
    Was {
        is_unchanged: bool,
    },
    /// Neither the made skill nor the replaced one.
    Other,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepResult {
    Done,
    /// Another process has changed the skill in its place.
    LeftAlone,
}

/// Which of both is in the place of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    New,
    Old,
    /// Neither; the replaced skill is at this path.
    Away(PathBuf),
    /// A skill of another process, or nothing.
    Theirs,
}

impl StagedMoves<'_> {
    /// Moves the made skill to its place.
    pub(super) fn forward(&self, step: &PlanStep) -> io::Result<StepResult> {
        let made = self.find(step, &step.made);
        match (self.look(step)?, made) {
            (SlotContent::Made { .. }, _) => Ok(StepResult::Done),
            (SlotContent::Was { is_unchanged: true }, Some(made)) => self.replace(step, &made),
            (SlotContent::Empty, Some(made)) if self.is_vacant(step) => self.fill(step, &made),
            _ => Ok(StepResult::LeftAlone),
        }
    }

    /// Moves the replaced skill back to its place.
    pub(super) fn back(&self, step: &PlanStep) -> io::Result<StepResult> {
        let was = step.was.as_ref();
        let old = was.and_then(|was| self.find(step, was));
        if old.is_none() && self.find(step, &step.made).is_some() {
            return Ok(StepResult::Done); // it was never taken
        }
        match (self.look(step)?, old) {
            (SlotContent::Made { is_unchanged: true }, Some(old)) => self.replace(step, &old),
            (SlotContent::Made { is_unchanged: true }, None) if was.is_none() => {
                self.take_away(step)
            }
            (SlotContent::Empty, Some(old)) => self.fill(step, &old),
            (SlotContent::Empty | SlotContent::Was { .. }, _) => Ok(StepResult::Done),
            _ => Ok(StepResult::LeftAlone),
        }
    }

    pub(super) fn standing(&self, step: &PlanStep) -> SlotState {
        let was = step.was.as_ref();
        match self.look(step) {
            Ok(SlotContent::Made { .. }) => SlotState::New,
            Ok(SlotContent::Was { .. }) => SlotState::Old,
            Ok(SlotContent::Empty) if was.is_none() => SlotState::Old,
            _ => match was.and_then(|was| self.find(step, was)) {
                Some(old) => SlotState::Away(old),
                None => SlotState::Theirs,
            },
        }
    }

    /// Whether the staging directory holds no only copy: just the made skill, or the old one that the made one has replaced.
    pub(super) fn is_clear(&self, step: &PlanStep) -> bool {
        let is_replaced = matches!(self.look(step), Ok(SlotContent::Made { .. }));
        self.slots(step)
            .iter()
            .all(|slot| match KnownFile::at(slot) {
                Ok(None) => true,
                Ok(Some(found)) => {
                    let is_old = step.was.is_some_and(|was| was.is(&found));
                    step.made.is(&found) || (is_replaced && is_old)
                }
                Err(_) => false,
            })
    }

    fn look(&self, step: &PlanStep) -> io::Result<SlotContent> {
        let Some(found) = KnownFile::at(&self.place(step))? else {
            return Ok(SlotContent::Empty);
        };
        if step.made.is(&found) {
            let is_unchanged = step.made.is_unchanged(&found);
            return Ok(SlotContent::Made { is_unchanged });
        }
        Ok(match step.was {
            Some(was) if was.is(&found) => SlotContent::Was {
                is_unchanged: was.is_unchanged(&found),
            },
            _ => SlotContent::Other,
        })
    }

    /// True if the place was empty, or we have emptied it. Otherwise another process has.
    fn is_vacant(&self, step: &PlanStep) -> bool {
        let was = step.was.as_ref();
        was.is_none_or(|was| self.find(step, was).is_some())
    }

    fn place(&self, step: &PlanStep) -> PathBuf {
        self.target.join(&step.name)
    }

    /// The paths in the staging directory of the made skill and of the replaced one.
    fn slots(&self, step: &PlanStep) -> [PathBuf; 2] {
        let number = step.number;
        [
            made(self.desk, number),
            self.desk.join(format!("old-{number}")),
        ]
    }

    fn find(&self, step: &PlanStep, known: &KnownFile) -> Option<PathBuf> {
        let is_it = |slot: &PathBuf| {
            KnownFile::at(slot).is_ok_and(|found| found.is_some_and(|found| known.is(&found)))
        };
        self.slots(step).into_iter().find(is_it)
    }

    fn free_slot(&self, step: &PlanStep) -> io::Result<PathBuf> {
        let is_free = |slot: &PathBuf| matches!(KnownFile::at(slot), Ok(None));
        let slot = self.slots(step).into_iter().find(is_free);
        slot.ok_or_else(|| io::Error::other("there is no room on the desk"))
    }

    /// Puts one of the two into a place that the other has.
    fn replace(&self, step: &PlanStep, from: &Path) -> io::Result<StepResult> {
        let place = self.place(step);
        if (self.disk.exchange)(from, &place).is_ok() {
            return Ok(StepResult::Done);
        }
        let aside = self.free_slot(step)?;
        (self.disk.rename)(&place, &aside)?;
        (self.disk.rename)(from, &place).inspect_err(|_| {
            // Should that fail too, it is seen when all are looked at again.
            let _ = (self.disk.rename)(&aside, &place);
        })?;
        Ok(StepResult::Done)
    }

    fn fill(&self, step: &PlanStep, from: &Path) -> io::Result<StepResult> {
        (self.disk.rename)(from, &self.place(step)).map(|()| StepResult::Done)
    }

    fn take_away(&self, step: &PlanStep) -> io::Result<StepResult> {
        let slot = self.free_slot(step)?;
        (self.disk.rename)(&self.place(step), &slot).map(|()| StepResult::Done)
    }
}

/// Where on a desk the skill of that number is made.
pub(super) fn made(desk: &Path, number: usize) -> PathBuf {
    desk.join(format!("new-{number}"))
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Over nothing that came meanwhile: an empty directory would go without a word, and so would a file under a link.
#[cfg(target_os = "linux")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}
