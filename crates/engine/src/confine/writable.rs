//! From a mode, a workspace and an agent to the directories that can be written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::caches::CACHES;
use super::protected::ProtectedFiles;
use super::run::ConfinedRun;
use super::state_place::StatePlace;
use super::{ConfineMode, temporary, worktree};
use crate::detect::{self, SearchEnvironment};
use crate::policy::{follow, lexical};
use crate::process::Confinement;

/// Devices that can do no harm, terminals, and shared memory, which Python and browsers do not work without.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// The request to confine a run.
#[derive(Debug)]
pub(crate) struct ConfineRequest<'a> {
    pub(crate) mode: ConfineMode,
    /// The directories of the workspace, absolute. The agent works in the first.
    pub(crate) roots: &'a [PathBuf],
    /// More directories that can be written.
    pub(crate) extra: &'a [PathBuf],
    /// The ports that can be connected to.
    pub(crate) connect: Option<Vec<u16>>,
    /// Where the agent keeps its state.
    pub(crate) state: &'a [StatePlace],
    /// The environment of the agent.
    pub(crate) environment: &'a SearchEnvironment,
}

/// Why a run cannot be confined as it was asked to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineError {
    /// A directory that would make everything writable.
    #[error("`{}` is {what}: with it, an agent can write everywhere", path.display())]
    Everything {
        /// The directory.
        path: PathBuf,
        /// The purpose of the directory.
        what: &'static str,
    },
    /// A directory of `confine_write` is missing.
    #[error("`confine_write` names `{}`, which cannot be opened: {source}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The agent keeps its state around the workspace, which was to be read only.
    #[error("the workspace `{}` is in `{}`, where the agent keeps its state, and cannot be read-only", root.display(), state.display())]
    StateAround {
        /// The workspace.
        root: PathBuf,
        /// The agent's state directory.
        state: PathBuf,
    },
    /// There is no place for temporary files.
    #[error("cannot create a private temporary directory in `{}`: {source}", base.display())]
    Temporary {
        /// Where it was to be.
        base: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ConfineError {
    /// A step that the user can take.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Everything { .. } => "name a directory below it, or use `--confine off`",
            Self::Missing { .. } => "create it first, or remove it from the list",
            Self::StateAround { .. } => "work in another directory, or use `--confine workspace`",
            Self::Temporary { .. } => "set TMPDIR to a directory that can be written",
        }
    }
}

