//! Errors of the file system in Node's words, which models know: `EACCES: permission denied, open '/x'`.

use std::io;
use std::path::Path;

/// The code and the words that Node has for an error.
pub(super) fn code_of(error: &io::Error) -> (&'static str, &'static str) {
    #[cfg(unix)]
    if let Some(known) = error.raw_os_error().and_then(by_number) {
        return known;
    }
    match error.kind() {
        io::ErrorKind::NotFound => ("ENOENT", "no such file or directory"),
        io::ErrorKind::PermissionDenied => ("EACCES", "permission denied"),
        io::ErrorKind::NotADirectory => ("ENOTDIR", "not a directory"),
        io::ErrorKind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        io::ErrorKind::StorageFull => ("ENOSPC", "no space left on device"),
        io::ErrorKind::FileTooLarge => ("EFBIG", "file too large"),
        io::ErrorKind::InvalidInput => ("EINVAL", "invalid argument"),
        _ => ("EIO", "i/o error"),
    }
}

#[cfg(unix)]
fn by_number(number: i32) -> Option<(&'static str, &'static str)> {
    use rustix::io::Errno;
    Some(match Errno::from_raw_os_error(number) {
        Errno::PERM => ("EPERM", "operation not permitted"),
        Errno::LOOP => ("ELOOP", "too many symbolic links encountered"),
        Errno::ROFS => ("EROFS", "read-only file system"),
        Errno::NAMETOOLONG => ("ENAMETOOLONG", "name too long"),
        Errno::MFILE => ("EMFILE", "too many open files"),
        Errno::NXIO => ("ENXIO", "no such device or address"),
        _ => return None,
    })
}

/// Node's sentence for a call that failed.
pub(super) fn error_sentence(error: &io::Error, call: &str, path: &Path) -> String {
    let (code, words) = code_of(error);
    format!("{code}: {words}, {call} '{}'", path.display())
}
