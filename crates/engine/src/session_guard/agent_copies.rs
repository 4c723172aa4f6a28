//! Copies of the session files of agents other than Gemini CLI, taken before and after each run.
//!
//! These agents do not lose a session that they continue, so nothing is held or repaired. But Claude Code deletes sessions after
//! a month, and the vault keeps the session files of a run through us.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lapidary_sessions::vault::{AgentCopyRequest, DEFAULT_MOST_BYTES, Vault};
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, ProjectReach, ProviderScope, QwenSessions, SessionProject,
    VaultSource,
};
use lapidary_vocab::event::Provider;

use crate::detect::SearchEnvironment;

/// The directory of an agent: the one that a variable names, or one in the home directory.
pub fn agent_home(environment: &SearchEnvironment, variable: &str, usual: &str) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new(variable));
    let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(environment.home.as_ref()?.join(usual)))
}

/// The directory of Qwen Code's sessions.
pub fn qwen_home(environment: &SearchEnvironment) -> Option<PathBuf> {
    let is_set = |name: &&str| {
        let value = environment.vars.get(OsStr::new(name));
        value.is_some_and(|value| !value.is_empty())
    };
    let set = ["QWEN_RUNTIME_DIR", "QWEN_HOME"].into_iter().find(is_set);
    agent_home(environment, set.unwrap_or("QWEN_HOME"), ".qwen")
}

/// The session files of an agent that are copied around a run.
#[derive(Debug, Clone)]
pub struct AgentCopies {
    source: Arc<dyn VaultSource>,
    /// The directory in which the agent works.
    directory: PathBuf,
}

impl AgentCopies {
    /// The files of this agent. None if Lapidary does not know them.
    pub fn for_provider(
        provider: &Provider,
        environment: &SearchEnvironment,
        directory: &Path,
    ) -> Option<Self> {
        let source: Arc<dyn VaultSource> = match provider {
            Provider::Claude => {
                let home = agent_home(environment, "CLAUDE_CONFIG_DIR", ".claude")?;
                Arc::new(ClaudeSessions::new(home))
            }
            Provider::Codex => {
                let home = agent_home(environment, "CODEX_HOME", ".codex")?;
                Arc::new(CodexSessions::new(home))
            }
            Provider::Qwen => Arc::new(QwenSessions::new(qwen_home(environment)?)),
            _ => return None,
        };
        Some(Self {
            source,
            directory: directory.to_owned(),
        })
    }

    /// Copies the files that have changed. The error is a sentence.
    pub(super) fn take(&self, vault: &Path, reason: &str) -> Result<(), String> {
        let project = SessionProject {
            root: Some(self.directory.clone()),
            id: String::new(),
            directory: PathBuf::new(),
            directories: Vec::new(),
            warnings: Vec::new(),
        };
        let request = AgentCopyRequest {
            scope: ProviderScope {
                projects: &[project],
                reach: ProjectReach::Named,
                now: SystemTime::now(),
            },
            reason,
            most_bytes: DEFAULT_MOST_BYTES,
        };
        let taken = Vault::open(vault).add_agent(&*self.source, &request, &mut Vec::new());
        taken.map(drop).map_err(|error| {
            let why = super::error_chain(&error);
            format!("sessions of the agent are not copied: {why}")
        })
    }
}
