//! `sessions recover`: brings back the hidden messages of session files.

mod agents;
mod recover_output;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::render::plain::sanitize;
use lapidary::sessions::SessionProject;
use lapidary::sessions::vault::recover::{self, ProjectSurvey, ReadingDepth};
use lapidary::sessions::vault::{Guard, Vault, VaultError, summary};
use lapidary::vocab::line;
use lapidary::vocab::vault::VaultSession;

use self::recover_output::RecoverOutput;
use super::common::{ProjectScope, SessionsContext, SessionsFormat};
use super::identify::{kept_ids, whole_id};
use super::progress_note::ProgressNote;
use super::vault::agents::NamedAgents;
use super::vault::{open_vault, vault_failure, vault_session};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Bring back messages that are still in a session's file, or in the vault, but that Gemini CLI does not show
///
/// Loading a session in the minute in which it was made, a write that was cut short or a rewind to nowhere hide a conversation that is still in its file. This looks at every file of the project, hidden ones too, or at one session, and lists the messages that could come back. With --apply it writes a new file of the same session, and moves the old one into the vault.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions recover
  lapidary sessions recover --apply
  lapidary sessions recover 4f1c2b3a --everything
  lapidary sessions recover ~/.gemini/tmp/project/chats/session-2026-11-15T18-24-aff58d5c.jsonl --apply

With --agent claude|codex|qwen|all: sessions that the agent has deleted, from the vault, and prompts that Claude Code's history still has. A session of which no file is left comes from the vault, if it was ever there. Exits with 13 if there is no such session or file.")]
pub(crate) struct Args {
    /// A file, `latest`, a number of the list, an id or the beginning of one [default: every file of the project]
    #[arg(value_name = "SESSION|FILE", conflicts_with = "all")]
    what: Option<String>,
    /// Also what compression or a rewind removed on purpose
    #[arg(long)]
    everything: bool,
    /// Write it
    #[arg(long, visible_alias = "yes", short_alias = 'y')]
    apply: bool,
    /// Sessions of other agents: `claude`, `codex`, `qwen`, or `all`
    #[arg(long, value_name = "AGENT", conflicts_with = "everything")]
    agent: Option<String>,
    #[command(flatten)]
    scope: ProjectScope,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    if let Some(agent) = &args.agent {
        let agents = NamedAgents::new(agent);
        if !agents.is_gemini() {
            return agents::recover_agents(&agents, args, &vault, &place, out);
        }
    }
    let patience = ProgressNote::start_note("reading sessions", &out.invocation);
    let chats = chat_directories(args, &place)?;
    let mut told = RecoverOutput::default();
    if args.apply {
        let killed = Guard::finish_killed(&vault, &chats, place.now);
        told.actions.extend(summary(&killed));
    }
    let survey = if let Some(what) = &args.what {
        survey_one(what, args, &place, &vault, &chats)?
    } else {
        told.only_in_vault = only_in_vault(args, &place)?;
        recover::survey(&chats, reading_depth(args))
    };
    told.take_survey(&survey);
    if args.apply {
        apply_plans(&survey, &vault, &place, &mut told);
    }
    drop(patience);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &told.recover_report(args.apply))?,
        SessionsFormat::Text => told.print_text(args.apply, out)?,
    }
    Ok(if told.failures.is_empty() {
        CommandExit::Success
    } else {
        CommandExit::Internal
    })
}

fn reading_depth(args: &Args) -> ReadingDepth {
    if args.everything {
        ReadingDepth::Everything
    } else {
        ReadingDepth::Hidden
    }
}

/// The directories that hold sessions.
fn chat_directories(args: &Args, place: &SessionsContext) -> Result<Vec<PathBuf>, Failure> {
    let projects = place.scope_projects(&args.scope)?;
    for warning in projects.iter().flat_map(|project| &project.warnings) {
        place
            .invocation
            .print_message(&format!("warning: {}", sanitize(warning)));
    }
    let chats = projects.iter().flat_map(SessionProject::chats);
    Ok(chats.filter(|chats| chats.is_dir()).collect())
}

/// The survey of one file or session.
fn survey_one(
    what: &str,
    args: &Args,
    place: &SessionsContext,
    vault: &Vault,
    chats: &[PathBuf],
) -> Result<ProjectSurvey, Failure> {
    let path = place.environment.dir.join(what);
    let plan = if is_path(what) || path.is_file() {
        recover::plan(&path, reading_depth(args))
            .map_err(|error| unreadable_failure(error, &path))?
    } else {
        let history = vault.log().unwrap_or_default();
        let listing = place.list_sessions(&args.scope)?;
        let id = whole_id(what, &listing, &kept_ids(&history))?;
        recover::plan_session(vault, chats, &id, reading_depth(args)).map_err(vault_failure)?
    };
    let is_needed = plan.is_needed() || plan.from_vault;
    Ok(ProjectSurvey {
        looked: 1,
        plans: is_needed.then_some(plan).into_iter().collect(),
        ..ProjectSurvey::default()
    })
}

fn is_path(what: &str) -> bool {
    let extension = Path::new(what).extension();
    what.contains(std::path::MAIN_SEPARATOR)
        || extension.is_some_and(|it| it == "json" || it == "jsonl")
}

fn unreadable_failure(error: VaultError, path: &Path) -> Failure {
    if path.exists() {
        return Failure::bad_input(error);
    }
    Failure::bad_input(anyhow!("there is no `{}`", path.display()))
}

/// Sessions that could be listed once, and of which no file that could be is left.
fn only_in_vault(args: &Args, place: &SessionsContext) -> Result<Vec<VaultSession>, Failure> {
    let projects = place.scope_projects(&args.scope)?;
    let kept = place.only_in_vault(&projects);
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let kept = kept.without(&place.list_sessions(&args.scope)?);
    let kept = kept.listed(&projects, place.now);
    Ok(kept
        .into_iter()
        .map(|it| vault_session(it.into_info()))
        .collect())
}

/// Each on its own: one that cannot be written is no reason to leave the others.
fn apply_plans(
    survey: &ProjectSurvey,
    vault: &Vault,
    place: &SessionsContext,
    told: &mut RecoverOutput,
) {
    for plan in &survey.plans {
        told.note_applied(plan, plan.apply(vault, place.now));
    }
    let mut folders: Vec<_> = survey
        .dangers
        .iter()
        .filter_map(|it| it.path.parent())
        .collect();
    folders.dedup();
    for chats in folders {
        match recover::disarm(vault, chats, "recovering", place.now) {
            Ok(actions) => told
                .actions
                .extend(actions.into_iter().map(|it| it.sentence)),
            Err(error) => told.failures.push(format!("{:#}", anyhow!(error))),
        }
    }
}
