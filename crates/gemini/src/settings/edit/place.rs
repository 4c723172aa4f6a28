//! Where a file of settings really is.

use std::path::{Path, PathBuf};

use super::EditError;

/// Where a path leads, to an existing file or not. A link must lead to an existing file: a file that a dangling link would create
/// was chosen by the link's author.
pub(super) fn resolved_path(path: &Path) -> Result<PathBuf, EditError> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(_) if path.is_symlink() => Err(EditError::LeadsNowhere {
            path: path.to_owned(),
            to: path.read_link().unwrap_or_default(),
        }),
        Err(_) => Ok(path.to_owned()),
    }
}

/// Refuses a file that links lead out of a directory to.
pub(super) fn check_inside(path: &Path, real: &Path, root: &Path) -> Result<(), EditError> {
    // A missing directory is made below the existing ones.
    let mut above = real.ancestors();
    let real = above.find_map(|above| {
        let mut place = above.canonicalize().ok()?;
        place.extend(real.strip_prefix(above).ok()?);
        Some(place)
    });
    let real = real.unwrap_or_default();
    let is_inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
    if is_inside {
        return Ok(());
    }
    Err(EditError::LeadsOut {
        path: path.to_owned(),
        real,
        root: root.to_owned(),
    })
}
