//! A temporary directory that one run has for itself.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::detect::SearchEnvironment;

/// The variables by which programs find it.
pub(super) const VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Where it is made without such a variable. Not in the state directory: a path to a Unix socket has at most 107 bytes.
const USUAL: &str = "/tmp";

/// Where temporary directories are made.
pub(super) fn temporary_base(environment: &SearchEnvironment) -> PathBuf {
    let named = environment.vars.get(&OsString::from(VARIABLES[0]));
    let named = named.map(Path::new).filter(|path| path.is_absolute());
    named.unwrap_or(Path::new(USUAL)).to_owned()
}

/// A new one, for the user alone. It is removed when it is dropped.
pub(super) fn create_temporary(base: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("lapidary-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(base)
}
