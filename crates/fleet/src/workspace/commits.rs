//! The commits that an agent made, fetched from its repository into ours.

use std::ffi::OsStr;
use std::path::Path;

use lapidary::engine::git::GitError;

use super::{AttemptWorkspace, WorkspaceError};

/// The commits of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentCommits {
    /// The last commit of the checked out branch, if it is not the base.
    pub(super) head: Option<String>,
    /// How many are new.
    pub(super) count: u64,
}

impl AttemptWorkspace {
    /// Fetches the agent's commits. Of all commands only this one may run on a repository that others control; one that the agent
    /// has broken is noted in `left_out`.
    pub(super) async fn fetch_commits(
        &self,
        left_out: &mut Vec<String>,
    ) -> Result<AgentCommits, WorkspaceError> {
        let git = self.private_git("index");
        let private = self.private();
        let tree = self.tree();
        let from = tree.as_os_str();
        for refs in [
            [
                "+refs/heads/*:refs/agent/heads/*",
                "+refs/tags/*:refs/agent/tags/*",
            ]
            .as_slice(),
            &["+HEAD:refs/agent/HEAD"],
        ] {
            let options = [
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                "--no-auto-maintenance",
                "--end-of-options",
            ];
            let mut args: Vec<_> = options.iter().map(OsStr::new).collect();
            args.push(from);
            args.extend(refs.iter().map(OsStr::new));
            match git.run(&private, &args).await {
                Ok(()) => {}
                Err(GitError::Failed { said, .. }) => {
                    left_out.push(format!("commits could not be read: {said}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let count = [
            "rev-list",
            "--count",
            "--glob=refs/agent/*",
            "--not",
            &self.base,
        ];
        let count = git.text(&private, &count).await?;
        let head = [
            "rev-parse",
            "--quiet",
            "--verify",
            "refs/agent/HEAD^{commit}",
        ];
        let head = git.text(&private, &head).await.ok();
        Ok(AgentCommits {
            head: head.filter(|head| *head != self.base),
            count: count.parse().unwrap_or_default(),
        })
    }

    /// Writes the bundle of the new commits, and reads it back. False if there are none.
    pub(super) async fn write_bundle(
        &self,
        commits: &AgentCommits,
        bundle: &Path,
    ) -> Result<bool, WorkspaceError> {
        if commits.count == 0 {
            return Ok(false);
        }
        let git = self.private_git("index");
        let private = self.private();
        let path = bundle.as_os_str();
        let create = ["bundle", "create", "--quiet"].map(OsStr::new);
        let commits = ["--glob=refs/agent/*", "--not", &self.base].map(OsStr::new);
        let create: Vec<_> = create.into_iter().chain([path]).chain(commits).collect();
        git.run(&private, &create).await?;
        let verify = ["bundle", "verify", "--quiet"].map(OsStr::new);
        let verify: Vec<_> = verify.into_iter().chain([path]).collect();
        git.run(&private, &verify).await?;
        Ok(true)
    }
}
