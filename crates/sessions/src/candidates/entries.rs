//! The entries of a directory, and the metadata of each.
//!
//! Lists and searches ask for every file of every directory: of tens of thousands that is most of the time they take. On Linux
//! names are read without a copy of each, and files are asked for in the order of their numbers, in which file systems keep them.

#[cfg(any(test, not(target_os = "linux")))]
use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What the system says of a plain file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileFacts {
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    /// Its number in the file system, where there are such.
    pub(super) inode: u64,
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) enum DirectoryEntry {
    Plain(FileFacts),
    /// A link, a directory, or one that the system says nothing of.
    Odd(io::Result<Metadata>),
}

/// Calls `take` with each entry whose name is as wished. A name that is not Unicode is none that the CLI gives.
#[cfg(target_os = "linux")]
pub(super) fn each(
    directory: &Path,
    is_like: fn(&str) -> bool,
    mut take: impl FnMut(&str, DirectoryEntry),
) -> io::Result<()> {
    use rustix::fs::{AtFlags, Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    let mut names = String::new();
    for (_, from, to) in linux::names(&opened, is_like, &mut names)? {
        let name = &names[from..to];
        // Through the open directory: the kernel does not walk the whole path again.
        let about = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW);
        let plain = about.ok().and_then(|about| linux::plain(&about));
        let odd = || DirectoryEntry::Odd(directory.join(name).symlink_metadata());
        take(name, plain.map_or_else(odd, DirectoryEntry::Plain));
    }
    Ok(())
}

/// The same on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn each(
    directory: &Path,
    is_like: fn(&str) -> bool,
    mut take: impl FnMut(&str, DirectoryEntry),
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !is_like(&name) {
            continue;
        }
        let entry = match entry.metadata() {
            Ok(about) if about.is_file() => DirectoryEntry::Plain(FileFacts {
                size: about.len(),
                modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                inode: super::inode(&about),
            }),
            about => DirectoryEntry::Odd(about),
        };
        take(&name, entry);
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::time::{Duration, SystemTime};

    use rustix::fs::{FileType, RawDir, Stat};

    use super::FileFacts;

    /// So much of a directory is read at once.
    const PIECE: usize = 64 * 1024;

    /// Where each name stands among the names, in the order of the files' numbers.
    pub(super) fn names(
        directory: impl AsFd,
        is_like: fn(&str) -> bool,
        names: &mut String,
    ) -> io::Result<Vec<(u64, usize, usize)>> {
        let mut buffer = vec![MaybeUninit::uninit(); PIECE];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut places = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && is_like(name)
            {
                let from = names.len();
                names.push_str(name);
                places.push((entry.ino(), from, names.len()));
            }
        }
        places.sort_unstable();
        Ok(places)
    }

    /// None for an entry that is no plain file.
    pub(super) fn plain(about: &Stat) -> Option<FileFacts> {
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return None;
        }
        Some(FileFacts {
            size: u64::try_from(about.st_size).unwrap_or(0),
            modified: time(about.st_mtime, about.st_mtime_nsec.try_into().ok()?)?,
            inode: about.st_ino,
        })
    }

    /// None for a time that this program cannot say.
    fn time(seconds: i64, nanoseconds: u32) -> Option<SystemTime> {
        let epoch = SystemTime::UNIX_EPOCH;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = if seconds < 0 {
            epoch.checked_sub(whole)
        } else {
            epoch.checked_add(whole)
        };
        second?.checked_add(Duration::new(0, nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_as_the_standard_library_tells_them() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("s-b", "12"), ("s-a", ""), ("no", "x")] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        fs::create_dir(folder.path().join("s-d")).unwrap();
        let old = fs::File::options()
            .write(true)
            .open(folder.path().join("s-b"))
            .unwrap();
        let before = SystemTime::UNIX_EPOCH - std::time::Duration::from_millis(2500);
        old.set_modified(before).unwrap();
        let mut seen = Vec::new();
        each(
            folder.path(),
            |name| name.starts_with("s-"),
            |name, entry| {
                let about = folder.path().join(name).symlink_metadata().unwrap();
                match entry {
                    DirectoryEntry::Plain(facts) => {
                        assert_eq!(facts.size, about.len());
                        assert_eq!(facts.modified, about.modified().unwrap());
                        assert_eq!(facts.inode, super::super::inode(&about));
                        assert!(about.is_file());
                    }
                    DirectoryEntry::Odd(other) => assert!(other.unwrap().is_dir()),
                }
                seen.push(name.to_owned());
            },
        )
        .unwrap();
        seen.sort();
        assert_eq!(seen, ["s-a", "s-b", "s-d"]);
        let absent = each(&folder.path().join("no"), |_| true, |_, _| {});
        assert_eq!(absent.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }
}
