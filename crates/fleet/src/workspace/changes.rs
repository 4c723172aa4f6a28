//! The changes of an attempt: patch, list of files and bundle, read back before they count.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use lapidary::engine::git::{GitError, GitRunner};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{AttemptWorkspace, WorkspaceError, files_error};
use crate::{BUNDLE_ARTIFACT, FILES_ARTIFACT, PATCH_ARTIFACT};

/// The most directories and files that are searched for repositories that the agent made below its workspace.
const MOST_SEARCHED: usize = 200_000;

/// The mode of a submodule in git's lists.
const SUBMODULE: &[u8] = b"160000";

/// The options of the patch: complete, and independent of any git configuration.
const PATCH_OPTIONS: [&str; 9] = [
    "diff-tree",
    "-r",
    "-p",
    "--binary",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
];

/// The changes of an attempt.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectedChanges {
    /// The commit that the agent began with.
    pub base: String,
    /// The tree of all files as the agent left them.
    pub tree: String,
    /// The agent's last commit, if it made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// How many commits the agent made.
    pub commits: u64,
    /// The changed files.
    pub files: Vec<ChangedFile>,
    /// Parts of the workspace that the patch lacks. A workspace with such a part is not removed by itself.
    pub left_out: Vec<String>,
    /// The files to upload.
    #[serde(skip)]
    pub artifacts: Vec<CollectedFile>,
}

/// A file that the agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path. Bytes that are no text are replaced.
    pub path: String,
    /// `added`, `modified`, `deleted` or `type_changed`.
    pub status: &'static str,
}

/// A file of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedFile {
    /// Its name in the store.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its hash.
    pub sha256: [u8; 32],
}

impl AttemptWorkspace {
    /// Collects the changes. The agent must have ended.
    pub async fn collect(&self) -> Result<CollectedChanges, WorkspaceError> {
        let mut left_out = Vec::new();
        let commits = self.fetch_commits(&mut left_out).await?;
        let tree = self.write_tree(&mut left_out).await?;
        let patch = self.result_directory().join(PATCH_ARTIFACT);
        self.write_patch(&tree, &patch).await?;
        self.verify_patch(&tree, &patch).await?;
        let mut changes = CollectedChanges {
            base: self.base.clone(),
            files: self.changed_files(&tree, &mut left_out).await?,
            tree,
            head: commits.head.clone(),
            commits: commits.count,
            left_out,
            artifacts: Vec::new(),
        };
        let list = self.result_directory().join(FILES_ARTIFACT);
        let json = serde_json::to_vec(&changes).map_err(io::Error::from);
        let written = json.and_then(|json| std::fs::write(&list, json));
        written.map_err(|source| files_error(&list, source))?;
        changes.artifacts = vec![
            collected(PATCH_ARTIFACT, "text/x-patch", patch)?,
            collected(FILES_ARTIFACT, "application/json", list)?,
        ];
        let bundle = self.result_directory().join(BUNDLE_ARTIFACT);
        if self.write_bundle(&commits, &bundle).await? {
            let media_type = "application/x-git-bundle";
            changes
                .artifacts
                .push(collected(BUNDLE_ARTIFACT, media_type, bundle)?);
        }
        Ok(changes)
    }

    /// Git with our own directory and an index of this name. Nothing of the agent's repository is read.
    pub(super) fn private_git(&self, index: &str) -> GitRunner {
        let private = self.private();
        self.git
            .clone()
            .with_variable("GIT_INDEX_FILE", private.join(index))
            .with_variable("GIT_DIR", private)
            .with_variable("GIT_ATTR_SOURCE", &self.empty_tree)
    }

