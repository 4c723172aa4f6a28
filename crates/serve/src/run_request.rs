//! The body of `POST /api/v1/runs`, and the job that it asks for. A client narrows the policy of the server, and never widens it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary::PermissionMode;
use lapidary::demo::DemoAttendance;
use lapidary::engine::budget::Budget;
use lapidary::engine::config::Config;
use lapidary::engine::conversation::CommandSender;
use lapidary::engine::headless::Job;
use lapidary::engine::policy::PermissionEffect;
use lapidary::engine::run::Run;
use lapidary::prepare::{PrepareError, PrepareErrorKind, RunOptions, RunSurroundings, agent_names};
use serde::Deserialize;

use crate::problem::HttpProblem;

/// A run as a client asks for it.
#[derive(Debug, Deserialize)]
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
    pub(crate) request_key: Option<String>,
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
}

impl RunBounds {
    /// Starts a run. An agent that cannot be started is a run, too: its `run_end` has the reason.
    pub(crate) fn start(&self, request: &RunRequest) -> Result<StartedRun, HttpProblem> {
        if request.prompt.trim().is_empty() {
            return Err(HttpProblem::bad_request("the prompt is empty"));
        }
        let id = lapidary::engine::fresh_run();
        let (job, widest_mode) = self.make_job(request, &id)?;
        let (run, orders) = match job.connect() {
            Ok(conversation) => (conversation.run, conversation.orders),
            Err(error) => (job.refused(&error), CommandSender::to_nobody()),
        };
        Ok(StartedRun {
            id,
            run,
            orders,
            widest_mode,
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
        if let Some(agent) = &request.agent {
            options.config.agent = Some(agent.clone());
        }
        // First a job without the client's wishes: they are compared with the settings of the server.
        let own = self.job_of(&options)?;
        check_agent(request.agent.as_deref(), &own.config)?;
        let widest = own.config.permission_mode.unwrap_or_default();
        narrow(&mut options, request, &own.config)?;
        Ok((self.job_of(&options)?, widest))
    }

    fn job_of(&self, options: &RunOptions) -> Result<Job, HttpProblem> {
        let mut notices = Vec::new();
        let job = options.job(&self.surroundings, &mut |notice| notices.push(notice));
        let mut job = job.map_err(|error| problem_of(&error))?;
        job.notices.extend(notices);
        Ok(job)
    }

    /// The directory that a client names, which is the root or below it, links resolved.
    pub(crate) fn directory(&self, wanted: Option<&Path>) -> Result<PathBuf, HttpProblem> {
        let Some(wanted) = wanted else {
            return Ok(self.root.clone());
        };
        let directory = self.root.join(wanted);
        let outside = || {
            let hint = format!("name a directory below `{}`", self.root.display());
            HttpProblem::forbidden("the directory is outside of the server's root").with_hint(hint)
        };
        // A directory that is not there is refused in the same words: a client learns nothing about files outside.
        let directory = directory.canonicalize().map_err(|_| outside())?;
        if directory.starts_with(&self.root) && directory.is_dir() {
            return Ok(directory);
        }
        Err(outside())
    }
}

/// A client names an agent; command lines and addresses are for the user's configuration.
fn check_agent(wanted: Option<&str>, config: &Config) -> Result<(), HttpProblem> {
    let Some(wanted) = wanted else { return Ok(()) };
    let names = agent_names(config);
    if names.contains(&wanted) {
        return Ok(());
    }
    let detail = format!("`{wanted}` is not a configured agent");
    Err(HttpProblem::forbidden(detail)
        .with_hint("add it to `lapidary.toml` as `[agents.NAME]`, or use a built-in name"))
}

/// Adds the client's limits to the server's.
fn narrow(options: &mut RunOptions, request: &RunRequest, own: &Config) -> Result<(), HttpProblem> {
    if let Some(word) = &request.permission_mode {
        let mode = PermissionMode::from_word(word);
        let mode = mode
            .ok_or_else(|| HttpProblem::bad_request(format!("unknown permission mode `{word}`")))?;
        check_mode(mode, own.permission_mode.unwrap_or_default())?;
        options.config.permission_mode = Some(mode);
    }
    let lists = [
        (PermissionEffect::Deny, &request.rules.deny),
        (PermissionEffect::Ask, &request.rules.ask),
    ];
    for (effect, specs) in lists {
        options
            .rules
            .extend(specs.iter().map(|spec| (effect, spec.clone())));
    }
    if let Some(seconds) = request.timeout {
        let wanted = Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|it| !it.is_zero());
        let wanted = wanted
            .ok_or_else(|| HttpProblem::bad_request("`timeout` is a number of seconds above 0"))?;
        let own = own.timeout.unwrap_or(wanted);
        options.config.timeout = Some(wanted.min(own));
    }
    if let Some(text) = &request.budget {
        let wanted =
            Budget::parse(text).map_err(|error| HttpProblem::bad_request(error.to_string()))?;
        let own = own.budget.unwrap_or_default();
        options.config.budget = Some(own.narrowed_by(wanted));
    }
    Ok(())
}

/// Refuses a mode that allows more than the server does.
pub(crate) fn check_mode(
    wanted: PermissionMode,
    widest: PermissionMode,
) -> Result<(), HttpProblem> {
    if wanted <= widest {
        return Ok(());
    }
    let (wanted, widest) = (wanted.as_str(), widest.as_str());
    let detail = format!("`{wanted}` allows more than this server: its mode is `{widest}`");
    Err(HttpProblem::forbidden(detail).with_hint(format!(
        "start the server with `--permission-mode {wanted}`"
    )))
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
