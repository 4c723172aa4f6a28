//! A hidden directory beside the skills, where they are made, and what becomes of one whose owner was killed.
//!
//! Nobody ever sees half a skill: each is made here and moved to its place in one step. What is to be moved is written down before the
//! first is, in the file [`PLAN`]. Whoever comes next finds either no plan, and then nothing had happened yet or all of it, and the desk is
//! cleared away; or a plan, and then finishes it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::install::{InstallError, Placed, at, check_name};
use super::plan::{self, Step};
use crate::lock;

/// How the name of a desk begins.
const DESK: &str = ".lapidary-";
/// The file that says what is to be moved where.
const PLAN: &str = "plan";

/// A desk, and the lock of the directory of skills that it lies in: one at a time works there.
pub(super) struct Desk {
    target: PathBuf,
    directory: TempDir,
    _lock: Lock,
}

/// A directory of skills that nobody else changes meanwhile, with nothing left in it of those who were killed.
pub(super) struct Lock {
    target: PathBuf,
    /// Not there where directories cannot be opened: then nobody waits, and nobody is known to be dead.
    _held: Option<File>,
}

impl Lock {
    /// Two who install at once take turns: the directory itself is locked, so that nothing is left behind. Whoever works at a desk holds
    /// the lock, so all desks that are there now are those of the dead.
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
                Ok(true) => finish_all(target),
                Ok(false) => return Err(InstallError::Busy(target.to_owned())),
                Err(_) if is_stopped() => return Err(InstallError::Stopped),
                Err(error) => return Err(at(target)(error)),
            }
        }
        Ok(Self {
            target: target.to_owned(),
            _held: held,
        })
    }

    /// A desk of one's own.
    pub(super) fn desk(self) -> Result<Desk, InstallError> {
        let made = tempfile::Builder::new()
            .prefix(DESK)
            .tempdir_in(&self.target);
        Ok(Desk {
            target: self.target.clone(),
            directory: made.map_err(at(&self.target))?,
            _lock: self,
        })
    }
}

/// What those left who were killed is finished, or cleared away.
fn finish_all(target: &Path) {
    for entry in fs::read_dir(target).into_iter().flatten().flatten() {
        let is_desk = entry.file_name().to_string_lossy().starts_with(DESK);
        // A link that is called so is nobody's desk.
        if is_desk && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            finish(target, &entry.path());
        }
    }
}

fn finish(target: &Path, desk: &Path) {
    let is_settled = match plan::read(&desk.join(PLAN)) {
        Some(steps) => Moves { target, desk }.all(&steps).is_settled(),
        None => true,
    };
    if is_settled {
        // Without the plan first: killed in between, it is not begun again.
        let _ = fs::remove_file(desk.join(PLAN));
        let _ = fs::remove_dir_all(desk);
    }
}

impl Desk {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the skill of that number is made.
    pub(super) fn made(&self, number: usize) -> PathBuf {
        made(self.directory.path(), number)
    }

    /// Moves what was made to its place, in the order of the names. If one cannot be moved, those before it are moved back.
    pub(super) fn put(self, names: Vec<String>) -> Result<Vec<Placed>, InstallError> {
        let mut steps = Vec::with_capacity(names.len());
        for (number, name) in names.into_iter().enumerate() {
            let made = self.made(number);
            steps.push(Step::new(name, &made).map_err(at(&made))?);
        }
        let plan = self.path(PLAN);
        plan::write(&plan, &steps).map_err(at(&plan))?;
        let moves = Moves {
            target: &self.target,
            desk: self.directory.path(),
        };
        let outcome = moves.all(&steps);
        if outcome.is_settled() {
            let _ = fs::remove_file(&plan);
        } else {
            // What could not be put back waits for whoever comes next.
            let _ = self.directory.keep();
        }
        outcome.into_result()
    }
}

fn made(desk: &Path, number: usize) -> PathBuf {
    desk.join(format!("new-{number}"))
}

/// From a desk to where it belongs.
struct Moves<'a> {
    target: &'a Path,
    desk: &'a Path,
}

/// How it went.
enum Moved {
    All(Vec<Placed>),
    /// One could not be moved, and all is as it was.
    Undone(InstallError),
    /// One could not be moved, and another not moved back.
    Stuck(InstallError),
}

impl Moved {
    fn is_settled(&self) -> bool {
        !matches!(self, Self::Stuck(_))
    }

    fn into_result(self) -> Result<Vec<Placed>, InstallError> {
        match self {
            Self::All(placed) => Ok(placed),
            Self::Undone(error) | Self::Stuck(error) => Err(error),
        }
    }
}

impl Moves<'_> {
    /// Takes all steps that were not taken yet.
    fn all(&self, steps: &[Step]) -> Moved {
        let mut placed: Vec<Placed> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let location = self.target.join(&step.name);
            // A plan may have been written by anybody.
            let done =
                check_name(&step.name).and_then(|()| self.one(number, step).map_err(at(&location)));
            match done {
                Ok(replaced) => placed.push(Placed {
                    name: step.name.clone(),
                    location,
                    replaced,
                }),
                Err(error) => return self.undo(number, steps, error),
            }
        }
        Moved::All(placed)
    }

    /// True if something was there before. It waits on the desk, in case it has to go back.
    fn one(&self, number: usize, step: &Step) -> io::Result<bool> {
        let (made, location) = (made(self.desk, number), self.target.join(&step.name));
        if !step.waits_at(&made) {
            return Ok(self.old(number).is_some());
        }
        if exchange(&made, &location) {
            return Ok(true);
        }
        let aside = self.aside(number);
        let was_there = match fs::rename(&location, &aside) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        fs::rename(&made, &location).inspect_err(|_| {
            if was_there {
                let _ = fs::rename(&aside, &location);
            }
        })?;
        Ok(was_there)
    }

    /// Takes the steps before a number back, the last one first.
    fn undo(&self, number: usize, steps: &[Step], error: InstallError) -> Moved {
        for (number, step) in steps[..number].iter().enumerate().rev() {
            if self
                .undo_one(number, &self.target.join(&step.name))
                .is_err()
            {
                return Moved::Stuck(error);
            }
        }
        Moved::Undone(error)
    }

    fn undo_one(&self, number: usize, location: &Path) -> io::Result<()> {
        let made = made(self.desk, number);
        match self.old(number) {
            None => fs::rename(location, made),
            Some(old) if exchange(&old, location) => Ok(()),
            // Where it was made it waits to be moved again, should somebody be killed before the next line.
            Some(old) if old != made => {
                fs::rename(location, made).and_then(|()| fs::rename(old, location))
            }
            Some(_) => Err(io::Error::other(
                "it was exchanged, and cannot be exchanged back",
            )),
        }
    }

    /// What was in the place of a step that was taken: exchanged, or moved aside.
    fn old(&self, number: usize) -> Option<PathBuf> {
        let places = [made(self.desk, number), self.aside(number)];
        let mut places = places.into_iter();
        places.find(|place| fs::symlink_metadata(place).is_ok())
    }

    fn aside(&self, number: usize) -> PathBuf {
        self.desk.join(format!("old-{number}"))
    }
}

/// Swaps two in one step, so that there is never none, where the system and the disk can do that. False if nothing happened.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}