    /// The tree of the files in the workspace, untracked ones included. Files that the repository ignores are left out.
    async fn write_tree(&self, left_out: &mut Vec<String>) -> Result<String, WorkspaceError> {
        let tree = self.tree();
        let git = self.private_git("index");
        let git = git.with_variable("GIT_WORK_TREE", &tree);
        git.run(&tree, &["read-tree", &self.base]).await?;
        let mut nested = nested_repositories(&tree);
        nested.extend(self.filled_submodules(&git).await?);
        let mut chosen = b".\0".to_vec();
        for path in &nested {
            let path = path.as_os_str().as_encoded_bytes();
            left_out.push(own_repository(path));
            chosen.extend([b":(exclude,literal)", path, b"\0"].concat());
        }
        // A file: there may be more of them than a command line takes.
        let list = self.private().join("chosen");
        fs::write(&list, chosen).map_err(|source| files_error(&list, source))?;
        let mut from_list = OsString::from("--pathspec-from-file=");
        from_list.push(&list);
        let add = ["add", "--all", "--ignore-errors", "--pathspec-file-nul"];
        let add: Vec<_> = add.iter().map(OsStr::new).chain([&*from_list]).collect();
        match git.run(&tree, &add).await {
            Ok(()) => {}
            Err(GitError::Failed { said, .. }) => {
                left_out.push(format!("git could not add: {said}"));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(git.text(&tree, &["write-tree"]).await?)
    }

    /// The submodules of the base that are repositories now. Git must not look at one: to find out whether it has changes, `git add` runs
    /// `git status` in it, and that runs the filters of its configuration, which the agent wrote.
    async fn filled_submodules(
        &self,
        git: &GitRunner,
    ) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        let tree = self.tree();
        let list = self.private().join("base-files");
        let failed = |source| files_error(&list, source);
        let args = ["ls-files", "--stage", "-z"];
        git.run_into(&tree, &args, &list).await?;
        let mut found = BTreeSet::new();
        for line in BufReader::new(File::open(&list).map_err(failed)?).split(0) {
            let line = line.map_err(failed)?;
            let Some(at) = line.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let path = path_from_git(&line[at + 1..]);
            let is_filled = || match fs::symlink_metadata(tree.join(&path).join(".git")) {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
            };
            if line.starts_with(SUBMODULE) && is_filled() {
                found.insert(path);
            }
        }
        Ok(found)
    }

    async fn write_patch(&self, tree: &str, patch: &Path) -> Result<(), WorkspaceError> {
        let mut args = PATCH_OPTIONS.to_vec();
        args.extend(["--dst-prefix=b/", &self.base, tree]);
        let git = self.private_git("index");
        Ok(git.run_into(&self.private(), &args, patch).await?)
    }

    /// Applies the patch to the base, and compares the trees.
    async fn verify_patch(&self, tree: &str, patch: &Path) -> Result<(), WorkspaceError> {
        let git = self.private_git("verify");
        let private = self.private();
        git.run(&private, &["read-tree", &self.base]).await?;
        let size = patch
            .metadata()
            .map_err(|source| files_error(patch, source))?;
        if size.len() > 0 {
            let args = ["apply", "--cached", "--whitespace=nowarn", "--"].map(OsStr::new);
            let args: Vec<_> = args.into_iter().chain([patch.as_os_str()]).collect();
            git.run(&private, &args).await?;
        }
        if git.text(&private, &["write-tree"]).await? != tree {
            return Err(WorkspaceError::Unverified);
        }
        Ok(())
    }

    async fn changed_files(
        &self,
        tree: &str,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<ChangedFile>, WorkspaceError> {
        let git = self.private_git("index");
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--abbrev=4",
            "--no-renames",
            &self.base,
            tree,
        ];
        let listed = git.bytes(&self.private(), &args).await?;
        let mut fields = listed.split(|byte| *byte == 0);
        let mut files = Vec::new();
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let mut about = about.split(|byte| *byte == b' ');
            let mode = about.nth(1);
            let status = about.next_back().unwrap_or_default();
            if mode == Some(SUBMODULE) {
                left_out.push(own_repository(path)); // git adds only its commit
            }
            files.push(ChangedFile {
                path: String::from_utf8_lossy(path).into_owned(),
                status: match status {
                    b"A" => "added",
                    b"D" => "deleted",
                    b"T" => "type_changed",
                    _ => "modified",
                },
            });
        }
        Ok(files)
    }
}

#[cfg(unix)]
fn path_from_git(bytes: &[u8]) -> PathBuf {
    let path: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    path.into()
}

#[cfg(not(unix))]
fn path_from_git(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The note about a repository below the workspace.
fn own_repository(path: &[u8]) -> String {
    format!(
        "`{}` is a repository of its own",
        String::from_utf8_lossy(path)
    )
}

/// Repositories that the agent made below its workspace: git adds only their commit, and none of their files.
fn nested_repositories(tree: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![tree.to_owned()];
    let mut searched = 0;
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            searched += 1;
            if searched > MOST_SEARCHED {
                return found;
            }
            let is_git = entry.file_name() == ".git";
            if is_git && directory != tree {
                let nested = directory.strip_prefix(tree).unwrap_or(&directory);
                found.insert(nested.to_owned());
            } else if !is_git && entry.file_type().is_ok_and(|it| it.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found
}

/// A finished file with its size and hash.
fn collected(
    name: &'static str,
    media_type: &'static str,
    path: PathBuf,
) -> Result<CollectedFile, WorkspaceError> {
    let hashed = File::open(&path).and_then(|mut file| {
        let mut hash = Sha256::new();
        let bytes = io::copy(&mut file, &mut HashWriter(&mut hash))?;
        file.sync_all()?;
        Ok((bytes, hash.finalize().into()))
    });
    let (bytes, sha256) = hashed.map_err(|source| files_error(&path, source))?;
    Ok(CollectedFile {
        name,
        media_type,
        path,
        bytes,
        sha256,
    })
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
