//! `sessions prune`: removes sessions that are too old or too many, and files without a session.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use anyhow::anyhow;
use lapidary::gemini::Vars;
use lapidary::gemini::settings::{Settings, WorkspaceTrust};
use lapidary::gemini::trust::Trust;
use lapidary::sessions::{
    ExpiringItem, ExpiryReason, RetentionError, RetentionLimits, RetentionRules, SessionDeletion,
    SessionInventory, SessionProject,
};
use lapidary::vocab::removal::RemovalReason;

use super::common::{ProjectScope, SessionsContext, SessionsFormat};
use super::removal::RemovalPlan;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Remove sessions that are too old or too many, and files without any session in them
///
/// The limits are Gemini CLI's own settings (`general.sessionRetention`: `maxAge`, 30d by default, `maxCount`, `minRetention`, 1d by default), or the options given here: then only these count. Shows what it would remove, and removes it only with --apply. A file that was written within `minRetention` stays, even if it is empty or broken. A session is removed with all its files or not at all; whole ids are compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions prune
  lapidary sessions prune --all --apply
  lapidary sessions prune --max-age 12w --max-count 200

A period is a number and one of h (hours), d (days), w (weeks) and m (months of 30 days).")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ProjectScope,
    /// Keep sessions that changed within this period
    #[arg(long, value_name = "PERIOD")]
    max_age: Option<String>,
    /// Keep the N most recently updated sessions of a project
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_count: Option<i64>,
    /// Keep everything that was written within this period
    #[arg(long, value_name = "PERIOD")]
    min_retention: Option<String>,
    /// Really remove it
    #[arg(long, visible_alias = "yes", short_alias = 'y')]
    apply: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let format = SessionsFormat::or_usual(args.format, out.is_terminal);
    let projects = place.scope_projects(&args.scope)?;
    let mut warnings = Vec::new();
    let rules = retention_rules(args, &place, &projects, &mut warnings)?;
    let inventory = SessionInventory::read(projects, place.now);
    warnings.extend(inventory.listing.warnings.iter().cloned());
    let going = RemovalPlan {
        deletions: planned_deletions(&inventory, &rules, &place),
        inventory: &inventory,
        warnings,
        keeps_copies: true,
    };
    if format == SessionsFormat::Text {
        for warning in &going.warnings {
            out.print_message(&format!("warning: {warning}"));
        }
    }
    if args.apply {
        return going.carry_out(format, &place, out);
    }
    going.print_preview(format, &place, out)?;
    if format == SessionsFormat::Text {
        writeln!(out, "{} would be removed", going.sum_text())?;
        if !going.deletions.is_empty() {
            out.print_note("nothing was removed; --apply removes it")?;
        }
    }
    Ok(CommandExit::Success)
}

/// The rules of each project. One whose settings make no sense keeps everything; if it is the only one, the command fails.
fn retention_rules(
    args: &Args,
    place: &SessionsContext,
    projects: &[SessionProject],
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<RetentionRules>>, Failure> {
    let mut rules = Vec::new();
    for project in projects {
        let rule = retention_limits(args, place, project).and_then(|limits| limits.checked());
        match rule {
            Ok(rule) => {
                warnings.extend(rule.warnings.iter().cloned());
                rules.push(Some(rule));
            }
            Err(error) if args.scope.all && !is_ours(args, &error) => {
                warnings.push(format!("nothing of `{}` goes: {error}", project.id));
                rules.push(None);
            }
            Err(error) => return Err(retention_failure(args, error)),
        }
    }
    Ok(rules)
}

fn retention_limits(
    args: &Args,
    place: &SessionsContext,
    project: &SessionProject,
) -> Result<RetentionLimits, RetentionError> {
    let home = &place.store.home;
    let settings = match &project.root {
        Some(root) => Settings::read(home, root),
        None => Settings::read(home, &home.home),
    };
    let vars = Vars::new(&place.environment.vars);
    let workspace = project
        .root
        .as_deref()
        .map_or(WorkspaceTrust::IsIgnored, |root| {
            Trust::with_settings(root, home, vars, &settings).workspace()
        });
    let settings = RetentionLimits::from_settings(&settings, workspace)?;
    let is_said_here = args.max_age.is_some() || args.max_count.is_some();
    let (enabled, max_age, max_count) = if is_said_here {
        (true, args.max_age.clone(), args.max_count.map(Into::into))
    } else {
        (settings.enabled, settings.max_age, settings.max_count)
    };
    let min_retention = args.min_retention.clone().or(settings.min_retention);
    if let Some(named) = &args.min_retention {
        named.parse::<lapidary::sessions::RetentionPeriod>()?;
    }
    Ok(RetentionLimits {
        enabled,
        max_age,
        max_count,
        min_retention,
    })
}

/// True if it is the command line that makes no sense.
fn is_ours(args: &Args, error: &RetentionError) -> bool {
    match error {
        RetentionError::BadPeriod(text) | RetentionError::NoPeriod(text) => {
            [&args.max_age, &args.min_retention]
                .into_iter()
                .any(|said| said.as_ref() == Some(text))
        }
        RetentionError::BadCount => args.max_count.is_some(),
        RetentionError::BelowMinimum(_) => args.max_age.is_some() || args.min_retention.is_some(),
        _ => false,
    }
}

fn retention_failure(args: &Args, error: RetentionError) -> Failure {
    if is_ours(args, &error) {
        return Failure::usage(anyhow!(error));
    }
    let hint = match &error {
        RetentionError::NotEnabled => "say what to remove with --max-age or --max-count",
        RetentionError::BadSettings { .. } => {
            "it may say that everything is to be kept, so that nothing goes until it can be read"
        }
        _ => "`general.sessionRetention` in the settings says so",
    };
    Failure::bad_config(anyhow!(error)).with_hint(hint)
}

fn planned_deletions(
    inventory: &SessionInventory,
    rules: &[Option<RetentionRules>],
    place: &SessionsContext,
) -> Vec<(SessionDeletion, RemovalReason)> {
    let mut reasons: HashMap<(usize, String), ExpiryReason> = HashMap::new();
    let mut files = Vec::new();
    for (project, rule) in rules.iter().enumerate() {
        let Some(rule) = rule else { continue };
        for expired in rule.expired(inventory, project, place.now) {
            match expired.what {
                ExpiringItem::Session(id) => {
                    reasons.insert((project, id.to_owned()), expired.reason);
                }
                ExpiringItem::File(file) => {
                    files.push((inventory.deletion_of_file(file), expired.reason.into()));
                }
            }
        }
    }
    let going: HashSet<_> = reasons.keys().cloned().collect();
    let sessions = inventory.deletions(&going).into_iter().map(|deletion| {
        let id = deletion.id.clone().unwrap_or_default();
        let why = reasons[&(deletion.project, id)];
        (deletion, why.into())
    });
    sessions.chain(files).collect()
}
