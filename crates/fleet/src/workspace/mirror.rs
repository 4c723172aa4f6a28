//! A bare mirror of each repository: fetched under a lock, never pruned of objects, since workspaces borrow them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary::engine::git::{GitError, GitRunner, shown};
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::{WorkspaceError, files_error, make_directories, reference};

/// The pause between two attempts to take a lock that another worker holds.
const LOCK_LOOK: Duration = Duration::from_millis(50);

/// A file in the mirror. Its modification time is the time of the mirror's last use.
pub(super) const USED: &str = "lapidary-used";

/// A mirror of a repository.
#[derive(Debug)]
pub(super) struct RepositoryMirror {
    directory: PathBuf,
    lock: PathBuf,
    url: String,
}

/// The state of a mirror that was fetched.
#[derive(Debug)]
pub(super) struct FetchedMirror {
    pub(super) base: String,
    pub(super) empty_tree: String,
    pub(super) object_format: String,
    /// The commit of the branch to push to, if there is one.
    pub(super) push_expected: Option<String>,
}

impl RepositoryMirror {
    /// The mirror of an address, which need not exist yet.
    pub(super) fn open(root: &Path, url: &str) -> Result<Self, WorkspaceError> {
        let mirrors = root.join("mirrors");
        make_directories(&mirrors)?;
        let directory = mirrors.join(mirror_name(url));
        Ok(Self {
            lock: lock_path(&directory),
            directory,
            url: url.to_owned(),
        })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Fetches branches and tags, and resolves the reference. One process at a time.
    pub(super) async fn fetch(
        &self,
        git: &GitRunner,
        name: Option<&str>,
        push: Option<&str>,
    ) -> Result<FetchedMirror, WorkspaceError> {
        push.map(reference::check_name).transpose()?;
        let candidates = name.map(reference::candidates).transpose()?;
        let _lock = self.lock().await?;
        self.make(git).await?;
        let fetch = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--end-of-options",
            &self.url,
            "+refs/heads/*:refs/heads/*",
            "+refs/tags/*:refs/tags/*",
        ];
        git.run_with_url(&self.directory, &self.url, &fetch).await?;
        let candidates = match candidates {
            Some(candidates) => candidates,
            None => vec![self.default_branch(git).await?],
        };
        let base = self.resolve(git, &candidates).await?;
        let shown_name = || name.unwrap_or("HEAD").to_owned();
        Ok(FetchedMirror {
            base: base.ok_or_else(|| WorkspaceError::NoReference {
                shown: shown(&self.url),
                name: shown_name(),
            })?,
            empty_tree: git
                .text(&self.directory, &["hash-object", "-t", "tree", "/dev/null"])
                .await?,
            object_format: git
                .text(&self.directory, &["rev-parse", "--show-object-format"])
                .await?,
            push_expected: match push {
                Some(branch) => self.resolve(git, &[format!("refs/heads/{branch}")]).await?,
                None => None,
            },
        })
    }

    /// Waits for the lock. A worker that dies leaves no lock behind.
    async fn lock(&self) -> Result<File, WorkspaceError> {
        let failed = |source| files_error(&self.lock, source);
        let lock = File::create(&self.lock).map_err(failed)?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(fs::TryLockError::WouldBlock) => sleep(LOCK_LOOK).await,
                Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }

    /// Makes the mirror, or what a git that was killed left unmade.
    async fn make(&self, git: &GitRunner) -> Result<(), WorkspaceError> {
        make_directories(&self.directory)?;
        remove_remains(&self.directory);
        let init = ["init", "--quiet", "--bare", "--template=", "."];
        git.run(&self.directory, &init).await?;
        let used = self.directory.join(USED);
        fs::write(&used, self.url.as_bytes()).map_err(|source| files_error(&used, source))
    }

    /// The branch that the repository's `HEAD` names.
    async fn default_branch(&self, git: &GitRunner) -> Result<String, WorkspaceError> {
        let output = self.directory.join("lapidary-head");
        let args = [
            "ls-remote",
            "--symref",
            "--end-of-options",
            &self.url,
            "HEAD",
        ];
        git.run_with_url_into(&self.directory, &self.url, &args, &output)
            .await?;
        let listed = fs::read_to_string(&output).map_err(|source| files_error(&output, source))?;
        let name = listed.lines().find_map(|line| {
            let (target, _) = line.strip_prefix("ref: ")?.split_once('\t')?;
            target.starts_with("refs/heads/").then(|| target.to_owned())
        });
        name.ok_or_else(|| WorkspaceError::NoReference {
            shown: shown(&self.url),
            name: "HEAD".to_owned(),
        })
    }

    /// The commit of the first name that exists.
    async fn resolve(
        &self,
        git: &GitRunner,
        candidates: &[String],
    ) -> Result<Option<String>, WorkspaceError> {
        for name in candidates {
            let commit = format!("{name}^{{commit}}");
            let parse = [
                "rev-parse",
                "--quiet",
                "--verify",
                "--end-of-options",
                &commit,
            ];
            match git.text(&self.directory, &parse).await {
                Ok(commit) => return Ok(Some(commit)),
                Err(GitError::Failed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// Removes what a git that was killed in the middle of a fetch left: its lock files, with which each later fetch fails, and its half
/// packs. Git runs here under the mirror's lock only, so no living one needs them.
fn remove_remains(mirror: &Path) {
    let mut open = vec![mirror.join("refs")];
    let mut files = files_in(mirror);
    files.extend(files_in(&mirror.join("objects/pack")));
    while let Some(directory) = open.pop() {
        for path in files_in(&directory) {
            let list = if path.is_dir() { &mut open } else { &mut files };
            list.push(path);
        }
    }
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.ends_with(b".lock") || name.starts_with(b"tmp_")
    };
    for file in files.iter().filter(|it| is_left(it)) {
        let _ = fs::remove_file(file); // else git names it
    }
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|it| it.path()).collect()
}

/// The file beside a mirror that is locked while it is fetched or removed.
fn lock_path(directory: &Path) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// The lock of a mirror. None if another program has it.
pub(super) fn try_lock(directory: &Path) -> Option<File> {
    let lock = File::create(lock_path(directory)).ok()?;
    lock.try_lock().ok()?;
    Some(lock)
}

/// A name for people, and a hash that tells addresses apart.
fn mirror_name(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next();
    let last = last.unwrap_or_default().trim_end_matches(".git");
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '-' || *it == '_';
    let name: String = last.chars().filter(is_plain).take(40).collect();
    let hash = Sha256::digest(url.as_bytes());
    let hash = u64::from_be_bytes(std::array::from_fn(|at| hash[at]));
    format!("{name}-{hash:016x}.git")
}
