//! The body of `POST /api/v1/runs`, and the job that it asks for. A client narrows the policy of the server, and never widens it.

use std::path::{Component, Path, PathBuf};

use lapidary::PermissionMode;
use lapidary::demo::DemoAttendance;
use lapidary::engine::conversation::CommandSender;
use lapidary::engine::headless::Job;
use lapidary::engine::run::Run;
use lapidary::prepare::{
    PrepareError, PrepareErrorKind, RunOptions, RunSurroundings, RunWishes, WishError,
};
use serde::Deserialize;

use crate::problem::HttpProblem;

/// A run as a client asks for it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunRequest {
    pub(crate) prompt: String,
    /// A name of the configuration; the configured one if absent.
    pub(crate) agent: Option<String>,
    /// A directory below the server's root; the root if absent.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) permission_mode: Option<String>,
    #[serde(default)]
    pub(crate) rules: RuleLists,
    /// Seconds.
    pub(crate) timeout: Option<f64>,
    /// As `--budget` has it, such as `tokens=200000`.
    pub(crate) budget: Option<String>,
    /// Whether the run stays open for more prompts after its first.
    #[serde(default)]
    pub(crate) conversation: bool,
    pub(crate) request_key: Option<String>,
}

impl RunRequest {
    fn wishes(&self) -> RunWishes<'_> {
        RunWishes {
            agent: self.agent.as_deref(),
            model: None,
            permission_mode: self.permission_mode.as_deref(),
            deny: &self.rules.deny,
            ask: &self.rules.ask,
            timeout: self.timeout,
            budget: self.budget.as_deref(),
        }
    }
}

/// Rules that deny, or make the agent ask. There is no list of rules that allow.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleLists {
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
}

/// The server's own options, which bound every run.
#[derive(Debug)]
pub(crate) struct RunBounds {
    pub(crate) options: RunOptions,
    pub(crate) surroundings: RunSurroundings,
    /// Agents work here or below. Without links.
    pub(crate) root: PathBuf,
}

/// A run that was started.
#[derive(Debug)]
pub(crate) struct StartedRun {
    pub(crate) id: String,
    pub(crate) run: Run,
    pub(crate) orders: CommandSender,
    pub(crate) widest_mode: PermissionMode,
    pub(crate) session_directory: SessionDirectory,
}

/// A run that can be started.
#[derive(Debug)]
pub(crate) struct PreparedRun {
    pub(crate) id: String,
    job: Job,
    widest_mode: PermissionMode,
    session_directory: SessionDirectory,
}

/// Where the sessions of a run are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionDirectory {
    /// In the directory that the client names, if the server's root has it.
    Named,
    /// The agent has a directory of its own, as the demo has, and the client's is ignored.
    AgentsOwn,
}

impl PreparedRun {
    /// Starts the run. An agent that cannot be started is a run, too: its `run_end` has the reason.
    pub(crate) fn start(self) -> StartedRun {
        let (run, orders) = match self.job.connect() {
            Ok(conversation) => (conversation.run, conversation.orders),
            Err(error) => (self.job.refused(&error), CommandSender::to_nobody()),
        };
        StartedRun {
            id: self.id,
            run,
            orders,
            widest_mode: self.widest_mode,
            session_directory: self.session_directory,
        }
    }
}

impl RunBounds {
    /// Checks the request for a run against the bounds of the server.
    pub(crate) fn prepare(&self, request: &RunRequest) -> Result<PreparedRun, HttpProblem> {
        let id = lapidary::engine::fresh_run();
        let (job, widest_mode) = self.make_job(request, &id)?;
        let directory = job.config.working_dir.as_deref();
        let session_directory = SessionDirectory::of_agent(directory, &self.root);
        Ok(PreparedRun {
            id,
            job,
            widest_mode,
            session_directory,
        })
    }

    fn make_job(
        &self,
        request: &RunRequest,
        id: &str,
    ) -> Result<(Job, PermissionMode), HttpProblem> {
        let mut options = self.options.clone();
        options.events.run = id.into();
        options.attendance = DemoAttendance::Attended;
        options.config.working_dir = Some(self.directory(request.cwd.as_deref())?);
        let narrowed = options.narrowed_job(&request.wishes(), &self.surroundings);
        let narrowed = narrowed.map_err(|error| wish_problem(&error))?;
        Ok((narrowed.job, narrowed.widest_mode))
    }

