//! Skills that come and go: made beside where they belong, then moved there, so that nobody ever sees half of one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::copy::{CopyError, copy};
use super::discover::{discover, is_passed_over};
use super::package::Package;
use super::{SkillDefinition, Tier};
use crate::lock;

/// A skill that was installed, linked or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub location: PathBuf,
    /// Whether something was there before.
    pub replaced: bool,
}

/// How skills come to where they belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As copies.
    Copy,
    /// As links to where they are.
    Link,
}

/// Why nothing was installed or removed. All is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The name is no name for a directory.
    #[error("Invalid skill name: Path traversal detected.")]
    BadName(String),
    /// A directory of that name is passed over when skills are looked for.
    #[error("a skill called `{0}` would never be found: directories of that name are passed over")]
    NeverFound(String),
    /// Two skills have the same name, and there can be one link only.
    #[error("Duplicate skill name \"{name}\" found at multiple locations:\n  - {}\n  - {}", first.display(), second.display())]
    Duplicate {
        /// The name.
        name: String,
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Where it would be installed is in what would be installed.
    #[error("`{0}` lies in `{1}`, which would be copied into itself")]
    IntoItself(PathBuf, PathBuf),
    /// It cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Somebody else has been at it for long.
    #[error("`{0}` is being changed by another process")]
    Busy(PathBuf),
    /// The system does not let us.
    #[error("cannot write `{path}`: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { path, source }
}

impl Package {
    /// Puts the skills into a directory of skills, in the place of those of the same names. All of them, or none.
    pub fn install(&self, target: &Path, way: Way) -> Result<Vec<Placed>, InstallError> {
        if way == Way::Link {
            self.check_for_duplicates()?;
        }
        for skill in &self.skills {
            check_name(&skill.name)?;
        }
        fs::create_dir_all(target).map_err(at(target))?;
        for skill in &self.skills {
            check_for_itself(skill, target, way)?;
        }
        let desk = Desk::open(target)?;
        let mut ready = Vec::new();
        for (number, skill) in self.skills.iter().enumerate() {
            let made = desk.path(&format!("new-{number}"));
            match way {
                Way::Copy => copy(&skill.directory(), &made, &self.directory)?,
                Way::Link => link(&skill.directory(), &made).map_err(at(&made))?,
            }
            ready.push((skill.name.clone(), made));
        }
        desk.put(ready)
    }

    fn check_for_duplicates(&self) -> Result<(), InstallError> {
        let mut seen = std::collections::HashMap::new();
        for skill in &self.skills {
            if let Some(first) = seen.insert(&skill.name, &skill.location) {
                return Err(InstallError::Duplicate {
                    name: skill.name.clone(),
                    first: first.clone(),
                    second: skill.location.clone(),
                });
            }
        }
        Ok(())
    }
}

/// A name must be the name of one directory, and of one that is looked into.
fn check_name(name: &str) -> Result<(), InstallError> {
    let mut parts = Path::new(name).components();
    let is_one = matches!(
        (parts.next(), parts.next()),
        (Some(std::path::Component::Normal(part)), None) if part == name
    );
    if !is_one || name.contains('\0') {
        return Err(InstallError::BadName(name.to_owned()));
    }
    if is_passed_over(name.as_ref()) || name == SKILL_FILE {
        return Err(InstallError::NeverFound(name.to_owned()));
    }
    Ok(())
}

fn check_for_itself(skill: &SkillDefinition, target: &Path, way: Way) -> Result<(), InstallError> {
    let from = skill.directory();
    let real = from.canonicalize().map_err(at(&from))?;
    let home = target.canonicalize().map_err(at(target))?;
    let into_itself = match way {
        Way::Copy => home.starts_with(&real),
        // What lies among the skills may be what a link takes the place of: then the link leads nowhere, and the skill is gone.
        Way::Link => real.starts_with(&home) || home.starts_with(&real),
    };
    if into_itself {
        return Err(InstallError::IntoItself(target.to_owned(), from));
    }
    Ok(())
}

