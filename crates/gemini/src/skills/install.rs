//! Installing and removing skills: each is made in a staging directory beside its place, then moved there, so that no reader sees
//! half of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::copy::SkillCopier;
use super::discover::{discover, is_passed_over};
use super::failure::{InstallError, io_error_at};
use super::package::SkillPackage;
use super::staging::{PlacedSkill, SkillsLock};
use super::{DiscoveryTier, FILE, SkillDefinition};

/// How skills come to where they belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallMode {
    /// As copies.
    Copy,
    /// As links to where they are.
    Link,
}

impl SkillPackage {
    /// Puts the skills into a directory of skills, in the place of those of the same names. All of them, or none.
    pub fn install(
        &self,
        target: &Path,
        way: InstallMode,
    ) -> Result<Vec<PlacedSkill>, InstallError> {
        self.install_unless(target, way, &|| false)
    }

    /// As [`install`](Self::install), until `is_stopped` returns true: then nothing is installed. It is too late once the first
    /// is in its place.
    pub fn install_unless(
        &self,
        target: &Path,
        way: InstallMode,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<PlacedSkill>, InstallError> {
        if way == InstallMode::Link {
            self.check_for_duplicates()?;
        }
        for skill in &self.skills {
            if skill.name.is_empty() {
                let within = skill.location.strip_prefix(&self.directory);
                let file = within.unwrap_or(&skill.location);
                return Err(InstallError::NoName(file.to_owned()));
            }
            check_name(&skill.name)?;
        }
        if way == InstallMode::Copy {
            self.measure_skills(is_stopped)?;
        }
        fs::create_dir_all(target).map_err(io_error_at(target))?;
        for skill in &self.skills {
            check_for_itself(skill, target, way)?;
        }
        let desk = SkillsLock::wait_for_lock(target, is_stopped)?.make_staging()?;
        let mut copier = SkillCopier::new(&self.directory, is_stopped)?;
        for (number, skill) in self.skills.iter().enumerate() {
            let (from, made) = (skill.directory(), desk.made_path(number));
            match way {
                InstallMode::Copy => copier.copy_directory(&from, made)?,
                InstallMode::Link => link(&from, &made).map_err(io_error_at(&made))?,
            }
        }
        if is_stopped() {
            return Err(InstallError::Stopped);
        }
        let names: Vec<String> = self.skills.iter().map(|skill| skill.name.clone()).collect();
        desk.place_skills(&names)
    }

    /// The names that exist in `target` already and would be replaced.
    pub fn replaced(&self, target: &Path) -> Vec<&str> {
        let names = self.skills.iter().map(|skill| skill.name.as_str());
        let is_there = |name: &&str| {
            check_name(name).is_ok() && fs::symlink_metadata(target.join(name)).is_ok()
        };
        names.filter(is_there).collect()
    }

    /// Whether all of it can be copied.
    fn measure_skills(&self, is_stopped: &dyn Fn() -> bool) -> Result<(), InstallError> {
        let mut copier = SkillCopier::new(&self.directory, is_stopped)?;
        for skill in &self.skills {
            copier.measure_directory(&skill.directory())?;
        }
        Ok(())
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
pub(super) fn check_name(name: &str) -> Result<(), InstallError> {
    let mut parts = Path::new(name).components();
    let is_one = matches!(
        (parts.next(), parts.next()),
        (Some(std::path::Component::Normal(part)), None) if part == name
    );
    if !is_one || name.contains('\0') {
        return Err(InstallError::BadName(name.to_owned()));
    }
    if name.contains(char::is_control) {
        return Err(InstallError::ControlName(name.to_owned()));
    }
    if is_passed_over(name.as_ref()) || name == FILE {
        return Err(InstallError::NeverFound(name.to_owned()));
    }
    Ok(())
}

fn check_for_itself(
    skill: &SkillDefinition,
    target: &Path,
    way: InstallMode,
) -> Result<(), InstallError> {
    let from = skill.directory();
    let real = from.canonicalize().map_err(io_error_at(&from))?;
    let home = target.canonicalize().map_err(io_error_at(target))?;
    // A link may replace its own target, if that lies among the skills: then the link is dangling, and the skill is lost.
    if way == InstallMode::Link && real.starts_with(&home) {
        return Err(InstallError::OverItself(from, target.to_owned()));
    }
    if home.starts_with(&real) {
        return Err(InstallError::IntoItself(target.to_owned(), from));
    }
    Ok(())
}

/// Removes a skill from a directory of skills: the one whose front matter has that name, else the directory of that name. Of two that
/// have it, the one that counts goes, and the other counts then. None if there is neither. Of a link only the link goes.
pub fn uninstall(target: &Path, name: &str) -> Result<Option<PlacedSkill>, InstallError> {
    if !target.is_dir() {
        return Ok(None);
    }
    let lock = SkillsLock::wait_for_lock(target, &|| false)?;
    let Some(location) = installed_location(target, name) else {
        return Ok(None);
    };
    let desk = lock.make_staging()?;
    let aside = desk.inner_path("gone");
    fs::rename(&location, &aside).map_err(io_error_at(&location))?;
    desk.clear()?;
    Ok(Some(PlacedSkill {
        name: name.to_owned(),
        location,
        replaced: false,
    }))
}

/// The directory, or the link to it, that has a skill of that name.
fn installed_location(target: &Path, name: &str) -> Option<PathBuf> {
    let found = discover(target, DiscoveryTier::User).skills;
    // The last one counts. The one that lies in the directory of skills itself has no directory of its own.
    let mut by_name = found.iter().rev().filter(|skill| skill.name == name);
    let location = match by_name.next() {
        Some(skill) => skill.directory(),
        None if check_name(name).is_ok() && is_a_skills(&target.join(name)) => target.join(name),
        None => return None,
    };
    let is_there = location != target && fs::symlink_metadata(&location).is_ok();
    is_there.then_some(location)
}

/// A directory with what should be a skill, or a link to where one was: nothing else goes by its name.
fn is_a_skills(location: &Path) -> bool {
    location.join(FILE).exists()
        || fs::symlink_metadata(location).is_ok_and(|about| about.is_symlink())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(windows)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(from, to)
}
