//! `sessions vault log`: the snapshots of the vault, with their times.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use lapidary::render::plain::{one_line, sanitize};
use lapidary::sessions::vault::{Snapshot, SnapshotEntry, SnapshotHistory, Vault};
use lapidary::sessions::{age, providers};
use lapidary::vocab::line;
use lapidary::vocab::vault::{VaultReport, VaultSession};

use super::super::common::{ProjectScope, SessionsContext, SessionsFormat};
use super::super::identify::{kept_ids, whole_id};
use super::super::list::shorten_to_width;
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::agents::{NamedAgents, deleted_sessions};
use super::{
    counted_noun, empty_report, open_vault, published_snapshot, vault_failure, vault_session,
};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List the copies in the vault, the oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault log
  lapidary sessions vault log --all
  lapidary sessions vault log --session 4f1c2b3a
  lapidary sessions vault log --agent claude
  lapidary sessions vault log --all --format json | jq -r '.snapshots[].id'

With --agent, the sessions that an agent has deleted are listed with the time of the last snapshot that has them. Each line is a snapshot: what it is called, how old it is, how many files it has, how many of them were new, and what it was taken for.")]
pub(crate) struct Args {
    /// Show only the contents of this session: an id or the beginning of one. It may be of any project, and gone
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    scope: ProjectScope,
    /// Copies of this agent, of every project: `claude`, `codex`, `qwen`, `gemini`, or `all` but those of Gemini CLI
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["session", "all", "project"])]
    agent: Option<String>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    let patience = ProgressNote::start_note("reading the vault", &out.invocation);
    let mut history = vault.log().map_err(vault_failure)?;
    if let Some(agent) = &args.agent {
        let agents = NamedAgents::new(agent);
        let kept = if agents.is_gemini() {
            only_in_vault(&ProjectScope::everywhere(), &place)?
        } else {
            deleted_sessions(&agents, &vault, &place)?
        };
        keep_agents(&mut history, &agents, &place)?;
        drop(patience);
        let content = LogContent {
            history: &history,
            kept,
            session: None,
        };
        return print_log(args, &content, &vault, &place, out);
    }
    let id = args.session.as_deref();
    let id = id.map(|named| find_session_id(named, &history, args, &place));
    let id = id.transpose()?;
    match &id {
        Some(id) => keep_session(&mut history, id),
        None => keep_projects(&mut history, args, &place)?,
    }
    let kept = match &id {
        Some(_) => Vec::new(),
        None => only_in_vault(&args.scope, &place)?,
    };
    drop(patience);
    let content = LogContent {
        history: &history,
        kept,
        session: id.as_deref(),
    };
    print_log(args, &content, &vault, &place, out)
}

/// The content of the log, as far as it was asked for.
struct LogContent<'l> {
    history: &'l SnapshotHistory,
    /// Sessions of which no file is left.
    kept: Vec<VaultSession>,
    session: Option<&'l str>,
}

fn print_log(
    args: &Args,
    content: &LogContent<'_>,
    vault: &Vault,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let history = content.history;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let found = VaultReport {
                snapshots: history.snapshots.iter().map(published_snapshot).collect(),
                only_in_vault: content.kept.clone(),
                warnings: history_warnings(history),
                ..empty_report(vault, "log")
            };
            line::write(out, &found)?;
        }
        SessionsFormat::Text => {
            print_text(args, content, place, out)?;
            text_of_kept(&content.kept, place, out)?;
        }
    }
    Ok(CommandExit::Success)
}

/// Leaves the snapshots below the directories of these agents, folder by folder.
fn keep_agents(
    history: &mut SnapshotHistory,
    agents: &NamedAgents,
    place: &SessionsContext,
) -> Result<(), Failure> {
    let providers = providers(&place.environment);
    let sources = agents.sources(&providers)?;
    let mut homes: Vec<_> = sources
        .iter()
        .map(|(_, source)| source.vault_home().to_owned())
        .collect();
    if agents.is_gemini() {
        homes.push(place.store.home.folder());
    }
    let homes: Vec<_> = homes
        .into_iter()
        .flat_map(|home| [home.canonicalize().unwrap_or_default(), home])
        .filter(|home| !home.as_os_str().is_empty())
        .collect();
    let is_meant = |it: &Snapshot| {
        homes
            .iter()
            .any(|home| Path::new(&it.project).starts_with(home))
    };
    history.snapshots.retain(is_meant);
    history.snapshots.sort_by(|a, b| a.project.cmp(&b.project));
    Ok(())
}

fn only_in_vault(
    scope: &ProjectScope,
    place: &SessionsContext,
) -> Result<Vec<VaultSession>, Failure> {
    let projects = place.scope_projects(scope)?;
    let kept = place.only_in_vault(&projects);
    let kept = kept.without(&place.list_sessions(scope)?);
    let kept = kept.listed(&projects, place.now);
    Ok(kept
        .into_iter()
        .map(|it| vault_session(it.into_info()))
        .collect())
}

