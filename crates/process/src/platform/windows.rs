//! Windows: the same with the standard library alone. Checked by the compiler, never run.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How often an input that does not wait is asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// Makes files. There are no modes: what keeps others out are the access lists of the user's profile, which new files inherit.
pub fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true); // a file that was opened only to append to cannot be locked
    options
}

/// Opens a regular file to read it, and follows no link.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// Makes directories, which inherit their access lists as files do.
pub fn private_directory() -> DirBuilder {
    DirBuilder::new()
}

/// Reads from that place on. This moves the file's own position, which this crate does not use.
pub fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(room, offset)
}

/// Fills all the room from that place on.
pub fn read_exact_at(file: &File, mut room: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !room.is_empty() {
        match read_at(file, room, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                room = &mut room[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

/// Waits a moment: there is no way to wait for just any file, and hardly one that needs it.
pub fn wait_for_input(_: &File) {
    thread::sleep(AGAIN);
}

/// There is one heap anyway.
pub fn share_heap() {}

/// How much space is left is not known without calls that are unsafe, so a disk is never taken to be full. Writing to one that is
/// fails all the same.
pub fn is_full(_: &Path) -> bool {
    false
}

/// How many bytes can still be written there. Not asked for on Windows.
pub fn free_space(_: &Path) -> Option<u64> {
    None
}

/// Whether files can be made there: here only whether the directory exists; the attempt shows the rest.
pub fn writable(directory: &Path) -> io::Result<()> {
    directory.metadata().map(drop)
}

/// Ownership is in access lists, which this crate does not read.
pub fn is_ours(_: &Metadata) -> bool {
    true
}

/// The name of a directory of this user among the temporary files, which are the user's own here.
pub fn private_name() -> String {
    "lapidary".to_owned()
}

/// Makes a directory.
pub fn make_private_directory(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)
}