    /// Refuses an agent that is not one of the configuration: its name would be a command to start.
    pub(crate) fn check_agent(&self, wanted: Option<&str>) -> Result<(), HttpProblem> {
        let checked = self.options.check_agent(wanted, &self.surroundings);
        checked.map_err(|error| wish_problem(&error))
    }

    /// The directory that a client names, which is the root or below it, links resolved.
    fn directory(&self, wanted: Option<&Path>) -> Result<PathBuf, HttpProblem> {
        directory_below(&self.root, wanted)
    }
}

impl SessionDirectory {
    /// The choice for an agent that works in `directory`.
    pub(crate) fn of_agent(directory: Option<&Path>, root: &Path) -> Self {
        match directory {
            Some(directory) if directory.starts_with(root) => Self::Named,
            _ => Self::AgentsOwn,
        }
    }
}

/// The directory that a client names, which is the root or below it, links resolved.
pub(crate) fn directory_below(root: &Path, wanted: Option<&Path>) -> Result<PathBuf, HttpProblem> {
    let Some(wanted) = wanted else {
        return Ok(root.to_owned());
    };
    let outside = || {
        let hint = format!("name a directory below `{}`", root.display());
        HttpProblem::forbidden("the directory is outside of the server's root").with_hint(hint)
    };
    let path = root.join(wanted);
    match path.canonicalize() {
        Ok(directory) if !directory.starts_with(root) => Err(outside()),
        Ok(directory) if directory.is_dir() => Ok(directory),
        Err(_) if !would_be_below(root, &path) => Err(outside()),
        Ok(_) | Err(_) => {
            let hint = format!("name a directory below `{}`", root.display());
            let detail = format!("there is no directory `{}`", wanted.display());
            Err(HttpProblem::bad_request(detail).with_hint(hint))
        }
    }
}

/// Whether a path that cannot be resolved would be below the root if it were there. For all other paths, a client does not learn
/// whether they exist.
fn would_be_below(root: &Path, path: &Path) -> bool {
    if path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    for parent in path.ancestors() {
        if let Ok(parent) = parent.canonicalize() {
            return parent.starts_with(root);
        }
        // A link that leads to a missing file, which may be outside.
        if parent.symlink_metadata().is_ok() {
            return false;
        }
    }
    false
}

/// Refuses a mode that allows more than the server does.
pub(crate) fn check_mode(
    wanted: PermissionMode,
    widest: PermissionMode,
) -> Result<(), HttpProblem> {
    if wanted <= widest {
        return Ok(());
    }
    Err(wider_mode(wanted.as_str(), widest.as_str()))
}

fn wider_mode(wanted: &str, widest: &str) -> HttpProblem {
    let detail = format!("`{wanted}` allows more than this server: its mode is `{widest}`");
    HttpProblem::forbidden(detail).with_hint(format!(
        "start the server with `--permission-mode {wanted}`"
    ))
}

fn wish_problem(error: &WishError) -> HttpProblem {
    match error {
        WishError::Prepare(error) => problem_of(error),
        WishError::UnknownAgent { .. } => HttpProblem::forbidden(error.to_string())
            .with_hint("add it to `lapidary.toml` as `[agents.NAME]`, or use a built-in name"),
        WishError::WiderMode { wanted, widest } => wider_mode(wanted, widest),
        WishError::UnknownMode { .. } => HttpProblem::bad_request(error.to_string())
            .with_hint("modes are `plan`, `default`, `acceptEdits` and `bypassPermissions`"),
        _ => HttpProblem::bad_request(error.to_string()),
    }
}

fn problem_of(error: &PrepareError) -> HttpProblem {
    let problem = match error.kind() {
        PrepareErrorKind::Usage | PrepareErrorKind::BadInput => {
            HttpProblem::bad_request(error.to_string())
        }
        PrepareErrorKind::BadConfig | PrepareErrorKind::Internal => {
            HttpProblem::internal(error.to_string())
        }
    };
    match error.hint() {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
