//! Options of all `agents` commands: the workspace and the scope.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::gemini::agents::{AgentRegistry, DiscoveredAgent, ToggleAgentError};
use lapidary::gemini::hooks::nearest;
use lapidary::gemini::settings::{EditError, SettingsScope};
use lapidary::gemini::setup::Setup;

use crate::commands::sessions::SessionsContext;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// Which workspace.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Workspace {
    /// The workspace [default: here]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
}

/// The scope whose agents or settings a command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum AgentScopeArg {
    /// In your home
    User,
    /// In the workspace
    Workspace,
}

impl AgentScopeArg {
    pub(super) fn settings_scope(self) -> SettingsScope {
        match self {
            Self::User => SettingsScope::User,
            Self::Workspace => SettingsScope::Workspace,
        }
    }
}

/// A workspace, its home, and all that counts there.
pub(super) struct AgentsContext {
    pub(super) place: SessionsContext,
    pub(super) setup: Setup,
}

impl AgentsContext {
    pub(super) fn read_context(
        workspace: &Workspace,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        let place = SessionsContext::open(invocation)?;
        let setup = place.read_setup(workspace.project.as_deref())?;
        Ok(Self { place, setup })
    }

    /// The model of the main conversation, as far as settings name one.
    pub(super) fn main_model(&self) -> &str {
        let model = self.setup.get(&["model", "name"]);
        model.and_then(|model| model.as_str()).unwrap_or("auto")
    }

    pub(super) fn load_registry(&self) -> AgentRegistry {
        AgentRegistry::load(&self.setup, self.main_model())
    }
}

/// The agent that a name stands for, whether it counts or not.
pub(super) fn find_agent<'a>(
    registry: &'a AgentRegistry,
    name: &str,
) -> Result<&'a DiscoveredAgent, Failure> {
    registry.get_discovered(name).ok_or_else(|| {
        let failure = Failure::bad_input(anyhow!("there is no agent `{name}`"));
        failure.with_hint(match nearest_name(registry, name) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`lapidary agents list --all` names them; `lapidary agents check` says which files are none".to_owned(),
        })
    })
}

/// The known name that is nearest to a misspelt one.
pub(super) fn nearest_name<'a>(registry: &'a AgentRegistry, name: &str) -> Option<&'a str> {
    let names = registry.discovered().iter();
    nearest(name, names.map(|agent| agent.definition.name()))
}

pub(super) fn toggle_failure(error: ToggleAgentError) -> Failure {
    match error {
        ToggleAgentError::NoWorkspace => {
            Failure::bad_input(error).with_hint("say --scope user, or go to a workspace")
        }
        ToggleAgentError::Edit(EditError::Unwritable { .. } | EditError::Busy { .. }) => {
            Failure::internal(error)
        }
        error => Failure::bad_input(error),
    }
}

/// A warning that an untrusted workspace skips the agents that are put into it.
pub(super) fn untrusted_warning(here: &AgentsContext) -> Option<String> {
    (!here.setup.is_trusted()).then(|| {
        "this workspace is not trusted: Gemini CLI skips its agents and settings until it is"
            .to_owned()
    })
}

/// The names and descriptions of the agents here, for completions.
pub(in crate::commands) fn definition_names(
    invocation: &Arc<Invocation>,
) -> Result<Vec<(String, String)>, Failure> {
    let here = AgentsContext::read_context(&Workspace { project: None }, invocation)?;
    let registry = here.load_registry();
    let agents = registry.discovered().iter();
    let mut names: Vec<_> = agents
        .map(|agent| {
            let definition = &agent.definition;
            (
                definition.name().to_owned(),
                definition.description().to_owned(),
            )
        })
        .collect();
    names.dedup_by(|one, other| one.0 == other.0);
    Ok(names)
}
