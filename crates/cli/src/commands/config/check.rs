//! `config check`: mistakes in the configuration files.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use lapidary::engine::config::{
    ConfigError, ConfigLayers, ConfigWarning, EffectiveConfig, FilePosition,
};
use lapidary::engine::policy::RuleRemark;
use lapidary::prepare::agent_names;
use lapidary::render::plain::sanitize;
use lapidary::vocab::config_report::{CHECK_SCHEMA, ConfigCheck, ConfigFinding, ConfigSeverity};
use lapidary::vocab::line;

use super::ConfigFormat;
use super::files::{ConfigPaths, FileArgs};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Check the configuration files, and report mistakes by file, line and column
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary config check
  lapidary config check --config ci.toml
  lapidary config check --json | jq '.findings[]'

Reads the user's file and the project's. An error keeps runs from starting; a warning is about something that is ignored. \
Of each file the first error is reported.

Exit codes:
  0   no error; there may be warnings
  3   an error; with --strict also a warning")]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// Exit with 3 also if there is only a warning
    #[arg(long)]
    strict: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<ConfigFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let paths = ConfigPaths::find_files(&args.files, &out.invocation)?;
    let findings = file_findings(&paths);
    let count = |severity: ConfigSeverity| {
        let found = findings.iter().filter(|it| it.severity == severity);
        found.count() as u64
    };
    let (errors, warnings) = (count(ConfigSeverity::Error), count(ConfigSeverity::Warning));
    let report = ConfigCheck {
        schema: CHECK_SCHEMA.to_owned(),
        files: paths.listed_files(),
        errors,
        warnings,
        findings,
    };
    match ConfigFormat::or_usual(args.format, out) {
        ConfigFormat::Json => line::write(out, &report)?,
        ConfigFormat::Text => print_text(&report, out)?,
    }
    let is_wrong = errors > 0 || args.strict && warnings > 0;
    Ok(if is_wrong {
        CommandExit::Strict
    } else {
        CommandExit::Success
    })
}

/// The findings of each file. A file that cannot be read does not hide the findings of the other.
fn file_findings(paths: &ConfigPaths) -> Vec<ConfigFinding> {
    let layers = paths.config_layers();
    if let Ok(effective) = EffectiveConfig::read(layers) {
        let warnings = effective.warnings.iter().flat_map(warning_findings);
        return warnings.chain(rule_remarks(paths, &effective)).collect();
    }
    let user = ConfigLayers {
        user: layers.user,
        ..ConfigLayers::default()
    };
    let other = ConfigLayers {
        user: None,
        ..layers
    };
    let found = [user, other].map(|layer| match EffectiveConfig::read(layer) {
        Ok(effective) => effective
            .warnings
            .iter()
            .flat_map(warning_findings)
            .collect(),
        Err(error) => vec![error_finding(&error)],
    });
    found.concat()
}

/// Remarks on rules: contradictions, and unknown tools and agents.
fn rule_remarks(paths: &ConfigPaths, effective: &EffectiveConfig) -> Vec<ConfigFinding> {
    let config = &effective.config;
    let remarks = config.rules.remarks(&agent_names(config));
    let finding = |remark: &RuleRemark| {
        let (name, line) = remark.rule().rsplit_once(':').unwrap_or_default();
        // A rule of the project's file is named by the file alone.
        let project = paths.project.as_ref().filter(|_| !name.contains('/'));
        let path = project.map_or(Path::new(name), PathBuf::as_path);
        let message = remark.to_string();
        let start = format!("{}: ", remark.rule());
        let message = message.strip_prefix(&start).unwrap_or(&message);
        ConfigFinding {
            line: line.parse().ok(),
            ..new_finding(ConfigSeverity::Warning, path, None, message.to_owned())
        }
    };
    remarks.iter().map(finding).collect()
}