fn text_of_kept(
    kept: &[VaultSession],
    place: &SessionsContext,
    out: &mut Printer,
) -> io::Result<()> {
    if kept.is_empty() {
        return Ok(());
    }
    writeln!(out, "in the vault only:")?;
    for session in kept {
        let title = one_line(&session.display_name);
        let seen = session.last_seen.as_deref();
        let seen = seen.map(|seen| format!("last seen {}", age_text(seen, place).to_lowercase()));
        let when = seen.unwrap_or_else(|| age_text(&session.last_updated, place));
        writeln!(
            out,
            "  {}  {when:<15}  {}",
            sanitize(&session.session_id),
            shorten_to_width(&title, 100)
        )?;
    }
    let is_foreign = kept.iter().any(|session| session.provider.is_some());
    out.print_note(if is_foreign {
        "`lapidary sessions vault restore ID --apply` brings one back"
    } else {
        "`lapidary sessions recover ID --apply` brings one back"
    })
}

/// Looks in the vault first: it may hold the only copy of a session.
fn find_session_id(
    named: &str,
    history: &SnapshotHistory,
    args: &Args,
    place: &SessionsContext,
) -> Result<String, Failure> {
    let kept = kept_ids(history);
    if kept.contains(named) {
        return Ok(named.to_owned());
    }
    let id = whole_id(named, &place.list_sessions(&args.scope)?, &kept)?;
    if kept.contains(id.as_str()) {
        return Ok(id);
    }
    Err(vault_failure(
        lapidary::sessions::vault::VaultError::NoSession(id),
    ))
}

fn keep_projects(
    history: &mut SnapshotHistory,
    args: &Args,
    place: &SessionsContext,
) -> Result<(), Failure> {
    if args.scope.all {
        // Project by project, as lists are; each the oldest first, as they are already.
        history.snapshots.sort_by(|a, b| a.project.cmp(&b.project));
        return Ok(());
    }
    let projects = place.scope_projects(&args.scope)?;
    let directories: Vec<_> = projects.iter().flat_map(|it| &it.directories).collect();
    let is_meant = |it: &Snapshot| directories.iter().any(|dir| *dir == Path::new(&it.project));
    history.snapshots.retain(is_meant);
    Ok(())
}

/// Leaves each content of a session once, where it first was.
fn keep_session(history: &mut SnapshotHistory, id: &str) {
    let mut known = HashSet::new();
    for snapshot in &mut history.snapshots {
        snapshot.files.retain(|file| {
            file.session_id.as_deref() == Some(id)
                && known.insert((file.path.clone(), file.sha256.clone()))
        });
    }
    history.snapshots.retain(|it| !it.files.is_empty());
}

fn history_warnings(history: &SnapshotHistory) -> Vec<String> {
    let unreadable = history.unreadable.iter();
    unreadable
        .map(|path| format!("the snapshot `{}` cannot be read", path.display()))
        .collect()
}

fn print_text(
    args: &Args,
    content: &LogContent<'_>,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<(), Failure> {
    let history = content.history;
    for warning in history_warnings(history) {
        out.print_message(&format!("warning: {warning}"));
    }
    if history.snapshots.is_empty() {
        out.print_note(&match &args.agent {
            Some(agent) => format!(
                "the vault has no copy; `lapidary sessions vault add --agent {}` takes one",
                sanitize(agent)
            ),
            None => {
                "the vault has nothing of this project; --all shows what else it has".to_owned()
            }
        })?;
    }
    if let Some(id) = content.session {
        print_contents(history, place, out)?;
        let id = sanitize(id);
        out.print_note(&format!(
            "`lapidary sessions vault restore {id}` brings back the newest that can be resumed"
        ))?;
        return Ok(());
    }
    Ok(print_snapshots(history, place, out)?)
}

fn print_snapshots(
    history: &SnapshotHistory,
    place: &SessionsContext,
    out: &mut Printer,
) -> io::Result<()> {
    let mut project = "";
    let mut known: HashMap<&str, &str> = HashMap::new();
    for snapshot in &history.snapshots {
        if snapshot.project != project {
            project = &snapshot.project;
            known.clear();
            writeln!(out, "{}", sanitize(project))?;
        }
        let is_new =
            |file: &&SnapshotEntry| known.get(file.path.as_str()) != Some(&file.sha256.as_str());
        let new = snapshot.files.iter().filter(is_new).count();
        known = snapshot
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.sha256.as_str()))
            .collect();
        let bytes = snapshot.files.iter().map(|file| file.size).sum();
        writeln!(
            out,
            "  {}  {:<15} {:>10}, {:>6}, {new:>4} new  {}",
            sanitize(&snapshot.id),
            age_text(&snapshot.time, place),
            counted_noun(snapshot.files.len(), "file"),
            size::short_size(bytes),
            sanitize(&snapshot.reason)
        )?;
    }
    Ok(())
}

fn print_contents(
    history: &SnapshotHistory,
    place: &SessionsContext,
    out: &mut Printer,
) -> io::Result<()> {
    for snapshot in &history.snapshots {
        for file in &snapshot.files {
            let remark = if file.listed {
                ""
            } else {
                "  (nothing to resume)"
            };
            writeln!(
                out,
                "  {}  {:<15} {:>6}  {}{remark}",
                sanitize(&snapshot.id),
                age_text(&snapshot.time, place),
                size::short_size(file.size),
                sanitize(&file.path)
            )?;
        }
    }
    Ok(())
}

/// How long ago a time was that is written down.
pub(super) fn age_text(time: &str, place: &SessionsContext) -> String {
    let time = time.parse::<Timestamp>().ok();
    age(time.map(Timestamp::as_millisecond), place.now)
}
