//! The directory that skills are copied into. It is held open, where systems can do that: if another user of a shared directory
//! puts a link on the way meanwhile, we neither write to the link's target nor open it to all.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::path::PathBuf;
#[cfg(unix)]
use std::rc::Rc;

use crate::owned_dir::OwnedDir;

/// A directory of ours.
#[derive(Debug, Clone)]
pub(in crate::skills) struct CopyTarget {
    path: PathBuf,
    #[cfg(unix)]
    directory: Rc<File>,
}

impl CopyTarget {
    #[cfg_attr(
        not(unix),
        expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")
    )]
    pub(in crate::skills) fn open(held: &OwnedDir) -> io::Result<Self> {
        Ok(Self {
            path: held.path().to_owned(),
            #[cfg(unix)]
            directory: Rc::new(held.handle()?),
        })
    }

    /// What people know it by.
    pub(super) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(unix)]
impl CopyTarget {
    /// Makes a directory in it.
    pub(super) fn make_directory(&self, name: &OsStr, allowed: Permissions) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        mkdirat(&*self.directory, name, Mode::RWXU)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = File::from(openat(&*self.directory, name, flags, Mode::empty())?);
        made.set_permissions(allowed)?;
        Ok(Self {
            path: self.path_of(name),
            directory: Rc::new(made),
        })
    }

    /// Makes a file in it.
    pub(super) fn make_file(&self, name: &OsStr) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(openat(&*self.directory, name, flags, mode)?.into())
    }
}

#[cfg(not(unix))]
impl CopyTarget {
    /// Makes a directory in it.
    pub(super) fn make_directory(&self, name: &OsStr, _: Permissions) -> io::Result<Self> {
        let path = self.path_of(name);
        std::fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Makes a file in it.
    pub(super) fn make_file(&self, name: &OsStr) -> io::Result<File> {
        File::create_new(self.path_of(name))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_that_replaces_a_directory_during_a_copy_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let [moved, precious] = ["moved", "precious"].map(|name| root.path().join(name));
        fs::create_dir_all(precious.join("new-0")).unwrap();
        let desk = OwnedDir::make(root.path(), "desk-").unwrap();
        let place = CopyTarget::open(&desk).unwrap();
        fs::rename(desk.path(), &moved).unwrap();
        symlink(&precious, desk.path()).unwrap();
        let open = Permissions::from_mode(0o777);
        let skill = place.make_directory("new-0".as_ref(), open.clone());
        skill.unwrap().make_file("SKILL.md".as_ref()).unwrap();
        assert!(moved.join("new-0/SKILL.md").is_file());
        let theirs = precious.join("new-0");
        assert!(fs::read_dir(&theirs).unwrap().next().is_none());
        assert_ne!(
            theirs.metadata().unwrap().permissions().mode() & 0o777,
            0o777
        );
        // Nor is an existing entry overwritten.
        symlink(&theirs, moved.join("new-1")).unwrap();
        place.make_directory("new-1".as_ref(), open).unwrap_err();
        place.make_file("new-1".as_ref()).unwrap_err();
    }
}