fn error_finding(error: &ConfigError) -> ConfigFinding {
    let (path, place, message) = match error {
        ConfigError::Read { path, source } => (path.as_path(), None, source.to_string()),
        ConfigError::Syntax { place, reason } => {
            (place.path.as_path(), Some(place), reason.clone())
        }
        ConfigError::At { place, problem } => {
            (place.path.as_path(), Some(place), problem.to_string())
        }
        other => (Path::new(""), None, other.to_string()),
    };
    let finding = new_finding(ConfigSeverity::Error, path, place, message);
    ConfigFinding {
        hint: error.hint(),
        ..finding
    }
}

/// A warning. Several unknown keys are several findings.
fn warning_findings(warning: &ConfigWarning) -> Vec<ConfigFinding> {
    let warn =
        |path: &Path, place, message| new_finding(ConfigSeverity::Warning, path, place, message);
    match warning {
        ConfigWarning::UnknownKeys {
            origin,
            keys,
            places,
        } => {
            let origin = origin.as_deref().unwrap_or(Path::new(""));
            let keys = keys.iter().enumerate();
            keys.map(|(at, key)| warn(origin, places.get(at), format!("unknown key {key}")))
                .collect()
        }
        ConfigWarning::NotForProjects { place, key, asked } => {
            let message =
                format!("`{key} = {asked}` is ignored: a project's file cannot grant this");
            vec![with_remedy(warn(&place.path, Some(place), message))]
        }
        ConfigWarning::RuleNotForProjects { rule } => {
            let (path, line) = rule.rsplit_once(':').unwrap_or((rule, ""));
            let message = "the rule is ignored: a project's file cannot allow anything";
            let finding = warn(Path::new(path), None, message.to_owned());
            vec![with_remedy(ConfigFinding {
                line: line.parse().ok(),
                ..finding
            })]
        }
        ConfigWarning::WiderThanUser { origin, .. } | ConfigWarning::NotOurs { origin } => {
            let message = warning.to_string();
            let start = format!("{}: ", origin.display());
            let message = message.strip_prefix(&start).unwrap_or(&message);
            vec![warn(origin, None, message.to_owned())]
        }
        other => vec![warn(Path::new(""), None, other.to_string())],
    }
}

fn with_remedy(finding: ConfigFinding) -> ConfigFinding {
    let hint =
        "put it into your own file (`lapidary config init --user`), or pass a file with `--config`";
    ConfigFinding {
        hint: Some(hint.to_owned()),
        ..finding
    }
}

fn new_finding(
    severity: ConfigSeverity,
    path: &Path,
    place: Option<&FilePosition>,
    message: String,
) -> ConfigFinding {
    ConfigFinding {
        severity,
        path: path.display().to_string(),
        line: place.map(|place| place.line as u64),
        column: place.map(|place| place.column as u64),
        message,
        hint: None,
    }
}

fn print_text(report: &ConfigCheck, out: &mut Printer) -> io::Result<()> {
    for finding in &report.findings {
        let numbers = [finding.line, finding.column].into_iter().flatten();
        let place = numbers.fold(finding.path.clone(), |place, it| format!("{place}:{it}"));
        let style = severity_style(&finding.severity, out.colour);
        let (word, message) = (&finding.severity, sanitize(&finding.message));
        writeln!(
            out,
            "{}: {style}{word}{style:#}: {message}",
            sanitize(&place)
        )?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "  hint: {}", sanitize(hint))?;
        }
    }
    let read = report.files.iter().filter(|file| file.exists).count();
    if read == 0 {
        out.print_note("there is no configuration file; `lapidary config init` writes one")
    } else if report.findings.is_empty() {
        out.print_note("nothing is wrong")
    } else {
        Ok(())
    }
}

fn severity_style(severity: &ConfigSeverity, colour: bool) -> Style {
    match severity {
        _ if !colour => Style::new(),
        ConfigSeverity::Error => AnsiColor::Red.on_default().bold(),
        _ => AnsiColor::Yellow.on_default(),
    }
}
