//! A run that someone else asks for, such as the ticket of a fleet or a client of `serve`: it narrows the options of the program that runs it, and never
//! widens them.

use std::time::Duration;

use lapidary_engine::budget::Budget;
use lapidary_engine::config::Config;
use lapidary_engine::headless::Job;
use lapidary_engine::policy::{PermissionEffect, PermissionMode};

use super::{PrepareError, RunOptions, RunSurroundings};

/// The wishes of someone else for a run. There is no command line, no environment and no rule that allows.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunWishes<'a> {
    /// The name of an agent; the configured one if absent.
    pub agent: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The permission mode, which may not allow more than the configured one.
    pub permission_mode: Option<&'a str>,
    /// Rules that deny.
    pub deny: &'a [String],
    /// Rules that make the agent ask.
    pub ask: &'a [String],
    /// Seconds.
    pub timeout: Option<f64>,
    /// As `--budget` has it.
    pub budget: Option<&'a str>,
}

/// Why a wish is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WishError {
    /// The run cannot be made.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The agent is not configured. Command lines and addresses are for the configuration.
    #[error("`{agent}` is not a configured agent")]
    UnknownAgent {
        /// The name.
        agent: String,
    },
    /// There is no such mode.
    #[error("unknown permission mode `{mode}`")]
    UnknownMode {
        /// The word.
        mode: String,
    },
    /// The mode allows more than the configured one.
    #[error("`{wanted}` allows more than the permission mode `{widest}` of this program")]
    WiderMode {
        /// The wish.
        wanted: &'static str,
        /// The configured mode.
        widest: &'static str,
    },
    /// The timeout is no time.
    #[error("`timeout` is a number of seconds above 0")]
    Timeout,
    /// The budget is none.
    #[error("{0}")]
    Budget(String),
}

/// A job that fits within the options of this program.
#[derive(Debug)]
pub struct NarrowedJob {
    /// The job.
    pub job: Job,
    /// The permission mode of this program: the run's own may be narrower, and never wider.
    pub widest_mode: PermissionMode,
}

impl RunOptions {
    /// The job of a run that someone else asks for.
    pub fn narrowed_job(
        &self,
        wishes: &RunWishes<'_>,
        surroundings: &RunSurroundings,
    ) -> Result<NarrowedJob, WishError> {
        self.check_agent(wishes.agent, surroundings)?;
        let mut options = self.clone();
        if let Some(agent) = wishes.agent {
            options.config.agent = Some(agent.to_owned());
        }
        // First a job without the wishes: they are compared with the settings of this program.
        let own = options.job_with_notices(surroundings)?;
        options.narrow(wishes, &own.config)?;
        Ok(NarrowedJob {
            job: options.job_with_notices(surroundings)?,
            widest_mode: own.config.permission_mode_or_default(),
        })
    }

    /// Refuses an agent that is not one of the configuration: its name would be a command to start.
    pub fn check_agent(
        &self,
        wanted: Option<&str>,
        surroundings: &RunSurroundings,
    ) -> Result<(), WishError> {
        let Some(agent) = wanted else { return Ok(()) };
        let names = self.named_agents(&surroundings.environment)?;
        if names.iter().any(|name| name == agent) {
            return Ok(());
        }
        Err(WishError::UnknownAgent {
            agent: agent.to_owned(),
        })
    }

    fn job_with_notices(&self, surroundings: &RunSurroundings) -> Result<Job, PrepareError> {
        let mut notices = Vec::new();
        let mut job = self.job(surroundings, &mut |notice| notices.push(notice))?;
        job.notices.extend(notices);
        Ok(job)
    }

    fn narrow(&mut self, wishes: &RunWishes<'_>, own: &Config) -> Result<(), WishError> {
        if let Some(model) = wishes.model {
            self.config.model = Some(model.to_owned());
        }
        if let Some(word) = wishes.permission_mode {
            self.config.permission_mode = Some(narrower_mode(word, own)?);
        }
        let lists = [
            (PermissionEffect::Deny, wishes.deny),
            (PermissionEffect::Ask, wishes.ask),
        ];
        for (effect, specs) in lists {
            let specs = specs.iter().map(|spec| (effect, spec.clone()));
            self.rules.extend(specs);
        }
        if let Some(seconds) = wishes.timeout {
            let wanted = Duration::try_from_secs_f64(seconds).ok();
            let wanted = wanted
                .filter(|it| !it.is_zero())
                .ok_or(WishError::Timeout)?;
            let most = own.timeout.unwrap_or(wanted);
            self.config.timeout = Some(wanted.min(most));
        }
        if let Some(text) = wishes.budget {
            let wanted =
                Budget::parse(text).map_err(|error| WishError::Budget(error.to_string()))?;
            let own = own.budget.unwrap_or_default();
            self.config.budget = Some(own.narrowed_by(wanted));
        }
        Ok(())
    }
}

fn narrower_mode(word: &str, own: &Config) -> Result<PermissionMode, WishError> {
    let wanted = PermissionMode::from_word(word).ok_or_else(|| WishError::UnknownMode {
        mode: word.to_owned(),
    })?;
    let widest = own.permission_mode_or_default();
    if wanted <= widest {
        return Ok(wanted);
    }
    Err(WishError::WiderMode {
        wanted: wanted.as_str(),
        widest: widest.as_str(),
    })
}
