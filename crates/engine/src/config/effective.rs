//! The effective configuration, key by key, with the file that each value comes from.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::files::{read_named, read_projects, read_users};
use super::keys::UNLIMITED;
use super::problem::{ConfigError, ConfigWarning, FilePosition};
use super::read::ParsedConfig;
use super::{Config, DEFAULT_GRACE, DEFAULT_TIMEOUT, KEYS};
use crate::recording::KeepLimits;

/// The files that a configuration is made of, each of which may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfigLayers<'a> {
    /// The user's own.
    pub user: Option<&'a Path>,
    /// The project's.
    pub project: Option<&'a Path>,
    /// One that the user names instead of the project's.
    pub named: Option<&'a Path>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueSource {
    /// No file has it.
    Default,
    /// It stands there.
    File(FilePosition),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    /// The key, as files spell it.
    pub key: &'static str,
    /// The value, as a file would have it; absent if there is neither a value nor a default.
    pub value: Option<Value>,
    /// Where it comes from.
    pub source: ValueSource,
}

/// All keys with their values, and the ignored entries.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveConfig {
    /// The settings, in the order of [`KEYS`]. `approval_mode` is `permission_mode` in other words and is not among them.
    pub settings: Vec<EffectiveSetting>,
    /// The configuration that they make.
    pub config: Config,
    /// Entries of the files that were ignored.
    pub warnings: Vec<ConfigWarning>,
}

impl EffectiveConfig {
    /// Reads the files.
    pub fn read(layers: ConfigLayers<'_>) -> Result<Self, ConfigError> {
        let user = layers.user.map(read_users).transpose()?;
        let user = user.unwrap_or_default();
        let upper = match (layers.named, layers.project) {
            (Some(named), _) => read_named(named)?,
            (None, Some(project)) => read_projects(project, &user.config)?,
            (None, None) => ParsedConfig::default(),
        };
        let keys = KEYS.into_iter().filter(|key| *key != "approval_mode");
        let settings = keys
            .map(|key| effective_setting(key, &upper, &user))
            .collect();
        let mut warnings = user.warnings;
        warnings.extend(upper.warnings);
        Ok(Self {
            settings,
            config: upper.config.over(user.config),
            warnings,
        })
    }
}

fn effective_setting(
    key: &'static str,
    upper: &ParsedConfig,
    user: &ParsedConfig,
) -> EffectiveSetting {
    for layer in [upper, user] {
        if let Some(value) = value_of(&layer.config, key) {
            let place = layer.place_of(key).cloned();
            return EffectiveSetting {
                key,
                value: Some(value),
                source: place.map_or(ValueSource::Default, ValueSource::File),
            };
        }
    }
    EffectiveSetting {
        key,
        value: default_of(key),
        source: ValueSource::Default,
    }
}

impl ParsedConfig {
    /// Where a key stands, under either of its names.
    fn place_of(&self, key: &str) -> Option<&FilePosition> {
        let other = (key == "permission_mode").then_some("approval_mode");
        let written = self.written.get(key);
        let written = written.or_else(|| self.written.get(other?));
        written.map(|written| &written.place)
    }
}

/// The value of a key, as a file would have it.
fn value_of(config: &Config, key: &str) -> Option<Value> {
    let paths = |paths: &Vec<std::path::PathBuf>| paths.iter().map(|path| json!(path)).collect();
    match key {
        "agent" => config.agent.as_ref().map(|it| json!(it)),
        "model" => config.model.as_ref().map(|it| json!(it)),
        "system_prompt" => config.system_prompt.as_ref().map(|it| json!(it)),
        "working_dir" => config.working_dir.as_ref().map(|it| json!(it)),
        "include_directories" => config.include_directories.as_ref().map(paths),
        "allowed_tools" => config.allowed_tools.as_ref().map(|it| json!(it)),
        "sandbox" => config.sandbox.map(|it| json!(it)),
        "record" => config.record.map(|it| json!(it)),
        "runs_max_age" => config.runs_max_age.map(age_value),
        "runs_max_size" => config.runs_max_size.map(size_value),
        "trust_workspace" => config.trust_workspace.map(|it| json!(it)),
        "permission_mode" => config.permission_mode.map(|it| json!(it.as_str())),
        "transport" => config.transport.map(|it| json!(it.as_str())),
        "budget" => config.budget.map(|it| json!(it.to_string())),
        "budget_unknown" => config.budget_unknown.map(|it| json!(it.as_str())),
        "on_denied" => config.on_denied.map(|it| json!(it.as_str())),
        "on_violation" => config.on_violation.map(|it| json!(it.as_str())),
        "max_turns" => config.max_turns.map(|it| json!(it)),
        "max_output" => config.max_output.map(|it| json!(it)),
        "retries" => config.retries.map(|it| json!(it)),
        "timeout" => config.timeout.map(seconds_value),
        "start_timeout" => config.start_timeout.map(seconds_value),
        "idle_timeout" => config.idle_timeout.map(seconds_value),
        "grace" => config.grace.map(seconds_value),
        "confine" => config.confine.map(|it| json!(it.as_str())),
        "confinement" => config.confinement.map(|it| json!(it.as_str())),
        "confine_write" => config.confine_write.as_ref().map(paths),
        "confine_connect" => config.confine_connect.as_ref().map(|it| json!(it)),
        // A test asks for every key.
        _ => None,
    }
}

