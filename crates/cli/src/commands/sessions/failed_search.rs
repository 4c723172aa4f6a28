//! The failure of a name that no session has, of any agent.

use std::path::Path;

use lapidary::prepare;
use lapidary::render::plain::sanitize;
use lapidary::sessions::vault::{SnapshotEntry, Vault};
use lapidary::sessions::{OtherSessions, SelectError};

use super::common::SessionsContext;
use super::identify::{beginning_with, kept_ids, not_found};
use super::vault::agents::is_of_other_agent;
use crate::failure::Failure;

/// A search for a session among those of every agent that found none.
pub(super) struct FailedSearch<'s> {
    pub(super) place: &'s SessionsContext,
    /// Whether every project was searched.
    pub(super) is_everywhere: bool,
    /// The sessions of agents other than Gemini CLI.
    pub(super) others: &'s OtherSessions,
}

impl FailedSearch<'_> {
    /// The failure, with a hint. `error` is that of the search among the sessions of Gemini CLI. Directories that cannot be read are
    /// named: the session may be in one.
    pub(super) fn failure(&self, named: &str, error: SelectError) -> Failure {
        for warning in &self.others.warnings {
            let warning = format!("warning: {}", sanitize(warning));
            self.place.invocation.print_message(&warning);
        }
        let has_sessions = self.is_everywhere || !self.others.is_empty();
        let error = match error {
            SelectError::NoSessions if has_sessions && named != "latest" => SelectError::Invalid {
                identifier: named.to_owned(),
                searched: Vec::new(),
            },
            error => error,
        };
        let is_unknown = self.is_everywhere && matches!(error, SelectError::Invalid { .. });
        let failure = not_found(error);
        let command = is_unknown.then(|| self.restore_command(named));
        match command.flatten() {
            Some(command) => {
                failure.with_hint(format!("the vault has a copy: `{command}` brings it back"))
            }
            None => failure,
        }
    }

    /// The command that restores a session from the vault, if the vault has it.
    fn restore_command(&self, named: &str) -> Option<String> {
        let vault = Vault::open(prepare::vault_in(&self.place.environment).ok()?);
        let history = vault.log().ok()?;
        let kept = kept_ids(&history);
        let begins = beginning_with(named, &kept).unwrap_or_default();
        let id = kept.get(named).or(begins.first())?;
        let mut snapshots = history.snapshots.iter().rev();
        let has_id = |it: &SnapshotEntry| it.session_id.as_deref() == Some(*id);
        let snapshot = snapshots.find(|it| it.files.iter().any(has_id))?;
        let apply = if is_of_other_agent(Path::new(&snapshot.project), self.place) {
            " --apply"
        } else {
            ""
        };
        Some(format!("lapidary sessions vault restore {id}{apply}"))
    }
}
