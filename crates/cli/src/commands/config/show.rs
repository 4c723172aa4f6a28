//! `config show`: the effective settings and their sources.

use std::io::{self, Write as _};

use anyhow::anyhow;
use lapidary::engine::config::{ConfigError, EffectiveConfig, EffectiveSetting, ValueSource};
use lapidary::render::plain::sanitize;
use lapidary::vocab::config_report::{
    ConfigFile, ConfigRule, ConfigSetting, ConfigShown, SHOW_SCHEMA,
};
use lapidary::vocab::{Json, line};

use super::ConfigFormat;
use super::files::{ConfigPaths, FileArgs};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Show the configuration that a run here would have, and where each value comes from
///
/// Options on the command line go before all of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary config show
  lapidary config show -C ../other
  lapidary config show --json | jq '.settings[] | select(.isDefault | not)'

Exit codes:
  0   shown
  13  a file cannot be read; `lapidary config check` says where")]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<ConfigFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let paths = ConfigPaths::find_files(&args.files, &out.invocation)?;
    let effective = EffectiveConfig::read(paths.config_layers()).map_err(config_failure)?;
    let report = shown_config(&paths, effective);
    match ConfigFormat::or_usual(args.format, out) {
        ConfigFormat::Json => line::write(out, &report)?,
        ConfigFormat::Text => print_text(&report, out)?,
    }
    Ok(CommandExit::Success)
}

fn config_failure(error: ConfigError) -> Failure {
    let hint = error.hint();
    let failure = Failure::bad_config(anyhow!(error));
    hint.into_iter().fold(failure, Failure::with_hint)
}

fn shown_config(paths: &ConfigPaths, effective: EffectiveConfig) -> ConfigShown {
    let rules = effective.config.rules.iter().map(|rule| ConfigRule {
        rule: rule.name.clone(),
        effect: rule.then.as_str().to_owned(),
    });
    ConfigShown {
        schema: SHOW_SCHEMA.to_owned(),
        files: paths.listed_files(),
        rules: rules.collect(),
        agents: effective.config.agents.keys().cloned().collect(),
        settings: effective
            .settings
            .into_iter()
            .map(published_setting)
            .collect(),
        warnings: effective.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn published_setting(setting: EffectiveSetting) -> ConfigSetting {
    let place = match setting.source {
        ValueSource::File(place) => Some(place),
        _ => None,
    };
    ConfigSetting {
        key: setting.key.to_owned(),
        value: setting.value.as_ref().map(Json::from_value),
        is_default: place.is_none(),
        path: place.as_ref().map(|place| place.path.display().to_string()),
        line: place.map(|place| place.line as u64),
    }
}

fn print_text(report: &ConfigShown, out: &mut Printer) -> io::Result<()> {
    let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let keys = widest(&mut report.settings.iter().map(|it| it.key.len()));
    let values: Vec<_> = report.settings.iter().map(setting_text).collect();
    let width = widest(&mut values.iter().map(|it| it.chars().count())).min(32);
    for (setting, value) in report.settings.iter().zip(&values) {
        let key = &setting.key;
        writeln!(out, "{key:keys$}  {value:width$}  {}", source_text(setting))?;
    }
    for rule in &report.rules {
        writeln!(
            out,
            "{:keys$}  {:width$}  {}",
            "rule",
            rule.effect,
            sanitize(&rule.rule)
        )?;
    }
    for agent in &report.agents {
        writeln!(out, "{:keys$}  {}", "agent of yours", sanitize(agent))?;
    }
    writeln!(out)?;
    for file in &report.files {
        writeln!(out, "{}", file_text(file))?;
    }
    out.flush()?;
    for warning in &report.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    Ok(())
}

fn setting_text(setting: &ConfigSetting) -> String {
    let value = setting
        .value
        .as_ref()
        .map(|it| it.token().as_str().to_owned());
    sanitize(&value.unwrap_or_else(|| "-".to_owned())).into_owned()
}

fn source_text(setting: &ConfigSetting) -> String {
    match (&setting.path, setting.line) {
        (Some(path), Some(line)) => format!("{}:{line}", sanitize(path)),
        _ => "default".to_owned(),
    }
}

fn file_text(file: &ConfigFile) -> String {
    let path = sanitize(&file.path);
    let missing = if file.exists { "" } else { " (does not exist)" };
    format!("{} file: {path}{missing}", file.owner)
}
