//! Pushes the changes of an attempt to a branch. A push that fails is reported; the patch stays.

use lapidary::engine::git::GitRunner;
use serde::Serialize;

use super::{AttemptWorkspace, CollectedChanges, WorkspaceError};

/// The author of a commit of ours, if the worker's git has none.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Lapidary"),
    ("GIT_AUTHOR_EMAIL", "lapidary@localhost"),
    ("GIT_COMMITTER_NAME", "Lapidary"),
    ("GIT_COMMITTER_EMAIL", "lapidary@localhost"),
];

/// The end of a push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushReport {
    /// The branch.
    pub branch: String,
    /// The commit that was, or was to be, pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why it was not pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AttemptWorkspace {
    /// Pushes the changes, if the workspace was made for that. The branch must be as it was when the workspace was made.
    pub async fn push(&self, changes: &CollectedChanges, message: &str) -> Option<PushReport> {
        let target = self.push.as_ref()?;
        let commit = match self.commit_of(changes, message).await {
            Ok(commit) => commit,
            Err(error) => {
                return Some(PushReport {
                    branch: target.branch.clone(),
                    commit: None,
                    error: Some(error.to_string()),
                });
            }
        };
        let branch = format!("refs/heads/{}", target.branch);
        let expected = target.expected.as_deref().unwrap_or_default();
        let lease = format!("--force-with-lease={branch}:{expected}");
        let refspec = format!("{commit}:{branch}");
        let push = [
            "push",
            "--quiet",
            "--no-verify",
            "--recurse-submodules=no",
            &lease,
            "--end-of-options",
            &self.url,
            &refspec,
        ];
        let git = self.private_git("index");
        let pushed = git.run_with_url(&self.private(), &self.url, &push).await;
        Some(PushReport {
            branch: target.branch.clone(),
            commit: Some(commit),
            error: pushed.err().map(|error| error.to_string()),
        })
    }

    /// The agent's own last commit, or one of ours on top of it with the files that it did not commit.
    async fn commit_of(
        &self,
        changes: &CollectedChanges,
        message: &str,
    ) -> Result<String, WorkspaceError> {
        let private = self.private();
        let git = self.private_git("index");
        let parent = changes.head.as_deref().unwrap_or(&self.base);
        let tree = format!("{parent}^{{tree}}");
        let committed = git
            .text(&private, &["rev-parse", "--verify", &tree])
            .await?;
        if committed == changes.tree {
            return Ok(parent.to_owned());
        }
        let git = self.with_author(git).await;
        let args = ["commit-tree", &changes.tree, "-p", parent, "-m", message];
        Ok(git.text(&private, &args).await?)
    }

    async fn with_author(&self, git: GitRunner) -> GitRunner {
        let private = self.private();
        let own = git.text(&private, &["config", "user.email"]).await;
        if own.is_ok_and(|email| !email.is_empty()) {
            return git;
        }
        let set = |git: GitRunner, (name, value): &(&str, &str)| git.with_variable(name, *value);
        AUTHOR.iter().fold(git, set)
    }
}
