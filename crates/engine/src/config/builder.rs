//! A configuration made by a program.

use std::path::PathBuf;
use std::time::Duration;

use super::problem::{ConfigError, ConfigProblem};
use super::read::unknown_key;
use super::value::ConfigValue;
use super::{ApprovalMode, Config, PermissionMode, keys};
use crate::budget::Budget;
use crate::policy::Rule;

/// Collects settings, and the first mistake among them.
#[derive(Debug, Clone, Default)]
pub struct ConfigBuilder {
    config: Config,
    mode: Option<&'static str>,
    problem: Option<ConfigProblem>,
}

impl ConfigBuilder {
    /// Sets a key as a file would.
    pub fn set(mut self, key: &str, value: impl Into<ConfigValue>) -> Self {
        let put = match keys::known_key(key) {
            Some(key @ ("approval_mode" | "permission_mode")) => self.set_mode(key, &value.into()),
            Some(key) => keys::put_value(&mut self.config, key, &value.into(), None),
            None => Err(ConfigProblem::NoSuchKey {
                key: unknown_key(key),
            }),
        };
        if let Err(problem) = put {
            self.problem.get_or_insert(problem);
        }
        self
    }

    /// Chooses the model.
    pub fn model(self, model: &str) -> Self {
        self.set("model", model)
    }

    /// Sets the permission mode of the agent.
    pub fn permission_mode(self, mode: PermissionMode) -> Self {
        self.set("permission_mode", mode.as_str())
    }

    /// Sets the permission mode in Gemini's words.
    pub fn approval_mode(self, mode: ApprovalMode) -> Self {
        self.set("approval_mode", mode.as_str())
    }

    /// Limits how long the run may take.
    pub fn timeout(self, time: Duration) -> Self {
        self.set("timeout", time.as_secs_f64())
    }

    /// Sets the working directory of the agent.
    pub fn working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.config.working_dir = Some(dir.into());
        self
    }

    /// Adds a directory to the agent's workspace.
    pub fn include_directory(mut self, dir: impl Into<PathBuf>) -> Self {
        let dirs = self.config.include_directories.get_or_insert_default();
        dirs.push(dir.into());
        self
    }

    /// Adds a file or directory that a confined agent can write.
    pub fn confine_write(mut self, path: impl Into<PathBuf>) -> Self {
        let paths = self.config.confine_write.get_or_insert_default();
        paths.push(path.into());
        self
    }

    /// Adds a tool that runs without confirmation.
    pub fn allowed_tool(mut self, tool: impl Into<String>) -> Self {
        let tools = self.config.allowed_tools.get_or_insert_default();
        tools.push(tool.into());
        self
    }

    /// Adds a rule behind the present ones.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.config.rules.push(rule);
        self
    }

    /// Limits how much the run may use.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.config.budget = Some(budget);
        self
    }

    /// The configuration, or the first mistake.
    pub fn build(self) -> Result<Config, ConfigError> {
        match self.problem {
            Some(problem) => Err(ConfigError::Refused(problem)),
            None => Ok(self.config),
        }
    }

    /// Both names in one configuration contradict each other, or say the same twice.
    fn set_mode(&mut self, key: &'static str, value: &ConfigValue) -> Result<(), ConfigProblem> {
        if self.mode.is_some_and(|other| other != key) {
            return Err(ConfigProblem::TwoModes);
        }
        self.mode = Some(key);
        keys::put_value(&mut self.config, key, value, None)
    }
}
