//! How a run is configured: by a file, by flags, by a program.
//!
//! Every field of a [`Config`] may be absent, so that one can be laid [`over`](Config::over) another: flags over the project's
//! `lapidary.toml` over the user's. The same table of keys reads all of them, so a mistake has the same words wherever it was made.

mod agents;
mod builder;
mod duration;
mod effective;
mod files;
mod keys;
mod mode;
mod problem;
mod project;
mod read;
mod rule_entry;
mod rules;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_normalize::OnDenied;
use lapidary_sessions::PriceTable;

use crate::OnViolation;
use crate::agents::AcpAgent;
use crate::budget::{Budget, BudgetUnknown};
use crate::confine::{ConfineMode, ConfinementNeed};
use crate::policy::Rules;
use crate::recording::KeepLimits;

pub use builder::ConfigBuilder;
pub use duration::parse_duration;
pub use effective::{ConfigLayers, EffectiveConfig, EffectiveSetting, ValueSource};
pub use files::{FILE_NAME, LoadedConfig, find_project_file, load, load_named};
pub use keys::{KEYS, PROVIDER_KEYS};
pub use lapidary_policy::PermissionMode;
pub use mode::{ApprovalMode, TransportChoice};
pub use problem::{ConfigError, ConfigProblem, ConfigWarning, FilePosition, UnknownKey};
pub use value::ConfigValue;

/// How long a run may take unless configured otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// How long an agent may take to end by itself once it was asked to, unless configured otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// The settings of a run. An absent setting is left to a lower configuration or to the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// Which agent to run.
    pub agent: Option<String>,
    /// Which model it is to use.
    pub model: Option<String>,
    /// Whether the agent's own sandbox is switched on.
    pub sandbox: Option<bool>,
    /// The permissions of the agent without asking. The key `approval_mode` is the same setting in Gemini's words.
    pub permission_mode: Option<PermissionMode>,
    /// More directories for the agent's workspace.
    pub include_directories: Option<Vec<PathBuf>>,
    /// Tools that run without confirmation.
    pub allowed_tools: Option<Vec<String>>,
    /// Where the agent runs.
    pub working_dir: Option<PathBuf>,
    /// How long the run may take; [`DEFAULT_TIMEOUT`] if absent.
    pub timeout: Option<Duration>,
    /// How long the first line may take; a minute if absent, no limit of its own if zero.
    pub start_timeout: Option<Duration>,
    /// How long the agent may be silent; no limit of its own if absent or zero.
    pub idle_timeout: Option<Duration>,
    /// How long the agent may take to end once asked to; [`DEFAULT_GRACE`] if absent.
    pub grace: Option<Duration>,
    /// How often a run that failed for a passing reason is tried again; never if absent.
    pub retries: Option<u32>,
    /// Text that is sent to the agent before the prompt.
    pub system_prompt: Option<String>,
    /// How many bytes the agent may write before it is stopped.
    pub max_output: Option<u64>,
    /// Whether the run is recorded.
    pub record: Option<bool>,
    /// How long recordings are kept; thirty days if absent, [`Duration::MAX`] for ever.
    pub runs_max_age: Option<Duration>,
    /// How many bytes of recordings are kept; 2 GiB if absent, [`u64::MAX`] without a limit.
    pub runs_max_size: Option<u64>,
    /// Whether the workspace counts as trusted for this run.
    pub trust_workspace: Option<bool>,
    /// The transport to the agent.
    pub transport: Option<TransportChoice>,
    /// How much the run may use.
    pub budget: Option<Budget>,
    /// How many answers of the model the run may have: the count of [`Budget::turns`], with the cause `max_turns`.
    pub max_turns: Option<u64>,
    /// The reaction to an agent that does not report its use; the run fails if absent.
    pub budget_unknown: Option<BudgetUnknown>,
    /// The effect of a denied call on a run that the agent reports as a success; see [`OnDenied`].
    pub on_denied: Option<OnDenied>,
    /// The reaction to a call without permission; see [`OnViolation`].
    pub on_violation: Option<OnViolation>,
    /// The directories that the kernel lets the agent write; [`Workspace`](ConfineMode::Workspace) if absent for an unattended
    /// run of an agent that is known to work so.
    pub confine: Option<ConfineMode>,
    /// The reaction to a run that the kernel cannot confine.
    pub confinement: Option<ConfinementNeed>,
    /// More files and directories that a confined agent can write.
    pub confine_write: Option<Vec<PathBuf>>,
    /// The TCP ports that a confined agent can connect to; all of them if absent.
    pub confine_connect: Option<Vec<u16>>,
    /// The rules for the agent's actions. `[[rule]]` in a file.
    pub rules: Rules,
    /// Prices of tokens, for a budget of an agent that reports no cost: `[prices."model"]` in the user's file.
    pub prices: Option<PriceTable>,
    /// Agents of the user's own, under their names. A project's file has none: they decide which program is started.
    pub agents: BTreeMap<String, AcpAgent>,
}

