//! The bounds of a run for the runs below it: a server that an agent starts allows no more than the agent's own run.
//!
//! They are passed on in a variable. A server narrows its options by every set of bounds that it finds: its rules are those of the
//! outermost run, with more denials before them, and each setting is the stricter one of both.

use std::path::{Path, PathBuf};

use lapidary_engine::OnViolation;
use lapidary_engine::budget::{Budget, BudgetUnknown};
use lapidary_engine::config::{Config, ConfigError};
use lapidary_engine::confine::ConfineMode;
use lapidary_engine::headless::Job;
use lapidary_engine::policy::PermissionEffect;
use serde_json::{Map, Value, json};

use super::{ConfigFiles, RunOptions};

/// The variable with the bounds of the run that a program belongs to.
pub const BOUNDS_VARIABLE: &str = "LAPIDARY_BOUNDS";

/// The longest value of the variable: Linux takes 128 KiB.
const LONGEST_VALUE: usize = 100 * 1024;

/// Limits that a run passes on to the runs below it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBounds {
    /// Runs work in this directory or below it. Links are followed.
    pub directory: PathBuf,
    /// The rules of flags. The files with settings have the rest.
    pub rules: Vec<BoundRule>,
    /// The files with further rules and settings.
    pub config_files: ConfigFiles,
    /// The settings that limit a run.
    pub config: Config,
}

/// A rule of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRule {
    /// Its effect.
    pub effect: PermissionEffect,
    /// The rule as the flag has it, such as `edit:src/**`.
    pub spec: String,
    /// The directory from which its relative paths count.
    pub from: PathBuf,
}

