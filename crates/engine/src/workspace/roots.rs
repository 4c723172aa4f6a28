//! Which paths are inside.
//!
//! This module resolves a path by hand, link by link, so that also a missing file has a resolved path, and a dangling link is
//! judged by its target. The resolved path is opened later without following any link (see `disk`): a process that swaps in a
//! link meanwhile gets an error.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::params::{RequestParams, bad, without_nul};
use crate::acp::RpcError;
use crate::policy::lexical;

/// As many links as Linux follows.
const LINKS: usize = 40;

/// As long as a path can be on Linux. Longer ones are not even looked at.
const LONGEST: usize = 4096;

/// The directories that everything has to stay in, without links on the way.
#[derive(Debug)]
pub(super) struct WorkspaceRoots(Vec<PathBuf>);

/// Where a path leads: inside the roots, and without links on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    pub(super) path: PathBuf,
    /// How many of its names, from the first, belong to a root.
    pub(super) root_names: usize,
}

impl WorkspaceRoots {
    pub(super) fn open(roots: &[PathBuf]) -> Self {
        // One that cannot be followed is a place where nothing will be found.
        let followed = |root: &PathBuf| follow(root).unwrap_or_else(|_| lexical(root));
        let absolute = roots.iter().filter(|root| root.is_absolute());
        Self(absolute.map(followed).collect())
    }

    pub(super) fn all(&self) -> &[PathBuf] {
        &self.0
    }

    /// Where the path leads that stands in the parameters.
    pub(super) fn place_in(
        &self,
        params: &RequestParams<'_>,
        key: &str,
    ) -> Result<ResolvedPath, RpcError> {
        let asked = without_nul(key, params.required(key)?)?;
        if asked.len() > LONGEST {
            return Err(bad(format!("`{key}` is too long for a path")));
        }
        self.place(Path::new(&asked))
    }

    /// The resolved path. `..` behind a link is read in two ways: a shell leaves the directory that the link leads to, most
    /// programs take the link's name away. A path that leads to two places is refused, so that a prompt never names one file
    /// while the agent gets the other.
    pub(super) fn place(&self, asked: &Path) -> Result<ResolvedPath, RpcError> {
        if !asked.is_absolute() {
            return Err(bad(format!(
                "`{}` is not an absolute path",
                asked.display()
            )));
        }
        let place = self.inside(asked, follow(asked))?;
        let plain = self.inside(asked, follow(&lexical(asked)))?;
        if place != plain {
            let words = "leads to two places: there is a link before its `..`";
            return Err(bad(format!("`{}` {words}", asked.display())));
        }
        Ok(place)
    }

    /// The resolved path, if it is inside. For a path outside, the error does not reveal whether it exists.
    fn inside(
        &self,
        asked: &Path,
        followed: Result<PathBuf, LostPath>,
    ) -> Result<ResolvedPath, RpcError> {
        let at = match &followed {
            Ok(path) => path,
            Err(lost) => &lost.at,
        };
        let root = self.0.iter().filter(|root| at.starts_with(root));
        let Some(root_names) = root.map(|root| names(root)).min() else {
            let words = format!("`{}` is outside the workspace", asked.display());
            return Err(RpcError::new(RpcError::DENIED, words));
        };
        match followed {
            Ok(path) => Ok(ResolvedPath { path, root_names }),
            Err(lost) => Err(bad(format!(
                "cannot follow `{}`: {}",
                asked.display(),
                lost.error
            ))),
        }
    }
}

fn names(path: &Path) -> usize {
    let is_name = |component: &Component<'_>| matches!(component, Component::Normal(_));
    path.components().filter(is_name).count()
}

/// Where following a path ended before its end.
struct LostPath {
    at: PathBuf,
    error: io::Error,
}

/// The target of a path, as the system would find it. A missing file leads to itself.
fn follow(path: &Path) -> Result<PathBuf, LostPath> {
    let mut at = PathBuf::new();
    let mut ahead = reversed(path);
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
                if links > LINKS {
                    let error = io::Error::other("too many links");
                    return Err(LostPath { at, error });
                }
                at.pop();
                ahead.extend(reversed(&target));
            }
            // An absolute path replaces all components before it.
            Some(Component::Prefix(_) | Component::RootDir) => at.push(part),
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(at)
}

/// The parts of a path, the first one last.
fn reversed(path: &Path) -> Vec<PathBuf> {
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

/// Whether an error means that the file is missing. Below a file all paths are missing, too.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
