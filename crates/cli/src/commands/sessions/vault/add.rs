//! `sessions vault add`: takes sessions in.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary::render::plain::sanitize;
use lapidary::sessions::vault::{AddRequest, AddedFiles, Vault, files_of, session_files};
use lapidary::sessions::{SessionProject, providers};
use lapidary::vocab::line;
use lapidary::vocab::vault::VaultReport;

use super::super::common::{ProjectScope, SessionsContext, SessionsFormat};
use super::super::identify::whole_id;
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::agents::{self, AgentCopyOrder, NamedAgents};
use super::systemd;
use super::watch::{SessionWatch, WatchStep};
use super::{counted_noun, empty_report, open_vault, published_snapshot, vault_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The largest vault, unless another size is given: 20 GiB.
const DEFAULT_MAX_SIZE: u64 = 20 << 30;

/// Copy sessions into the vault
///
/// All files of the project's sessions, hidden ones too, or only the named sessions. An unchanged file takes no space. With --agent, the sessions of other agents, of every project unless one is named; nothing is written into their directories.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault add
  lapidary sessions vault add --all
  lapidary sessions vault add latest 4f1c2b3a
  lapidary sessions vault add --agent all
  lapidary sessions vault add --agent all --watch
  lapidary sessions vault add --agent all --print-systemd

Exits with 13 if there is no such session, and with 1 if nothing could be kept.")]
pub(crate) struct Args {
    /// `latest`, a number of the list, an id or the beginning of one [default: all]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    sessions: Vec<String>,
    #[command(flatten)]
    scope: ProjectScope,
    /// The agent whose sessions are copied: `gemini`, `claude`, `codex`, `qwen`, or `all` [default: gemini]
    #[arg(long, value_name = "AGENT", conflicts_with = "sessions")]
    agent: Option<String>,
    /// Go on copying whenever session files change, until SIGTERM or Ctrl-C
    #[arg(long, requires = "agent")]
    watch: bool,
    /// Print a unit and a timer of systemd that copy every hour, and do nothing else
    #[arg(long, requires = "agent", conflicts_with = "watch")]
    print_systemd: bool,
    /// Copy no file of another agent that would make the vault larger than this
    #[arg(long, value_name = "SIZE", default_value = "20GiB", value_parser = super::prune::parse_bytes)]
    max_size: u64,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let agents = NamedAgents::new(args.agent.as_deref().unwrap_or("gemini"));
    if args.print_systemd {
        agents.sources(&providers(&place.environment))?;
        let command = timer_command(args, &place)?;
        systemd::write_units(&command, &place.environment, out)?;
        return Ok(CommandExit::Success);
    }
    let vault = open_vault(&place)?;
    let watch = args.watch.then(|| SessionWatch::start(&place));
    let mut watch = watch.transpose()?;
    // The warnings of the look before: while it watches, news alone is printed.
    let mut told: Option<Vec<String>> = None;
    loop {
        if let Some(watch) = &mut watch {
            watch.note_changes(&agents, &place)?;
        }
        let patience = ProgressNote::start_note("copying sessions", &out.invocation);
        let mut warnings = Vec::new();
        let mut taken = take_copies(args, &agents, &vault, &place, &mut warnings)?;
        drop(patience);
        let is_first = told.is_none();
        let before = told.replace(warnings.clone()).unwrap_or_default();
        if !is_first {
            taken.retain(|it| it.changed);
            warnings.retain(|it| !before.contains(it));
        }
        if is_first || !taken.is_empty() || !warnings.is_empty() {
            match SessionsFormat::or_usual(args.format, out.is_terminal) {
                SessionsFormat::Json => line::write(out, &as_report(&vault, &taken, warnings))?,
                SessionsFormat::Text => print_text(args, &taken, &warnings, out)?,
            }
            out.flush()?;
        }
        let step = match &mut watch {
            Some(watch) => watch.next_step(),
            None => WatchStep::Stop,
        };
        if step == WatchStep::Stop {
            return Ok(CommandExit::Success);
        }
    }
}

/// The command of the timer, which copies what this one would.
fn timer_command(args: &Args, place: &SessionsContext) -> Result<Vec<String>, Failure> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let program = place.invocation.program_path()?;
    let agents = args.agent.as_deref().unwrap_or_default();
    let options = ["sessions", "vault", "add", "--agent", agents];
    let mut command = vec![text(&program)];
    command.extend(options.map(str::to_owned));
    if let Some(project) = args.scope.project.as_deref() {
        let root = place.project_root(Some(project))?;
        command.extend(["--project".to_owned(), text(&root)]);
    }
    if args.max_size != DEFAULT_MAX_SIZE {
        command.extend(["--max-size".to_owned(), args.max_size.to_string()]);
    }
    command.extend(["--format", "text"].map(str::to_owned));
    Ok(command)
}

