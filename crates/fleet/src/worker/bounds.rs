//! The bounds of a worker: its own configuration. A ticket only narrows them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lapidary::demo::DemoAttendance;
use lapidary::engine::conversation::PromptAttendant;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::{Lease, Supervisor};
use lapidary::gemini::json_schema::JsonSchema;
use lapidary::prepare::{OutputSchemaSource, RunOptions, RunSurroundings, RunWishes, WishError};

use super::settings::{FleetSettings, fits_pattern};
use crate::workspace::WorkspaceRoot;
use crate::{ClaimedTerm, SpecError, TicketSpec, WorkspaceSpec};

/// Variables with credentials of the store: no agent, no setup command and no git gets them.
const STORE_VARIABLES: [&str; 4] = [
    "LAPIDARY_STORE",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSERVICEFILE",
];

/// The options of a worker that bound every run.
#[derive(Debug, Clone)]
pub struct WorkerBounds {
    /// The options of its runs.
    pub options: RunOptions,
    /// Its variables and directories.
    pub surroundings: RunSurroundings,
    /// The repositories, directories, branches and agents that tickets may name.
    pub settings: FleetSettings,
}

/// Why a ticket is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundsError {
    /// Its spec cannot be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It names an agent that this worker does not run.
    #[error("this worker does not run the agent `{agent}` for tickets")]
    Agent {
        /// The agent.
        agent: String,
    },
    /// It names a repository that is not among this worker's.
    #[error("this worker does not fetch `{repo}` for tickets")]
    Repository {
        /// The repository, without its password.
        repo: String,
    },
    /// It wants to push to a branch that is not among this worker's.
    #[error("this worker does not push to the branch `{branch}` for tickets")]
    Push {
        /// The branch.
        branch: String,
    },
    /// It names a directory that is not below one of this worker's.
    #[error("this worker lets no ticket work in `{}`", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
    },
    /// An option that the ticket sets for its run is refused.
    #[error(transparent)]
    Wish(#[from] WishError),
    /// The output schema cannot be used.
    #[error("the output schema cannot be used: {0}")]
    Schema(String),
}

impl BoundsError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Agent { .. } => "add it to `agents` in `[fleet]` of the worker's `lapidary.toml`",
            Self::Repository { .. } => {
                "add it to `repositories` in `[fleet]` of the worker's `lapidary.toml`"
            }
            Self::Push { .. } => "add it to `push` in `[fleet]` of the worker's `lapidary.toml`",
            Self::Directory { .. } => {
                "add it to `directories` in `[fleet]` of the worker's `lapidary.toml`"
            }
            Self::Spec(error) => return error.hint(),
            Self::Wish(_) | Self::Schema(_) => return None,
        })
    }
}

/// A run of a ticket.
pub(crate) struct JobRequest<'a> {
    pub(crate) spec: &'a TicketSpec,
    pub(crate) claimed: &'a ClaimedTerm,
    pub(crate) directory: PathBuf,
    pub(crate) lease: Lease,
    pub(crate) attendant: PromptAttendant,
}

impl WorkerBounds {
    /// The same without the credentials of the store.
    pub(crate) fn without_store_variables(mut self) -> Self {
        let vars = &mut self.surroundings.environment.vars;
        for name in STORE_VARIABLES {
            vars.remove(&OsString::from(name));
        }
        self
    }

    /// The workspaces below the worker's directory.
    pub(crate) fn workspaces(&self, directory: &Path) -> WorkspaceRoot {
        let supervisor = Supervisor::at(&self.surroundings.program);
        WorkspaceRoot::new(directory, &self.surroundings.environment, &supervisor)
    }

    /// Refuses a ticket that wants more than this worker allows.
    pub(crate) fn check(&self, spec: &TicketSpec) -> Result<(), BoundsError> {
        if let (Some(agent), Some(allowed)) = (&spec.agent, &self.settings.agents)
            && !allowed.contains(agent)
        {
            let agent = agent.clone();
            return Err(BoundsError::Agent { agent });
        }
        spec.workspace
            .as_ref()
            .map_or(Ok(()), |it| self.check_workspace(it))
    }

    fn check_workspace(&self, workspace: &WorkspaceSpec) -> Result<(), BoundsError> {
        let fits = |patterns: &[String], text: &str| {
            patterns.iter().any(|pattern| fits_pattern(pattern, text))
        };
        if let Some(repo) = &workspace.repo
            && (leaves_its_directory(repo) || !fits(&self.settings.repositories, repo))
        {
            let repo = lapidary::engine::git::shown(repo);
            return Err(BoundsError::Repository { repo });
        }
        if let Some(branch) = &workspace.push
            && !fits(&self.settings.push, branch)
        {
            let branch = branch.clone();
            return Err(BoundsError::Push { branch });
        }
        if let Some(directory) = &workspace.directory {
            self.directory(directory)?;
        }
        Ok(())
    }

