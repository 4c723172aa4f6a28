//! The directories that files have to stay in.
//!
//! A path is followed here by hand, link by link, to where it leads, so that a file that does not exist yet has a place, too, and a link to
//! nothing is known by where it points. The place is opened later without following any link
//! ([`confined_files`](crate::confined_files)): a link that is swapped in between is an error, never a way out.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::resolved_path::lexical;

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Directories that files have to stay in, without links on the way.
#[derive(Debug, Clone)]
pub struct WorkspaceRoots(Vec<PathBuf>);

/// A place inside the roots, without links on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootedPlace {
    /// Where the path leads.
    pub path: PathBuf,
    /// How many parts of it, from the first, are those of a root, and have to exist.
    pub root_parts: usize,
}

/// Why a path has no place inside the roots.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It begins nowhere.
    #[error("`{}` is not an absolute path", path.display())]
    NotAbsolute {
        /// The path.
        path: PathBuf,
    },
    /// It leads out of the roots. Nothing more is said, not even whether a file is there.
    #[error("`{}` is outside the workspace", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// A shell and other programs find different files at it.
    #[error("`{}` leads to two places: there is a link before its `..`", path.display())]
    Ambiguous {
        /// The path.
        path: PathBuf,
    },
    /// A directory or a link on the way cannot be read.
    #[error("cannot follow `{}`: {source}", path.display())]
    Unfollowable {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Where following a path ended before its end.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct LostPath {
    /// The part that cannot be followed.
    pub at: PathBuf,
    /// The error of the system.
    pub error: io::Error,
}

impl WorkspaceRoots {
    /// These directories, links followed. Relative ones do not count, and below one that cannot be followed nothing is found.
    pub fn new(roots: &[PathBuf]) -> Self {
        let followed = |root: &PathBuf| follow(root).unwrap_or_else(|_| lexical(root));
        let absolute = roots.iter().filter(|root| root.is_absolute());
        Self(absolute.map(followed).collect())
    }

    /// The directories.
    pub fn all(&self) -> &[PathBuf] {
        &self.0
    }

    /// Where a path leads. `..` behind a link is read in two ways: a shell leaves the directory that the link leads to, most programs
    /// take the link's name away. A path that leads to two places is refused, so that one is never judged and the other opened.
    ///
    /// # Errors
    /// The path has no single place inside.
    pub fn place(&self, asked: &Path) -> Result<RootedPlace, PlaceError> {
        let path = || asked.to_owned();
        if !asked.is_absolute() {
            return Err(PlaceError::NotAbsolute { path: path() });
        }
        let place = self.rooted_place(asked, follow(asked))?;
        let plain = self.rooted_place(asked, follow(&lexical(asked)))?;
        if place != plain {
            return Err(PlaceError::Ambiguous { path: path() });
        }
        Ok(place)
    }

    fn rooted_place(
        &self,
        asked: &Path,
        followed: Result<PathBuf, LostPath>,
    ) -> Result<RootedPlace, PlaceError> {
        let at = match &followed {
            Ok(path) => path,
            Err(lost) => &lost.at,
        };
        let roots = self.0.iter().filter(|root| at.starts_with(root));
        let path = asked.to_owned();
        let Some(root_parts) = roots.map(|root| root.components().count()).min() else {
            return Err(PlaceError::Outside { path });
        };
        match followed {
            Ok(path) => Ok(RootedPlace { path, root_parts }),
            Err(lost) => Err(PlaceError::Unfollowable {
                path,
                source: lost.error,
            }),
        }
    }
}

/// Where a path leads, as the system would find it. A path to nothing leads to itself.
///
/// # Errors
/// A part on the way cannot be read, or there are links in a circle.
pub fn follow(path: &Path) -> Result<PathBuf, LostPath> {
    let mut at = PathBuf::new();
    let mut ahead = reversed_parts(path);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                at.push(name);
                let link = match link_at(&at) {
                    Ok(link) => link,
                    Err(error) => return Err(LostPath { at, error }),
                };
                let Some(target) = link else { continue };
                links += 1;
                if links > MOST_LINKS {
                    let error = io::Error::other("too many links");
                    return Err(LostPath { at, error });
                }
                at.pop();
                ahead.extend(reversed_parts(&target));
            }
            // An absolute part takes the place of all before it.
            Some(Component::Prefix(_) | Component::RootDir) => at.push(part),
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(at)
}

/// The parts of a path, the first one last.
fn reversed_parts(path: &Path) -> Vec<PathBuf> {
    let parts = path
        .components()
        .map(|part| PathBuf::from(part.as_os_str()));
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts
}

/// Where the link leads that is there, if one is.
fn link_at(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::read_link(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an error says that nothing is there. Below a file there is nothing either, and no file has a name that is too long.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_has_a_place_only_if_it_leads_inside_and_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        symlink("src/deep", root.join("link")).unwrap();
        symlink("../..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let roots = WorkspaceRoots::new(&[root.clone(), PathBuf::from("relative")]);
        assert_eq!(roots.all(), std::slice::from_ref(&root));
        let place = roots.place(&root.join("link/new.txt")).unwrap();
        assert_eq!(place.path, root.join("src/deep/new.txt"));
        assert_eq!(place.root_parts, root.components().count());
        let refusal = |path: &str| roots.place(&root.join(path)).unwrap_err();
        assert!(matches!(refusal("up/x"), PlaceError::Outside { .. }));
        assert!(matches!(refusal("../x"), PlaceError::Outside { .. }));
        assert!(matches!(refusal("link/../x"), PlaceError::Ambiguous { .. }));
        assert!(matches!(refusal("loop/x"), PlaceError::Unfollowable { .. }));
        let relative = roots.place(Path::new("src")).unwrap_err();
        assert!(matches!(relative, PlaceError::NotAbsolute { .. }));
    }
}