/// Copies the changed session files of the named agents.
fn take_copies(
    args: &Args,
    agents: &NamedAgents,
    vault: &Vault,
    place: &SessionsContext,
    warnings: &mut Vec<String>,
) -> Result<Vec<AddedFiles>, Failure> {
    let mut taken = Vec::new();
    if agents.has_gemini() {
        taken = take_gemini_copies(args, vault, place, warnings)?;
    }
    if args.agent.is_some() {
        let named = args.scope.project.as_deref();
        let named = named.map(|named| place.project_root(Some(named)));
        let project = named.transpose()?.map(|root| place.store.project(&root));
        let order = AgentCopyOrder {
            agents,
            project: project.as_ref(),
            reason: if args.watch {
                "watching"
            } else {
                "added by hand"
            },
            most_bytes: args.max_size,
        };
        let mut copied = agents::copy_agents(&order, vault, place, warnings)?;
        copied.retain(|it| it.changed || !it.flaws.is_empty());
        taken.extend(copied);
    }
    for added in &taken {
        warnings.extend(added.flaws.iter().map(ToString::to_string));
    }
    Ok(taken)
}

fn take_gemini_copies(
    args: &Args,
    vault: &Vault,
    place: &SessionsContext,
    warnings: &mut Vec<String>,
) -> Result<Vec<AddedFiles>, Failure> {
    let ids = named_session_ids(args, place)?;
    let is_everywhere = args.agent.is_some() && args.scope.project.is_none();
    let projects = if is_everywhere {
        place.store.projects()
    } else {
        place.scope_projects(&args.scope)?
    };
    let mut taken = Vec::new();
    for project in projects {
        warnings.extend(project.warnings.iter().cloned());
        for (folder, files) in project_places(&project, &ids, warnings) {
            let request = AddRequest {
                project: folder,
                files: &files,
                reason: "added by hand",
                now: SystemTime::now(),
            };
            let added = vault.add(&request).map_err(vault_failure)?;
            if args.agent.is_none() || added.changed {
                taken.push(added);
            }
        }
    }
    Ok(taken)
}

fn named_session_ids(args: &Args, place: &SessionsContext) -> Result<Vec<String>, Failure> {
    if args.sessions.is_empty() {
        return Ok(Vec::new());
    }
    let listing = place.list_sessions(&args.scope)?;
    let kept = std::collections::BTreeSet::new();
    let ids = args.sessions.iter();
    ids.map(|name| whole_id(name, &listing, &kept)).collect()
}

/// The directories of a project, each with the named files in it.
fn project_places<'p>(
    project: &'p SessionProject,
    ids: &[String],
    warnings: &mut Vec<String>,
) -> Vec<(&'p Path, Vec<PathBuf>)> {
    let mut places = Vec::new();
    for directory in &project.directories {
        for chats in [directory.join("chats"), directory.clone()] {
            let (files, flaws) = if ids.is_empty() {
                session_files(&chats)
            } else {
                files_of(&chats, ids)
            };
            warnings.extend(flaws.iter().map(ToString::to_string));
            if !files.is_empty() {
                places.push((directory.as_path(), files));
            }
        }
    }
    places
}

fn as_report(vault: &Vault, taken: &[AddedFiles], warnings: Vec<String>) -> VaultReport {
    VaultReport {
        snapshots: taken
            .iter()
            .map(|added| published_snapshot(&added.snapshot))
            .collect(),
        warnings,
        ..empty_report(vault, "add")
    }
}

fn print_text(
    args: &Args,
    taken: &[AddedFiles],
    warnings: &[String],
    out: &mut Printer,
) -> Result<(), Failure> {
    for warning in warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    for added in taken {
        let files = &added.snapshot.files;
        let bytes = files.iter().map(|file| file.size).sum();
        let what = format!(
            "{}, {}",
            counted_noun(files.len(), "file"),
            size::short_size(bytes)
        );
        let id = &added.snapshot.id;
        let folder = if taken.len() > 1 || args.agent.is_some() {
            format!("  {}", sanitize(&added.snapshot.project))
        } else {
            String::new()
        };
        if added.changed {
            writeln!(out, "{id}  {what}, {} new{folder}", added.new)?;
        } else {
            writeln!(out, "{id}  {what}, as they were{folder}")?;
        }
    }
    if taken.is_empty() && args.agent.is_some() {
        if !args.watch {
            out.print_note("no session has changed since the last copy")?;
        }
        return Ok(());
    }
    if taken.is_empty() {
        let others = "; --all takes in those of other projects";
        let others = if args.scope.all { "" } else { others };
        out.print_note(&format!("no sessions recorded here yet{others}"))?;
    }
    Ok(())
}
