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

use super::names::DirectoryMemory;

/// The metadata of a plain file.
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

/// Calls `take` with each entry whose name is as wished. A name that is not Unicode is none that the CLI gives. Names that the memory
/// has of this state of the directory are not read again.
#[cfg(target_os = "linux")]
pub(super) fn each(
    directory: &Path,
    is_like: fn(&str) -> bool,
    memory: &mut dyn DirectoryMemory,
    mut take: impl FnMut(&str, DirectoryEntry),
) -> io::Result<()> {
    use rustix::fs::{AtFlags, Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    for (_, name) in linux::names(&opened, directory, is_like, memory)?.iter() {
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
    _: &mut dyn DirectoryMemory,
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
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use rustix::fs::{FileType, RawDir, Stat};

    use super::super::names::{DirectoryMemory, DirectoryNames, DirectoryState};
    use super::FileFacts;

    /// So much of a directory is read at once.
    const PIECE: usize = 64 * 1024;

    /// File systems of this machine that set a directory's times with each change of its entries: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs
    /// and overlays. Of others, such as those of a network, a directory's times are no proof.
    const WITH_TIMES: [i64; 6] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0x0102_1994,
        0x794c_7630,
    ];

    /// The names that are as wished, in the order of the files' numbers.
    pub(super) fn names(
        directory: impl AsFd + Copy,
        path: &Path,
        is_like: fn(&str) -> bool,
        memory: &mut dyn DirectoryMemory,
    ) -> io::Result<DirectoryNames> {
        // Before the names: an entry that is added meanwhile changes the state.
        let state = state(directory);
        if let Some(names) = state.and_then(|state| memory.recall(path, state)) {
            return Ok(names);
        }
        let names = read(directory, is_like)?;
        if let Some(state) = state {
            memory.note(path, state, &names);
        }
        Ok(names)
    }

    fn read(directory: impl AsFd, is_like: fn(&str) -> bool) -> io::Result<DirectoryNames> {
        let mut buffer = vec![MaybeUninit::uninit(); PIECE];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut names = DirectoryNames::default();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && is_like(name)
            {
                names.push(entry.ino(), name);
            }
        }
        names.sort_by_inode();
        Ok(names)
    }

    /// The state of a directory, where its times tell of every change.
    fn state(directory: impl AsFd + Copy) -> Option<DirectoryState> {
        let system = rustix::fs::fstatfs(directory).ok()?;
        let about = has_times(system.f_type).then(|| rustix::fs::fstat(directory).ok())??;
        let nanoseconds = |seconds: i64, more: u64| {
            let more = i64::try_from(more).ok()?;
            seconds.checked_mul(1_000_000_000)?.checked_add(more)
        };
        Some(DirectoryState {
            inode: about.st_ino,
            modified: nanoseconds(about.st_mtime, about.st_mtime_nsec)?,
            changed: nanoseconds(about.st_ctime, about.st_ctime_nsec)?,
        })
    }

    /// True for a file system of the table. Its number has another type on some machines.
    fn has_times(system: impl TryInto<i64>) -> bool {
        system.try_into().is_ok_and(|it| WITH_TIMES.contains(&it))
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
    use super::super::names::NoMemory;
    use super::*;

    #[test]
    fn directory_entries_are_those_of_the_standard_library() {
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
            &mut NoMemory,
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
        let absent = each(
            &folder.path().join("no"),
            |_| true,
            &mut NoMemory,
            |_, _| {},
        );
        assert_eq!(absent.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }
}
