//! The limits of a project's file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_normalize::OnDenied;

use super::problem::{ConfigError, ConfigWarning};
use super::read::ParsedConfig;
use super::value::ConfigValue;
use super::{Config, PermissionMode};
use crate::OnViolation;
use crate::budget::BudgetUnknown;
use crate::confine::{ConfineMode, ConfinementNeed};
use crate::policy::PermissionEffect;

/// The longest grace period that a project may set: a user who pressed Ctrl-C wants to see the agent end.
const LONGEST_GRACE: Duration = Duration::from_mins(1);

/// The longest value that a project may set for any other time.
const LONGEST_TIME: Duration = Duration::from_hours(24);

/// How many bytes a project may let the agent write: as many as without its file. More would fill the disk.
const MOST_OUTPUT: u64 = 1 << 30;

/// How often a project may have a run tried again: each attempt costs tokens.
const MOST_RETRIES: u32 = 3;

impl Config {
    /// Reads the file of a project, without the settings that such a file may not have. `origin` is its path.
    ///
    /// It comes with a cloned repository, written by its authors. It may choose a model, a timeout or a prompt, and may narrow
    /// the permissions of the agent. It cannot grant power, nor choose the program that is started:
    ///
    /// | key | refused |
    /// |---|---|
    /// | `permission_mode`, `approval_mode` | `acceptEdits`/`auto_edit` and `bypassPermissions`/`yolo`; by [`load`](super::load) also `default` where the user's file says `plan` |
    /// | `allowed_tools` | any tool |
    /// | `trust_workspace` | `true` |
    /// | `sandbox` | `false` |
    /// | `agent`, `agents` | always: they decide which program is started |
    /// | `include_directories`, `working_dir` | a directory outside the project, links followed, or one that is not there |
    /// | `record` | `false`: a project cannot switch off the record of its runs |
    /// | `runs_max_age`, `runs_max_size` | always: they decide which recordings are deleted |
    /// | `grace` | more than a minute |
    /// | `rule` | rules that `allow`; the others can only narrow the user's rules and mode |
    /// | `budget`, `max_turns`, by [`load`](super::load) | limits above the user's |
    /// | `budget_unknown` | `warn` |
    /// | `on_denied` | `auto` and `warn` |
    /// | `on_violation` | `report` |
    /// | `confine` | `off`; by [`load`](super::load) also `workspace` where the user's file says `read-only` |
    /// | `confinement` | `wanted` |
    /// | `confine_write` | any directory |
    /// | `confine_connect`, by [`load`](super::load) | ports that are not among the user's |
    /// | `timeout`, `start_timeout`, `idle_timeout` | more than a day |
    /// | `max_output` | more than 1 GiB; by [`load`](super::load) more than the user's |
    /// | `retries` | more than three; by [`load`](super::load) more than the user's |
    ///
    /// A refused setting is ignored, with a warning for each key. It is no error: a repository cannot make itself unusable.
    pub fn from_project_toml(
        text: &str,
        origin: &Path,
    ) -> Result<(Self, Vec<ConfigWarning>), ConfigError> {
        let read = ParsedConfig::from_project_toml(text, origin)?;
        Ok((read.config, read.warnings))
    }
}

impl ParsedConfig {
    pub(super) fn from_project_toml(text: &str, origin: &Path) -> Result<Self, ConfigError> {
        let mut read = Self::from_toml(text, origin)?;
        let project = origin.parent().unwrap_or(Path::new(""));
        read.refuse_power(project);
        // Prices count from the user's file only, as for statistics: a project could make a budget last for ever.
        read.config.prices = None;
        read.refuse_rules();
        Ok(read)
    }