/// Removes a skill from a directory of skills: the one whose front matter has that name, else the directory of that name. None if there
/// is neither. Of a link only the link goes.
pub fn uninstall(target: &Path, name: &str) -> Result<Option<Placed>, InstallError> {
    let found = discover(target, Tier::User).skills;
    let by_name = found.iter().find(|skill| skill.name == name);
    let location = match by_name {
        Some(skill) => skill.directory(),
        None if check_name(name).is_ok() && is_a_skills(&target.join(name)) => target.join(name),
        None => return Ok(None),
    };
    // The one that lies in the directory itself has no directory of its own.
    if location == target || fs::symlink_metadata(&location).is_err() {
        return Ok(None);
    }
    let desk = Desk::open(target)?;
    let aside = desk.path("old");
    fs::rename(&location, &aside).map_err(at(&location))?;
    clear(&aside);
    Ok(Some(Placed {
        name: name.to_owned(),
        location,
        replaced: false,
    }))
}

/// A directory with what should be a skill, or a link to where one was: nothing else goes by its name.
fn is_a_skills(location: &Path) -> bool {
    location.join(SKILL_FILE).exists()
        || fs::symlink_metadata(location).is_ok_and(|about| about.is_symlink())
}

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// A hidden directory beside the skills, where they are made and where they wait to go. One at a time works at it.
struct Desk {
    target: PathBuf,
    directory: TempDir,
    /// Let go when all else is done.
    _lock: Option<File>,
}

/// How its name begins.
const DESK: &str = ".lapidary-";

/// Two who install at once take turns: the directory itself is locked, so that nothing is left behind. Where directories cannot be
/// opened, nobody waits.
fn locked(target: &Path) -> Result<Option<File>, InstallError> {
    let Ok(directory) = File::open(target) else {
        return Ok(None);
    };
    if lock::wait(lock::PATIENCE, || directory.try_lock()).map_err(at(target))? {
        Ok(Some(directory))
    } else {
        Err(InstallError::Busy(target.to_owned()))
    }
}

/// What somebody left who was killed, unless something waits there that was somebody's.
fn clear_leftovers(target: &Path) {
    let entries = fs::read_dir(target).into_iter().flatten().flatten();
    let desks = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(DESK));
    for desk in desks {
        let inside = fs::read_dir(desk.path()).into_iter().flatten().flatten();
        let is_new = |name: String| {
            let number = name.strip_prefix("new-").map(str::parse::<usize>);
            matches!(number, Some(Ok(_)))
        };
        let mut names = inside.map(|entry| entry.file_name().to_string_lossy().into_owned());
        if names.all(is_new) {
            let _ = fs::remove_dir_all(desk.path());
        }
    }
}

impl Desk {
    fn open(target: &Path) -> Result<Self, InstallError> {
        let lock = locked(target)?;
        clear_leftovers(target);
        let directory = tempfile::Builder::new().prefix(DESK).tempdir_in(target);
        Ok(Self {
            target: target.to_owned(),
            directory: directory.map_err(at(target))?,
            _lock: lock,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Moves all that is ready to its place. If one cannot be moved, those before it are moved back.
    fn put(&self, ready: Vec<(String, PathBuf)>) -> Result<Vec<Placed>, InstallError> {
        let mut placed: Vec<Placed> = Vec::new();
        for (name, made) in ready {
            let location = self.target.join(&name);
            match self.swap(&made, &location, placed.len()) {
                Ok(replaced) => placed.push(Placed {
                    name,
                    location,
                    replaced,
                }),
                Err(source) => {
                    self.take_back(&placed);
                    return Err(at(&location)(source));
                }
            }
        }
        for number in 0..placed.len() {
            clear(&self.old(number));
        }
        Ok(placed)
    }

    /// What was there waits, in case it has to go back.
    fn swap(&self, made: &Path, location: &Path, number: usize) -> io::Result<bool> {
        let old = self.old(number);
        if exchange(made, location) {
            fs::rename(made, &old)?;
            return Ok(true);
        }
        let was_there = match fs::rename(location, &old) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        fs::rename(made, location).inspect_err(|_| {
            if was_there {
                let _ = fs::rename(&old, location);
            }
        })?;
        Ok(was_there)
    }

    fn take_back(&self, placed: &[Placed]) {
        for (number, one) in placed.iter().enumerate().rev() {
            let _ = fs::rename(&one.location, self.path(&format!("undone-{number}")));
            if one.replaced {
                let _ = fs::rename(self.old(number), &one.location);
            }
        }
    }

    fn old(&self, number: usize) -> PathBuf {
        self.path(&format!("old-{number}"))
    }
}

/// Removes what is not wanted any more. What cannot be removed lies in a hidden directory, where nobody looks for skills.
fn clear(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let _ = if is_folder {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
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

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(windows)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(from, to)
}
