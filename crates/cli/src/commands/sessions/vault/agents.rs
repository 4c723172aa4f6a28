//! Copies of the sessions of agents other than Gemini CLI.

use std::path::Path;

use anyhow::anyhow;
use lapidary::engine::agents::family;
use lapidary::sessions::vault::{AddedFiles, AgentCopyRequest, DeletedSession, Vault};
use lapidary::sessions::{
    ProjectReach, ProviderScope, SessionProject, SessionProviders, VaultSource, providers, title,
};
use lapidary::vocab::event::Provider;
use lapidary::vocab::vault::VaultSession;

use super::super::common::SessionsContext;
use super::vault_failure;
use crate::failure::Failure;

/// The agents whose sessions are meant: one by its name, or `all`.
#[derive(Debug, Clone)]
pub(in crate::commands::sessions) struct NamedAgents(String);

impl NamedAgents {
    /// The agents of an option.
    pub(in crate::commands::sessions) fn new(named: &str) -> Self {
        Self(named.to_owned())
    }

    /// Whether Gemini CLI is among them.
    pub(in crate::commands::sessions) fn has_gemini(&self) -> bool {
        self.has(&Provider::Gemini)
    }

    /// Whether they are Gemini CLI alone.
    pub(in crate::commands::sessions) fn is_gemini(&self) -> bool {
        family(&self.0) == Provider::Gemini
    }

    /// Whether this agent is among them.
    pub(in crate::commands::sessions) fn has(&self, provider: &Provider) -> bool {
        self.0 == "all" || family(&self.0) == *provider
    }

    /// The others whose files the vault copies. A name that is none of these is wrong.
    pub(in crate::commands::sessions) fn sources<'p>(
        &self,
        providers: &'p SessionProviders,
    ) -> Result<Vec<(&'static str, &'p dyn VaultSource)>, Failure> {
        let known: Vec<_> = providers.vault_sources().collect();
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        let chosen: Vec<_> = known
            .into_iter()
            .filter(|(name, _)| self.has(&family(name)))
            .collect();
        if chosen.is_empty() && !self.has_gemini() && self.0 != "all" {
            let error = anyhow!("the vault does not copy sessions of `{}`", self.0);
            let names = names.join(", ");
            let hint = format!("it copies those of gemini, {names}; `all` is each of them");
            return Err(Failure::usage(error).with_hint(hint));
        }
        Ok(chosen)
    }
}

/// Warnings of the directories of these agents that cannot be read: their sessions may still be there.
pub(in crate::commands::sessions) fn unreadable_directories(
    agents: &NamedAgents,
    place: &SessionsContext,
) -> Result<Vec<String>, Failure> {
    let scope = ProviderScope {
        projects: &[],
        reach: ProjectReach::Everywhere,
        now: place.now,
    };
    let mut warnings = Vec::new();
    for (_, source) in agents.sources(&providers(&place.environment))? {
        source.vault_folders(&scope, &mut warnings);
    }
    Ok(warnings)
}

/// The copies to take.
pub(super) struct AgentCopyOrder<'o> {
    pub(super) agents: &'o NamedAgents,
    /// The only project, where names of files tell it.
    pub(super) project: Option<&'o SessionProject>,
    pub(super) reason: &'o str,
    pub(super) most_bytes: u64,
}

/// Copies the session files of agents other than Gemini CLI that have changed.
pub(super) fn copy_agents(
    order: &AgentCopyOrder<'_>,
    vault: &Vault,
    place: &SessionsContext,
    warnings: &mut Vec<String>,
) -> Result<Vec<AddedFiles>, Failure> {
    let providers = providers(&place.environment);
    let request = AgentCopyRequest {
        scope: ProviderScope {
            projects: order.project.map(std::slice::from_ref).unwrap_or_default(),
            reach: match order.project {
                Some(_) => ProjectReach::Named,
                None => ProjectReach::Everywhere,
            },
            now: std::time::SystemTime::now(),
        },
        reason: order.reason,
        most_bytes: order.most_bytes,
    };
    let mut taken = Vec::new();
    for (_, source) in order.agents.sources(&providers)? {
        let added = vault.add_agent(source, &request, warnings);
        taken.extend(added.map_err(vault_failure)?);
    }
    Ok(taken)
}

/// The sessions that these agents have deleted, and of which the vault has a copy.
pub(in crate::commands::sessions) fn deleted_sessions(
    agents: &NamedAgents,
    vault: &Vault,
    place: &SessionsContext,
) -> Result<Vec<VaultSession>, Failure> {
    let providers = providers(&place.environment);
    let mut all = Vec::new();
    for (name, source) in agents.sources(&providers)? {
        let deleted = vault.deleted_sessions(source.vault_home());
        for session in deleted.map_err(vault_failure)? {
            all.push(published_session(name, source, &session, vault));
        }
    }
    Ok(all)
}

fn published_session(
    name: &str,
    source: &dyn VaultSource,
    session: &DeletedSession,
    vault: &Vault,
) -> VaultSession {
    let copy = vault.content_path(&session.entry);
    let said = copy.and_then(|copy| source.first_prompt(&copy));
    VaultSession {
        session_id: session.id.clone(),
        display_name: said.as_deref().map(title).unwrap_or_default(),
        last_updated: session.entry.mtime.clone(),
        project_id: String::new(),
        provider: Some(family(name)),
        path: Some(session.path.to_string_lossy().into_owned()),
        last_seen: Some(session.last_seen.clone()),
        missing_since: session.missing_since.clone(),
    }
}

/// Whether a directory belongs to an agent other than Gemini CLI: nothing is written there without being told to.
pub(in crate::commands::sessions) fn is_of_other_agent(
    directory: &Path,
    place: &SessionsContext,
) -> bool {
    let providers = providers(&place.environment);
    let mut sources = providers.vault_sources();
    sources.any(|(_, source)| {
        let home = source.vault_home();
        let place = home.canonicalize();
        directory.starts_with(home) || place.is_ok_and(|place| directory.starts_with(place))
    })
}