    fn refuse_power(&mut self, project: &Path) {
        let config = &mut self.config;
        let outside = |dir: &PathBuf| !lies_inside(dir, project);
        let too_long = |time: &Duration| *time > LONGEST_TIME;
        let beyond = |mode: &PermissionMode| *mode > PermissionMode::Default;
        // The mode has two keys, and a warning is made only for the key in the file.
        let mode = take_refused(&mut config.permission_mode, beyond);
        let refused = [
            ("agent", take_refused(&mut config.agent, |_| true)),
            ("sandbox", take_refused(&mut config.sandbox, |on| !on)),
            ("record", take_refused(&mut config.record, |on| !on)),
            // A project could have the recordings of others deleted, or fill the disk.
            (
                "runs_max_age",
                take_refused(&mut config.runs_max_age, |_| true),
            ),
            (
                "runs_max_size",
                take_refused(&mut config.runs_max_size, |_| true),
            ),
            (
                "trust_workspace",
                take_refused(&mut config.trust_workspace, |on| *on),
            ),
            (
                "allowed_tools",
                take_refused(&mut config.allowed_tools, |tools| !tools.is_empty()),
            ),
            ("approval_mode", mode),
            ("permission_mode", mode),
            (
                "working_dir",
                take_refused(&mut config.working_dir, outside),
            ),
            (
                "grace",
                take_refused(&mut config.grace, |time| *time > LONGEST_GRACE),
            ),
            ("timeout", take_refused(&mut config.timeout, too_long)),
            (
                "max_output",
                take_refused(&mut config.max_output, |bytes| *bytes > MOST_OUTPUT),
            ),
            (
                "retries",
                take_refused(&mut config.retries, |count| *count > MOST_RETRIES),
            ),
            (
                "budget_unknown",
                take_refused(&mut config.budget_unknown, |word| {
                    *word == BudgetUnknown::Warn
                }),
            ),
            (
                "on_denied",
                take_refused(&mut config.on_denied, |word| *word != OnDenied::Fail),
            ),
            (
                "on_violation",
                take_refused(&mut config.on_violation, |word| {
                    *word == OnViolation::Report
                }),
            ),
            (
                "confine",
                take_refused(&mut config.confine, |mode| *mode == ConfineMode::Off),
            ),
            (
                "confinement",
                take_refused(&mut config.confinement, |need| {
                    *need == ConfinementNeed::Wanted
                }),
            ),
            (
                "confine_write",
                take_refused(&mut config.confine_write, |_| true),
            ),
            (
                "start_timeout",
                take_refused(&mut config.start_timeout, too_long),
            ),
            (
                "idle_timeout",
                take_refused(&mut config.idle_timeout, too_long),
            ),
        ];
        let has_agents = !std::mem::take(&mut config.agents).is_empty();
        if has_agents {
            self.warn_ignored_key("agents", None);
        }
        for (key, _) in refused.into_iter().filter(|(_, refused)| *refused) {
            self.warn_ignored_key(key, None);
        }
        self.refuse_directories(outside);
    }

    /// Rules that allow are no rules of a project; the others are known as its own from here on.
    fn refuse_rules(&mut self) {
        let refused = self
            .config
            .rules
            .refuse(|rule| rule.then == PermissionEffect::Allow);
        let warnings = refused
            .into_iter()
            .map(|rule| ConfigWarning::RuleNotForProjects { rule: rule.name });
        self.warnings.extend(warnings);
        self.config.rules.become_projects();
    }

    /// Drops directories outside the project, and keeps the others.
    fn refuse_directories(&mut self, outside: impl Fn(&PathBuf) -> bool) {
        let Some(dirs) = &mut self.config.include_directories else {
            return;
        };
        let refused: Vec<_> = dirs.extract_if(.., |dir| outside(dir)).collect();
        if refused.is_empty() {
            return;
        }
        if dirs.is_empty() {
            self.config.include_directories = None;
        }
        let names = refused.iter().map(|dir| dir.to_string_lossy().into_owned());
        let names: ConfigValue = names.collect();
        self.warn_ignored_key("include_directories", Some(names.python_repr()));
    }

    /// Warns that a key is ignored, or only its part `asked`.
    fn warn_ignored_key(&mut self, key: &'static str, asked: Option<String>) {
        if let Some(written) = self.written.get(key) {
            self.warnings.push(ConfigWarning::NotForProjects {
                place: written.place.clone(),
                key,
                asked: asked.unwrap_or_else(|| written.shown.clone()),
            });
        }
    }
}

/// Removes a setting that is to be refused, and returns whether it did.
fn take_refused<T>(setting: &mut Option<T>, refuse: impl Fn(&T) -> bool) -> bool {
    setting.take_if(|value| refuse(value)).is_some()
}

/// True if the directory exists and is inside the project once all links are followed. A missing directory is refused: it may
/// become a link later.
fn lies_inside(dir: &Path, project: &Path) -> bool {
    match (dir.canonicalize(), project.canonicalize()) {
        (Ok(dir), Ok(project)) => dir.starts_with(project),
        _ => false,
    }
}
