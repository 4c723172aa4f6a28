//! The workspace of an attempt: a repository of its own that borrows its objects from a mirror, and the changes that the agent
//! makes in it.
//!
//! The agent can write everything in its workspace, the configuration of its repository included. So no command of ours runs in
//! that repository once the agent had it: commits are fetched from it, which git promises to do without running code of it, and
//! changed files are read with a git directory of ours. `git worktree` would share the configuration of the mirror with every
//! agent, and could not confine them to their own files.

mod changes;
mod commits;
mod disk;
mod gc;
mod mirror;
mod publish;
mod record;
mod reference;
mod setup;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::git::{CloneLimits, GitError, GitRunner};
use lapidary::engine::process::Supervisor;

pub use changes::{ChangedFile, CollectedChanges, CollectedFile};
pub use disk::DiskFloor;
pub use gc::{CollectedGarbage, GcLimits, GcVerdict};
pub use publish::PushReport;
pub use record::WorkspaceRecord;
pub use setup::{SetupCommand, SetupError, SetupPlace};

use mirror::RepositoryMirror;

/// The worktree, in which the agent works.
const TREE: &str = "tree";
/// Our own git directory for the changes.
const PRIVATE: &str = "private.git";
/// The files that are uploaded.
const RESULT: &str = "result";

/// Where the workspaces and mirrors of a worker are, and how git runs there.
#[derive(Debug, Clone)]
pub struct WorkspaceRoot {
    directory: PathBuf,
    git: Option<GitRunner>,
    limits: CloneLimits,
}

/// A repository as a ticket names it.
#[derive(Debug, Clone, Copy)]
pub struct RepositoryRequest<'a> {
    /// A URL, or a path on this machine.
    pub repo: &'a str,
    /// A branch, a tag or a commit; the default branch if absent.
    pub reference: Option<&'a str>,
    /// The branch to which the result is pushed.
    pub push: Option<&'a str>,
}

/// The workspace of one attempt.
#[derive(Debug)]
pub struct AttemptWorkspace {
    directory: PathBuf,
    git: GitRunner,
    mirror: PathBuf,
    url: String,
    /// The commit that the agent began with.
    pub base: String,
    /// The id of a tree without files: attributes are read from it, so that the repository chooses no filter.
    empty_tree: String,
    push: Option<PushTarget>,
}

/// A branch to push to, and the commit that it had when the workspace was made.
#[derive(Debug, Clone)]
struct PushTarget {
    branch: String,
    expected: Option<String>,
}

/// Why there is no workspace, or why its changes could not be collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// An address with a password, or of a kind that is not fetched.
    #[error("`{shown}` cannot be used as a repository: {reason}")]
    BadRepository {
        /// The address without its password.
        shown: String,
        /// The reason in words.
        reason: &'static str,
    },
    /// A text that is no name of a branch, tag or commit.
    #[error("`{name}` is not the name of a branch, a tag or a commit")]
    BadReference {
        /// The text.
        name: String,
    },
    /// The repository has no such branch, tag or commit.
    #[error("the repository `{shown}` has no `{name}`")]
    NoReference {
        /// The address without its password.
        shown: String,
        /// The branch, tag or commit.
        name: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file or directory of ours cannot be used.
    #[error("cannot use `{}`", path.display())]
    Files {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A patch that does not give the agent's files when it is applied.
    #[error("the patch of the attempt does not give its files back")]
    Unverified,
}

impl WorkspaceError {
    /// Whether the ticket itself is wrong: no other worker can do better.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::BadRepository { .. }
                | Self::BadReference { .. }
                | Self::NoReference { .. }
                | Self::Git(GitError::BadUrl(_))
        )
    }
}

impl WorkspaceRoot {
    /// Workspaces below a directory of ours. Without git there are no repositories.
    pub fn new(
        directory: impl Into<PathBuf>,
        environment: &SearchEnvironment,
        supervisor: &Supervisor,
    ) -> Self {
        Self {
            directory: directory.into(),
            git: GitRunner::find(environment, supervisor).ok(),
            limits: CloneLimits {
                bytes: 8 * 1024 * 1024 * 1024,
                entries: 2_000_000,
            },
        }
    }

