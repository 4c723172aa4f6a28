//! Deletes a session from the browser: first its files are looked up, then the user confirms, then exactly these files are
//! deleted.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use lapidary::render::live::MarkSet;
use lapidary::sessions::{SessionDeletion, SessionInventory, SessionProject};
use lapidary::vocab::removal::RemovalReason;

use super::super::common::SessionsContext;
use super::super::removal::RemovalPlan;
use super::text::one_line;
use crate::invocation::Invocation;

/// A deletion that waits for the user's yes. Files that are written until then are not deleted.
pub(super) struct PlannedDeletion {
    path: PathBuf,
    inventory: SessionInventory,
    deletion: SessionDeletion,
}

/// The plan of a deletion, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeletionPlan {
    /// How many files and directories.
    pub(super) count: usize,
    pub(super) bytes: u64,
    /// The files that are deleted and the files that stay, a line each.
    pub(super) lines: Vec<String>,
}

impl PlannedDeletion {
    /// Looks up the files of a session. `size` is the size of its session file when it was listed.
    pub(super) fn new(projects: &[SessionProject], path: &Path, size: u64) -> anyhow::Result<Self> {
        let is_of = |project: &&SessionProject| {
            let mut directories = project.directories.iter();
            directories.any(|directory| path.starts_with(directory))
        };
        let project = projects.iter().find(is_of).context("it is gone")?;
        let inventory = SessionInventory::read(vec![project.clone()], SystemTime::now());
        let held = inventory.files.iter().find(|file| file.path == path);
        let held = held.context("it is gone")?;
        let Some(id) = held.content.id().filter(|_| held.size == size) else {
            bail!("it has changed since it was listed");
        };
        let named = HashSet::from([(held.project, id.to_owned())]);
        let deletion = inventory.deletions(&named).pop();
        Ok(Self {
            path: path.to_owned(),
            deletion: deletion.context("it is gone")?,
            inventory,
        })
    }

    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    pub(super) fn deletion_plan(&self, marks: MarkSet) -> DeletionPlan {
        let deletion = &self.deletion;
        let files = deletion.files.iter().map(|file| &file.path);
        let artefacts = deletion.artefacts.iter().map(|artefact| &artefact.path);
        let going = files.chain(artefacts).map(|path| self.below_project(path));
        let staying = deletion.spared.iter().map(|why| format!("stays: {why}"));
        DeletionPlan {
            count: deletion.files.len() + deletion.artefacts.len(),
            bytes: deletion.bytes(),
            lines: going
                .chain(staying)
                .map(|line| one_line(&line, marks))
                .collect(),
        }
    }

    /// A path relative to the project's directory: the part before it is the same for all.
    fn below_project(&self, path: &Path) -> String {
        let project = &self.inventory.projects[self.deletion.project];
        let mut directories = project.directories.iter();
        let below = directories.find_map(|directory| path.strip_prefix(directory).ok());
        below.unwrap_or(path).display().to_string()
    }

    /// Deletes the files, after copies were put into the vault. Returns a summary.
    pub(super) fn carry_out(self, invocation: &Arc<Invocation>) -> anyhow::Result<String> {
        let place = SessionsContext::open(invocation).map_err(|failure| failure.error)?;
        let going = RemovalPlan {
            keeps_copies: true,
            inventory: &self.inventory,
            deletions: vec![(self.deletion, RemovalReason::Asked)],
            warnings: Vec::new(),
        };
        let failures = going.carry_out_silently(&place);
        let failures = failures.map_err(|failure| failure.error)?;
        // There is one line to say it on, and whose file it is is known.
        let itself = format!("`{}`", self.path.display());
        let short = |failure: &String| failure.replace(&itself, "it");
        match &failures[..] {
            [] => Ok(format!(
                "removed {}; the vault has a copy",
                going.sum_text()
            )),
            [one] => bail!("{}", short(one)),
            [one, more @ ..] => bail!("{} (and {} more)", short(one), more.len()),
        }
    }
}

#[cfg(test)]
impl DeletionPlan {
    /// A sample for tests: a session file and the outputs of its tools.
    pub(super) fn sample_plan() -> Self {
        Self {
            count: 2,
            bytes: 1234,
            lines: vec![
                "chats/one.jsonl".to_owned(),
                "tool-outputs/session-1".to_owned(),
            ],
        }
    }
}