/// The default of a key that no file has.
fn default_of(key: &str) -> Option<Value> {
    Some(match key {
        "agent" => json!("gemini"),
        "permission_mode" => json!("default"),
        "transport" | "on_denied" => json!("auto"),
        "budget_unknown" => json!("fail"),
        "on_violation" => json!("stop"),
        "confinement" => json!("wanted"),
        "sandbox" | "trust_workspace" => json!(false),
        "record" => json!(true),
        "retries" | "idle_timeout" => json!(0),
        "timeout" => seconds_value(DEFAULT_TIMEOUT),
        "start_timeout" => json!(60),
        "grace" => seconds_value(DEFAULT_GRACE),
        "max_output" => json!(1_u64 << 30),
        "runs_max_age" => age_value(KeepLimits::default().age),
        "runs_max_size" => size_value(KeepLimits::default().size),
        _ => return None,
    })
}

/// An age as in the file: days where they are whole, else hours.
fn age_value(time: Duration) -> Value {
    let hours = time.as_secs() / 3600;
    match hours {
        _ if time == Duration::MAX => json!(UNLIMITED),
        hours if hours.is_multiple_of(24) => json!(format!("{}d", hours / 24)),
        hours => json!(format!("{hours}h")),
    }
}

fn size_value(bytes: u64) -> Value {
    match bytes {
        u64::MAX => json!(UNLIMITED),
        bytes => json!(bytes),
    }
}

/// Seconds, as an integer if there is no fraction.
fn seconds_value(time: Duration) -> Value {
    if time.subsec_nanos() == 0 {
        return json!(time.as_secs());
    }
    json!(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_KEY: &str = "model = 'm'\nsandbox = true\npermission_mode = 'plan'\ninclude_directories = ['/d']\n\
        allowed_tools = ['t']\nworking_dir = '/w'\ntimeout = '5m'\nagent = 'claude'\ntransport = 'acp'\n\
        start_timeout = 1.5\nidle_timeout = 0\ngrace = 2\nretries = 1\nsystem_prompt = 's'\nmax_output = 9\n\
        record = false\nruns_max_age = '7d'\nruns_max_size = '1GiB'\ntrust_workspace = true\nbudget = 'tokens=5'\nmax_turns = 3\nbudget_unknown = 'warn'\n\
        on_denied = 'fail'\non_violation = 'report'\nconfine = 'read-only'\nconfinement = 'required'\nconfine_write = ['/d']\nconfine_connect = [443]\n";

    fn read(folder: &Path, user: &str, project: &str) -> EffectiveConfig {
        let files = [folder.join("user.toml"), folder.join("project.toml")];
        std::fs::write(&files[0], user).unwrap();
        std::fs::write(&files[1], project).unwrap();
        let layers = ConfigLayers {
            user: Some(&files[0]),
            project: Some(&files[1]),
            named: None,
        };
        EffectiveConfig::read(layers).unwrap()
    }

    #[test]
    fn every_key_is_shown_with_its_value_and_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let shown = read(folder.path(), EVERY_KEY, "");
        for setting in &shown.settings {
            assert!(
                matches!(setting.source, ValueSource::File(_)),
                "{setting:?}"
            );
            assert!(setting.value.is_some(), "{setting:?}");
        }
        assert_eq!(shown.settings.len(), KEYS.len() - 1);
    }

    #[test]
    fn the_project_is_named_where_it_counts_and_not_where_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let project = "model = 'theirs'\npermission_mode = 'bypassPermissions'\n";
        let user = "\napproval_mode = 'auto_edit'\ntimeout = 90\n";
        let shown = read(folder.path(), user, project);
        let of = |key| {
            let setting = shown.settings.iter().find(|it| it.key == key).unwrap();
            let place = match &setting.source {
                ValueSource::Default => "default".to_owned(),
                ValueSource::File(place) => {
                    let name = place.path.file_name().unwrap().to_string_lossy();
                    format!("{name}:{}:{}", place.line, place.column)
                }
            };
            (setting.value.clone().unwrap_or_default(), place)
        };
        assert_eq!(
            of("model"),
            (json!("theirs"), "project.toml:1:9".to_owned())
        );
        let mode = (json!("acceptEdits"), "user.toml:2:17".to_owned());
        assert_eq!(of("permission_mode"), mode);
        assert_eq!(of("timeout"), (json!(90), "user.toml:3:11".to_owned()));
        assert_eq!(of("grace"), (json!(5), "default".to_owned()));
        assert_eq!(of("max_turns"), (Value::Null, "default".to_owned()));
        assert_eq!(shown.warnings.len(), 1);
    }
}