impl Config {
    /// Builds a configuration in a program, with the checks that a file gets.
    ///
    /// ```
    /// use lapidary_engine::config::Config;
    ///
    /// let config = Config::builder().set("model", "gemini-2.5-pro").set("timeout", 90).build()?;
    /// assert_eq!(config.timeout, Some(std::time::Duration::from_secs(90)));
    ///
    /// let refused = Config::builder().set("timeout", 0).build().unwrap_err();
    /// assert_eq!(refused.to_string(), "timeout must be > 0");
    /// # Ok::<(), lapidary_engine::config::ConfigError>(())
    /// ```
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// Lays this configuration over a lower one, which supplies the settings that are absent here. The rules of this one come
    /// before the rules of the lower.
    pub fn over(self, lower: Self) -> Self {
        Self {
            agent: self.agent.or(lower.agent),
            model: self.model.or(lower.model),
            sandbox: self.sandbox.or(lower.sandbox),
            permission_mode: self.permission_mode.or(lower.permission_mode),
            include_directories: self.include_directories.or(lower.include_directories),
            allowed_tools: self.allowed_tools.or(lower.allowed_tools),
            working_dir: self.working_dir.or(lower.working_dir),
            timeout: self.timeout.or(lower.timeout),
            start_timeout: self.start_timeout.or(lower.start_timeout),
            idle_timeout: self.idle_timeout.or(lower.idle_timeout),
            grace: self.grace.or(lower.grace),
            retries: self.retries.or(lower.retries),
            system_prompt: self.system_prompt.or(lower.system_prompt),
            max_output: self.max_output.or(lower.max_output),
            record: self.record.or(lower.record),
            runs_max_age: self.runs_max_age.or(lower.runs_max_age),
            runs_max_size: self.runs_max_size.or(lower.runs_max_size),
            trust_workspace: self.trust_workspace.or(lower.trust_workspace),
            transport: self.transport.or(lower.transport),
            budget: match (self.budget, lower.budget) {
                (Some(budget), Some(lower)) => Some(budget.over(lower)),
                (budget, lower) => budget.or(lower),
            },
            max_turns: self.max_turns.or(lower.max_turns),
            budget_unknown: self.budget_unknown.or(lower.budget_unknown),
            on_denied: self.on_denied.or(lower.on_denied),
            on_violation: self.on_violation.or(lower.on_violation),
            confine: self.confine.or(lower.confine),
            confinement: self.confinement.or(lower.confinement),
            confine_write: match (self.confine_write, lower.confine_write) {
                (Some(write), Some(lower)) => Some(lower.into_iter().chain(write).collect()),
                (write, lower) => write.or(lower),
            },
            confine_connect: self.confine_connect.or(lower.confine_connect),
            rules: self.rules.before(lower.rules),
            prices: match (self.prices, lower.prices) {
                (Some(prices), Some(lower)) => Some(prices.over(lower)),
                (prices, lower) => prices.or(lower),
            },
            agents: lower.agents.into_iter().chain(self.agents).collect(),
        }
    }

    /// The directory of the agent: the configured one, which may be relative to the caller's, else the caller's.
    pub fn working_dir_in(&self, caller: &Path) -> PathBuf {
        match &self.working_dir {
            Some(dir) => caller.join(dir),
            None => caller.to_owned(),
        }
    }

    /// How long the run may take.
    pub fn timeout_or_default(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// How long the agent may take to end once asked to.
    pub fn grace_or_default(&self) -> Duration {
        self.grace.unwrap_or(DEFAULT_GRACE)
    }

    /// How much of the recordings is kept, where the limits are `usual` unless configured otherwise.
    pub fn run_limits_over(&self, usual: KeepLimits) -> KeepLimits {
        KeepLimits {
            age: self.runs_max_age.unwrap_or(usual.age),
            size: self.runs_max_size.unwrap_or(usual.size),
        }
    }

    /// The permission mode: [`PermissionMode::Default`], unless configured otherwise.
    pub fn permission_mode_or_default(&self) -> PermissionMode {
        self.permission_mode.unwrap_or_default()
    }
}