/// The settings that are texts, with their values.
fn text_settings(config: &Config) -> [(&'static str, Option<String>); 6] {
    let mode = config.permission_mode_or_default();
    [
        ("permission_mode", Some(mode.as_str().to_owned())),
        ("budget", config.budget.map(|it| it.to_string())),
        (
            "budget_unknown",
            config.budget_unknown.map(|it| it.as_str().to_owned()),
        ),
        (
            "on_violation",
            config.on_violation.map(|it| it.as_str().to_owned()),
        ),
        ("confine", config.confine.map(|it| it.as_str().to_owned())),
        (
            "confinement",
            config.confinement.map(|it| it.as_str().to_owned()),
        ),
    ]
}

impl RunBounds {
    /// The bounds of a job that was made of these options.
    pub fn of_job(job: &Job, options: &RunOptions) -> Self {
        let here = &job.environment.dir;
        let mut config = job.config.clone();
        let lists = [&mut config.include_directories, &mut config.confine_write];
        for path in lists.into_iter().flatten().flatten() {
            *path = here.join(&*path);
        }
        Self {
            directory: job.config.working_dir_in(here),
            rules: options.bounded_rules(here),
            config_files: match options.bounded_files() {
                ConfigFiles::Named(file) => ConfigFiles::Named(here.join(file)),
                other => other.clone(),
            },
            config,
        }
    }

    /// The value of the variable.
    ///
    /// # Errors
    /// The bounds are too long for a variable, or a path is not Unicode.
    pub fn to_value(&self) -> Result<String, String> {
        let config = &self.config;
        let mut settings = Map::new();
        let texts = text_settings(config).into_iter();
        settings.extend(texts.filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
        let others = [
            ("max_turns", config.max_turns.map(|it| json!(it))),
            ("timeout", config.timeout.map(|it| json!(it.as_secs_f64()))),
            ("sandbox", config.sandbox.map(|it| json!(it))),
            (
                "trust_workspace",
                config.trust_workspace.map(|it| json!(it)),
            ),
            (
                "allowed_tools",
                config.allowed_tools.as_ref().map(|it| json!(it)),
            ),
            (
                "include_directories",
                config.include_directories.as_ref().map(|it| json!(it)),
            ),
            (
                "confine_write",
                config.confine_write.as_ref().map(|it| json!(it)),
            ),
            (
                "confine_connect",
                config.confine_connect.as_ref().map(|it| json!(it)),
            ),
        ];
        let others = others.into_iter();
        settings.extend(others.filter_map(|(key, value)| Some((key.to_owned(), value?))));
        let rules = self.rules.iter();
        let rules: Value = rules
            .map(|rule| json!([rule.effect.as_str(), rule.spec, rule.from]))
            .collect();
        let files = match &self.config_files {
            ConfigFiles::Found => json!("found"),
            ConfigFiles::None => json!("none"),
            ConfigFiles::Named(file) => json!({"named": path_text(file)?}),
        };
        let value = json!({
            "directory": path_text(&self.directory)?,
            "rules": rules, "config_files": files, "settings": settings,
        });
        let value = value.to_string();
        match value.len() {
            ..=LONGEST_VALUE => Ok(value),
            _ => Err("the rules are too long to be passed on to an agent".to_owned()),
        }
    }

    /// Reads the value of the variable. None if Lapidary did not write it.
    pub fn parse(value: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(value).ok()?;
        let rules = value["rules"].as_array()?.iter().map(|rule| {
            Some(BoundRule {
                effect: PermissionEffect::from_word(rule[0].as_str()?)?,
                spec: rule[1].as_str()?.to_owned(),
                from: rule[2].as_str()?.into(),
            })
        });
        Some(Self {
            directory: value["directory"].as_str()?.into(),
            rules: rules.collect::<Option<_>>()?,
            config_files: match &value["config_files"] {
                Value::String(word) if word == "found" => ConfigFiles::Found,
                Value::String(word) if word == "none" => ConfigFiles::None,
                named => ConfigFiles::Named(named["named"].as_str()?.into()),
            },
            config: parse_settings(value["settings"].as_object()?).ok()?,
        })
    }

    /// Narrows the settings of a run by these bounds. Relative paths of the settings count from `here`.
    pub(super) fn narrow_config(&self, config: &mut Config, here: &Path) {
        let bounds = &self.config;
        let mode = config.permission_mode_or_default();
        config.permission_mode = Some(mode.min(bounds.permission_mode_or_default()));
        let budget = config.budget.unwrap_or_default();
        let budget = budget.narrowed_by(bounds.budget.unwrap_or_default());
        config.budget = Some(budget).filter(|it| *it != Budget::default());
        config.max_turns = smaller(config.max_turns, bounds.max_turns);
        config.timeout = smaller(config.timeout, bounds.timeout);
        if bounds.budget_unknown != Some(BudgetUnknown::Warn) {
            config.budget_unknown = None;
        }
        if bounds.on_violation != Some(OnViolation::Report) {
            config.on_violation = None;
        }
        config.sandbox = config.sandbox.max(bounds.sandbox);
        config.trust_workspace = config.trust_workspace.min(bounds.trust_workspace);
        config.confine = stricter_confinement(config.confine, bounds.confine);
        config.confinement = config.confinement.max(bounds.confinement);
        if let Some(tools) = &mut config.allowed_tools {
            let allowed = bounds.allowed_tools.as_deref().unwrap_or_default();
            tools.retain(|tool| allowed.contains(tool));
        }
        if let Some(ports) = &bounds.confine_connect {
            let own = config.confine_connect.get_or_insert_with(|| ports.clone());
            own.retain(|port| ports.contains(port));
        }
        let kept = |own: &Path, given: &Option<Vec<PathBuf>>| {
            let given = given.iter().flatten().chain([&self.directory]);
            given
                .into_iter()
                .any(|bound| lies_inside(&here.join(own), bound))
        };
        if let Some(directories) = &mut config.include_directories {
            directories.retain(|it| kept(it, &bounds.include_directories));
        }
        if let Some(paths) = &mut config.confine_write {
            paths.retain(|it| kept(it, &bounds.confine_write));
        }
    }

    /// True if a run may work in this directory. Links are followed.
    pub(super) fn has_directory(&self, directory: &Path) -> bool {
        lies_inside(directory, &self.directory)
    }
}

impl RunOptions {
    /// The rules of flags: below other runs, the denials among them before the rules of the outermost run. Only denials can be added
    /// without allowing more. Relative paths of the own rules count from `here`.
    pub(super) fn bounded_rules(&self, here: &Path) -> Vec<BoundRule> {
        let own = self.rules.iter().map(|(effect, spec)| BoundRule {
            effect: *effect,
            spec: spec.clone(),
            from: here.to_owned(),
        });
        let Some((outermost, inner)) = self.bounds.split_last() else {
            return own.collect();
        };
        let inner = inner.iter().flat_map(|it| it.rules.iter().cloned());
        let denials = own.chain(inner);
        let denials = denials.filter(|rule| rule.effect == PermissionEffect::Deny);
        denials.chain(outermost.rules.iter().cloned()).collect()
    }

    /// The files with settings: below other runs, those of the outermost one.
    pub(super) fn bounded_files(&self) -> &ConfigFiles {
        let outermost = self.bounds.last();
        outermost.map_or(&self.config_files, |it| &it.config_files)
    }
}

fn parse_settings(settings: &Map<String, Value>) -> Result<Config, ConfigError> {
    let settings = settings.iter();
    let builder = settings.fold(Config::builder(), |builder, (key, value)| {
        builder.set(key, value)
    });
    builder.build()
}

fn path_text(path: &Path) -> Result<&str, String> {
    let text = path.to_str();
    text.ok_or_else(|| {
        format!(
            "`{}` is not Unicode, and cannot be passed on",
            path.display()
        )
    })
}

/// The smaller of two limits. An absent one is none.
fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Without a mode, the kernel confines agents that are known to work so: only `off` is less.
fn stricter_confinement(
    own: Option<ConfineMode>,
    bound: Option<ConfineMode>,
) -> Option<ConfineMode> {
    match (own, bound) {
        (Some(ConfineMode::Off), None) => None,
        (own, None | Some(ConfineMode::Off)) => own,
        (own, Some(bound)) => Some(own.map_or(bound, |own| own.max(bound))),
    }
}

/// True if a path that exists lies in a directory. Links are followed.
fn lies_inside(path: &Path, directory: &Path) -> bool {
    match (path.canonicalize(), directory.canonicalize()) {
        (Ok(path), Ok(directory)) => path.starts_with(directory),
        (Err(_), _) | (_, Err(_)) => false,
    }
}