    /// A directory that a ticket may work in, without links.
    pub(crate) fn directory(&self, wanted: &Path) -> Result<PathBuf, BoundsError> {
        let refused = || BoundsError::Directory {
            directory: wanted.to_owned(),
        };
        let directory = wanted.canonicalize().map_err(|_| refused())?;
        let roots = self.settings.directories.iter();
        let mut roots = roots.filter_map(|root| root.canonicalize().ok());
        let is_below = roots.any(|root| directory.starts_with(root));
        let is_allowed = is_below && directory.is_dir();
        is_allowed.then_some(directory).ok_or_else(refused)
    }

    /// The job of a ticket.
    pub(crate) fn job(&self, request: JobRequest<'_>) -> Result<Job, BoundsError> {
        let spec = request.spec;
        let mut options = self.options.clone();
        options.events.run = request.claimed.run().as_str().into();
        options.config.working_dir = Some(request.directory);
        options.config.record = Some(true);
        options.attendance = match request.attendant {
            PromptAttendant::Nobody => DemoAttendance::Unattended,
            PromptAttendant::Somebody(_) | PromptAttendant::Peer => DemoAttendance::Attended,
        };
        if let Some(schema) = &spec.output_schema {
            let schema = JsonSchema::parse(schema.get());
            let schema = schema.map_err(|error| BoundsError::Schema(error.to_string()))?;
            options.output_schema = Some(OutputSchemaSource::Schema(schema));
        }
        let wishes = RunWishes {
            agent: spec.agent.as_deref(),
            model: spec.model.as_deref(),
            permission_mode: spec.permission_mode.as_deref(),
            deny: &spec.deny,
            ask: &spec.ask,
            timeout: spec.timeout,
            budget: spec.budget.as_deref(),
        };
        let mut job = options.narrowed_job(&wishes, &self.surroundings)?.job;
        job.prompt = PromptText::Text(spec.prompt.clone());
        job.speaking.attendant = request.attendant;
        job.supervisor = job.supervisor.leased(request.lease);
        let vars = &mut job.environment.vars;
        let claimed = request.claimed;
        vars.insert("LAPIDARY_TICKET".into(), claimed.ticket.as_str().into());
        vars.insert("LAPIDARY_TERM".into(), claimed.term.to_string().into());
        Ok(job)
    }
}

/// Whether an address may leave the directory that a pattern names, so that no pattern fits it: by `..`, or by letters that git, its
/// HTTP client or the server decodes to dots, slashes and further such letters.
fn leaves_its_directory(repo: &str) -> bool {
    let lower = repo.to_ascii_lowercase();
    let is_encoded = ["%2e", "%2f", "%5c", "%25"]
        .iter()
        .any(|it| lower.contains(it));
    is_encoded || repo.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(settings: &str) -> WorkerBounds {
        WorkerBounds {
            options: RunOptions::new("r"),
            surroundings: RunSurroundings {
                environment: lapidary::directories::surroundings([], "/"),
                program: "/lapidary".into(),
            },
            settings: FleetSettings::parse(settings, Path::new("lapidary.toml")).unwrap(),
        }
    }

    fn repository(repo: &str, push: Option<&str>) -> TicketSpec {
        let mut spec = TicketSpec::new("go");
        spec.workspace = Some(WorkspaceSpec {
            repo: Some(repo.to_owned()),
            reference: None,
            push: push.map(str::to_owned),
            directory: None,
        });
        spec
    }

    #[test]
    fn a_worker_without_settings_fetches_and_pushes_nothing() {
        let bounds = bounds("");
        let refused = bounds.check(&repository("https://h/a", None)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this worker does not fetch `https://h/a` for tickets"
        );
        assert!(bounds.check(&TicketSpec::new("go")).is_ok());
    }

    #[test]
    fn a_ticket_that_wants_more_than_the_worker_allows_is_refused() {
        let bounds = bounds(
            "[fleet]\nrepositories = ['https://h/t/*']\npush = ['agent/*']\nagents = ['demo']\n",
        );
        assert!(
            bounds
                .check(&repository("https://h/t/a", Some("agent/1")))
                .is_ok()
        );
        for (repo, push) in [
            ("https://h/t/../other", None),
            ("https://h/t/%2e%2E/other", None),
            ("https://h/t/.%2e/other", None),
            ("https://h/t/x%2f..%2fother", None),
            ("https://h/t/%252e%252e/other", None),
            ("https://h/o/a", None),
            ("https://h/t/a", Some("main")),
        ] {
            assert!(
                bounds.check(&repository(repo, push)).is_err(),
                "{repo} {push:?}"
            );
        }
        let mut spec = TicketSpec::new("go");
        spec.agent = Some("gemini".to_owned());
        assert!(matches!(
            bounds.check(&spec),
            Err(BoundsError::Agent { .. })
        ));
    }
}
