//! Unix: modes, positioned reads, `poll` and `statvfs`.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};

/// Options for files that only this user can read.
pub fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Makes directories that only this user can list.
pub fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Opens a regular file to read it. Neither follows a link nor waits for a pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Reads from that place on, wherever the file was read before.
pub fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(room, offset)
}

/// Fills all the room from that place on.
pub fn read_exact_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(room, offset)
}

/// Waits until a non-blocking file has data to read, or has ended.
pub fn wait_for_input(file: &File) {
    let _ = poll(&mut [PollFd::new(file, PollFlags::IN)], None);
}

/// Lets all threads of this process share one heap, instead of a heap for each of the first sixteen threads. For a process with a
/// thread for each run: a heap keeps the memory that its run needed at its busiest, and no other thread can use it. Threads then
/// wait for the heap's lock, so a command that computes with several threads does not call it. Has an effect with glibc only, and
/// only before the second thread starts.
pub fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(
        unsafe_code,
        reason = "glibc has no other way but variables, which would reach agents"
    )]
    // SAFETY: `mallopt` changes a parameter of the allocator under its own lock, and has no other effect.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}

/// True if nothing more can be written there.
pub fn is_full(directory: &Path) -> bool {
    free_space(directory) == Some(0)
}

/// How many bytes can still be written there, if that can be told.
pub fn free_space(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok();
    let disk = disk.filter(|disk| disk.f_blocks > 0)?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether files can be made there.
pub fn writable(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// True if a file belongs to the user or to root, so that no other user has written it.
pub fn is_ours(file: &Metadata) -> bool {
    is_trusted(file.uid(), rustix::process::geteuid().as_raw())
}

fn is_trusted(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

/// The name of a directory of this user among everybody's files.
pub fn private_name() -> String {
    format!("lapidary-{}", rustix::process::geteuid().as_raw())
}

/// Makes a directory that only this user can list. An existing directory must be private as well: another user who made it before
/// us could otherwise read and exchange our files.
pub fn make_private_directory(directory: &Path) -> io::Result<()> {
    match private_directory().create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = directory.symlink_metadata()?;
    let is_private =
        found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700;
    if found.is_dir() && is_private {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is not a directory of ours alone",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_user_is_not_trusted() {
        let trusted = [(1000, 1000), (0, 1000), (0, 0)];
        assert_eq!(
            trusted.map(|(owner, user)| is_trusted(owner, user)),
            [true; 3]
        );
        let others = [(1001, 1000), (1000, 0)];
        assert_eq!(
            others.map(|(owner, user)| is_trusted(owner, user)),
            [false; 2]
        );
    }
}
