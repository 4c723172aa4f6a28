//! Options of all `hooks` commands: the workspace and the format.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::gemini::hooks::{HookRegistry, notices};
use lapidary::gemini::settings::{SettingsScope, workspace_settings};
use lapidary::gemini::setup::Setup;
use lapidary::gemini::{GeminiHome, Vars};

use crate::failure::Failure;
use crate::invocation::Invocation;

/// The variable by which Gemini CLI trusts the workspace that it is started in.
const TRUST_VARIABLE: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// Which workspace.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct HooksWorkspace {
    /// The workspace's directory [default: here]
    #[arg(short = 'C', long = "project", value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// How lists are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum HooksFormat {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema` describes it
    Json,
}

impl HooksFormat {
    /// Text for people, JSON for programs.
    pub(super) fn or_usual(format: Option<Self>, is_terminal: bool) -> Self {
        let usual = if is_terminal { Self::Text } else { Self::Json };
        format.unwrap_or(usual)
    }
}

/// A workspace and its hook setup.
pub(super) struct HooksContext {
    pub(super) invocation: Arc<Invocation>,
    pub(super) environment: SearchEnvironment,
    pub(super) setup: Setup,
}

impl HooksContext {
    pub(super) fn open(
        workspace: &HooksWorkspace,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        Self::seen_with(workspace, invocation, None)
    }

    /// The context as if the user had trusted the workspace.
    pub(super) fn open_trusted(
        workspace: &HooksWorkspace,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        let trusted = (TRUST_VARIABLE.into(), "true".into());
        Self::seen_with(workspace, invocation, Some(trusted))
    }

    fn seen_with(
        workspace: &HooksWorkspace,
        invocation: &Arc<Invocation>,
        assigned: Option<(OsString, OsString)>,
    ) -> Result<Self, Failure> {
        let here = invocation
            .current_dir()
            .context("cannot determine the current directory");
        let here = here.map_err(Failure::bad_input)?;
        let vars = invocation.all_variables().chain(assigned);
        let environment = SearchEnvironment::from_vars(vars, &here);
        let vars = Vars::new(&environment.vars);
        let Some(home) = GeminiHome::from_vars(vars, environment.home.as_deref()) else {
            let failure =
                Failure::bad_input(anyhow!("HOME is not set, so there are no settings to read"));
            return Err(failure.with_hint("set HOME or GEMINI_CLI_HOME"));
        };
        let directory = match &workspace.directory {
            Some(named) => here.join(named),
            None => here,
        };
        if !directory.is_dir() {
            let error = anyhow!("`{}` is not a directory", directory.display());
            return Err(Failure::bad_input(error));
        }
        let directory = directory.canonicalize().unwrap_or(directory);
        let setup = Setup::read(&home, &directory, vars);
        Ok(Self {
            invocation: invocation.clone(),
            environment,
            setup,
        })
    }

    /// Notices about the settings that hold hooks, a sentence each.
    pub(super) fn settings_notices(&self, registry: &HookRegistry) -> Vec<String> {
        let notices = notices(&self.setup, registry).into_iter();
        notices.map(ToString::to_string).collect()
    }

    /// Whether the workspace has settings of its own: a home has only the user's.
    pub(super) fn has_own_settings(&self) -> bool {
        let home = &self.setup.home.home;
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        home != self.setup.workspace
    }

    /// The file of a scope that can be written.
    pub(super) fn settings_file(&self, scope: WritableScope) -> PathBuf {
        match scope {
            WritableScope::User => self.setup.home.user_settings(),
            WritableScope::Workspace => workspace_settings(&self.setup.workspace),
        }
    }
}

/// The scope of the settings that a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WritableScope {
    /// Yours, for every workspace
    User,
    /// This workspace's
    Workspace,
}

impl WritableScope {
    pub(super) const ALL: [Self; 2] = [Self::Workspace, Self::User];

    pub(super) fn scope_word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }

    pub(super) fn settings_scope(self) -> SettingsScope {
        match self {
            Self::User => SettingsScope::User,
            Self::Workspace => SettingsScope::Workspace,
        }
    }
}