impl ConfineRequest<'_> {
    /// Checks the request, creates the directories that the agent needs, and remembers the state of protected files.
    pub(crate) fn prepare_confinement(self) -> Result<(Confinement, ConfinedRun), ConfineError> {
        let roots = self.workspace_roots()?;
        let extra = self.extra_directories()?;
        let state = self.state_directories(&roots)?;
        let base = temporary::temporary_base(self.environment);
        let temporary = temporary::create_temporary(&base);
        let temporary = temporary.map_err(|source| ConfineError::Temporary { base, source })?;
        let guarded = match self.mode {
            ConfineMode::Workspace => roots,
            ConfineMode::ReadOnly | ConfineMode::Off => Vec::new(),
        };
        let mut write = guarded.clone();
        write.extend(extra);
        write.extend(state.iter().cloned());
        write.extend(temporary.path().canonicalize());
        if self.mode == ConfineMode::Workspace {
            let common = guarded
                .iter()
                .filter_map(|root| worktree::common_directory(root));
            write.extend(common);
            write.extend(self.cache_directories());
        }
        write.extend(DEVICES.map(PathBuf::from));
        let protected = ProtectedFiles::find(&guarded, &state);
        let confinement = Confinement {
            write,
            connect: self.connect.clone(),
        };
        let directory = self.roots.first().cloned().unwrap_or_default();
        let run = ConfinedRun::new(self.mode, &confinement, directory, protected, temporary);
        Ok((confinement, run))
    }

    /// The workspace, links followed. A further directory that is in the workspace by its name, but outside by a link, is left
    /// out: a repository can contain such a link.
    fn workspace_roots(&self) -> Result<Vec<PathBuf>, ConfineError> {
        let Some((first, more)) = self.roots.split_first() else {
            return Ok(Vec::new());
        };
        let real = |path: &PathBuf| path.canonicalize().ok();
        let work = real(first).unwrap_or_else(|| first.clone());
        let is_honest = |path: &&PathBuf| {
            let is_inside = real(path).is_some_and(|real| real.starts_with(&work));
            is_inside || !(path.starts_with(first) || path.starts_with(&work))
        };
        let more = more.iter().filter(is_honest).filter_map(real);
        let roots: Vec<_> = std::iter::once(work.clone()).chain(more).collect();
        let is_read_only = self.mode == ConfineMode::ReadOnly;
        let all = roots.iter().filter(|_| !is_read_only);
        refuse_everything(all, "a workspace directory")?;
        Ok(roots)
    }

    fn extra_directories(&self) -> Result<Vec<PathBuf>, ConfineError> {
        let real = self.extra.iter().map(|path| {
            let path = self.environment.dir.join(path);
            path.canonicalize()
                .map_err(|source| ConfineError::Missing { path, source })
        });
        let real = real.collect::<Result<Vec<_>, _>>()?;
        refuse_everything(&real, "in `confine_write`")?;
        Ok(real)
    }

    /// The directories of the agent's state. Missing ones are created: the agent could not create them in a home that it cannot
    /// write.
    fn state_directories(&self, roots: &[PathBuf]) -> Result<Vec<PathBuf>, ConfineError> {
        let places = self.state.iter().filter_map(|place| {
            let path = place.in_environment(self.environment)?;
            let path = Some(path).filter(|path| self.stays_inside(path))?;
            place.create_missing(&path);
            path.canonicalize().ok()
        });
        let places: Vec<_> = places.collect();
        refuse_everything(&places, "where the agent keeps its state")?;
        let around = places.iter().find_map(|state| {
            let root = roots.iter().find(|root| root.starts_with(state))?;
            Some((root.clone(), state.clone()))
        });
        match around {
            Some((root, state)) if self.mode == ConfineMode::ReadOnly => {
                Err(ConfineError::StateAround { root, state })
            }
            _ => Ok(places),
        }
    }

    /// Whether a path that is in the workspace by its name is there with links followed, too. A variable can place a cache there, and a
    /// repository, or an earlier run, a link in its place.
    fn stays_inside(&self, path: &Path) -> bool {
        let (named, real) = (lexical(path), follow(path).ok());
        let is_in = |path: &Path, root: &PathBuf| {
            path.starts_with(root) || follow(root).is_ok_and(|root| path.starts_with(root))
        };
        let mut roots = self.roots.iter();
        let mut real_roots = self.roots.iter().filter_map(|root| follow(root).ok());
        !roots.any(|root| is_in(&named, root))
            || real.is_some_and(|real| real_roots.any(|root| real.starts_with(root)))
    }

    fn cache_directories(&self) -> Vec<PathBuf> {
        let mut caches = Vec::new();
        for cache in CACHES {
            for place in cache.places {
                caches.extend(self.cache_directory(cache.tool, place));
            }
        }
        caches
    }

    /// A cache, if it is there, or if the tool is that would create it.
    fn cache_directory(&self, tool: &str, place: &StatePlace) -> Option<PathBuf> {
        let path = place.in_environment(self.environment)?;
        let path = Some(path).filter(|path| self.stays_inside(path))?;
        if !path.exists() {
            let home = self.environment.home.as_ref();
            home.filter(|home| home.is_dir())?;
            detect::on_path(tool, self.environment)?;
            place.create_missing(&path);
        }
        let real = path.canonicalize().ok()?;
        (real != Path::new("/")).then_some(real)
    }
}

/// The variables that lead the agent to its temporary directory.
pub(crate) fn temporary_variables(run: &Arc<ConfinedRun>) -> Vec<(&'static str, PathBuf)> {
    let temporary = run.temporary.lock().ok();
    let path = temporary.and_then(|it| it.as_ref().map(|it| it.path().to_owned()));
    let names = temporary::VARIABLES.into_iter();
    path.map_or_else(Vec::new, |path| {
        names.map(|name| (name, path.clone())).collect()
    })
}

fn refuse_everything<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
    what: &'static str,
) -> Result<(), ConfineError> {
    let mut paths = paths.into_iter();
    match paths.find(|path| path.parent().is_none()) {
        Some(path) => Err(ConfineError::Everything {
            path: path.clone(),
            what,
        }),
        None => Ok(()),
    }
}