    /// Sets how much a repository may hold.
    #[must_use]
    pub fn with_limits(mut self, limits: CloneLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The directory of an attempt without a repository: empty, and the agent's own.
    pub fn empty(&self, run: &str) -> Result<PathBuf, WorkspaceError> {
        let directory = self.attempt_directory(run);
        set_aside(&directory).map_err(|source| files_error(&directory, source))?;
        let tree = directory.join(TREE);
        make_directories(&tree)?;
        Ok(tree)
    }

    /// Makes the workspace of an attempt: fetches the mirror, resolves the reference, and checks its commit out.
    pub async fn prepare(
        &self,
        run: &str,
        request: RepositoryRequest<'_>,
    ) -> Result<AttemptWorkspace, WorkspaceError> {
        let own = self.git.clone().ok_or(GitError::NoGit)?;
        let url = reference::repository_url(request.repo)?;
        let mirror = RepositoryMirror::open(&self.directory, &url)?;
        let git = own.clone().limited(mirror.directory(), self.limits);
        let fetched = mirror.fetch(&git, request.reference, request.push).await?;
        let directory = self.attempt_directory(run);
        let workspace = AttemptWorkspace {
            git: own,
            mirror: mirror.directory().to_owned(),
            url,
            base: fetched.base,
            empty_tree: fetched.empty_tree,
            push: request.push.map(|branch| PushTarget {
                branch: branch.to_owned(),
                expected: fetched.push_expected,
            }),
            directory,
        };
        let checked_out = workspace.check_out(&fetched.object_format, self.limits);
        if let Err(error) = checked_out.await {
            // No agent was here yet. A tree beyond the limits must not fill the disk until garbage is collected.
            let _ = fs::remove_dir_all(workspace.tree()); // else garbage collection removes it
            return Err(error);
        }
        Ok(workspace)
    }

    fn attempt_directory(&self, run: &str) -> PathBuf {
        self.directory.join("workspaces").join(run)
    }
}

impl AttemptWorkspace {
    /// The directory in which the agent works.
    pub fn tree(&self) -> PathBuf {
        self.directory.join(TREE)
    }

    /// The directory with the files that are uploaded.
    pub fn result_directory(&self) -> PathBuf {
        self.directory.join(RESULT)
    }

    fn private(&self) -> PathBuf {
        self.directory.join(PRIVATE)
    }

    /// Checks the base out into a repository of the agent's own, and makes ours beside it.
    async fn check_out(&self, format: &str, limits: CloneLimits) -> Result<(), WorkspaceError> {
        let tree = self.tree();
        let result = self.result_directory();
        for directory in [&tree, &result] {
            make_directories(directory)?;
        }
        let format = format!("--object-format={format}");
        let init = ["init", "--quiet", "--template=", &format, "."];
        self.git.run(&tree, &init).await?;
        self.borrow_objects(&tree.join(".git"))?;
        let git = self.git.clone().limited(&tree, limits);
        let git = git.with_variable("GIT_ATTR_SOURCE", &self.empty_tree);
        let check_out = ["checkout", "--quiet", "--detach", &self.base];
        git.run(&tree, &check_out).await?;

        let private = self.private();
        make_directories(&private)?;
        let init = ["init", "--quiet", "--bare", "--template=", &format, "."];
        self.git.run(&private, &init).await?;
        self.borrow_objects(&private)
    }

    /// Lets a repository read the objects of the mirror.
    fn borrow_objects(&self, git_directory: &Path) -> Result<(), WorkspaceError> {
        let info = git_directory.join("objects/info");
        make_directories(&info)?;
        let mut line = self.mirror.join("objects").into_os_string();
        line.push("\n");
        let file = info.join("alternates");
        fs::write(&file, line.as_encoded_bytes()).map_err(|source| files_error(&file, source))
    }
}

/// Renames a directory of an earlier run with the same id. There is one only if the store was restored from a backup, and gives terms
/// for a second time.
pub(crate) fn set_aside(directory: &Path) -> io::Result<()> {
    let mut earlier = directory.as_os_str().to_owned();
    earlier.push(format!("-{}", crate::fresh_nonce()));
    match fs::rename(directory, earlier) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make_directories(path: &Path) -> Result<(), WorkspaceError> {
    lapidary::engine::recording::private_directories(path)
        .map_err(|source| files_error(path, source))
}

fn files_error(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::Files {
        path: path.to_owned(),
        source,
    }
}
