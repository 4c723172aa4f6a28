//! `sessions list`: the sessions recorded for this project.

mod row;
mod shorten;

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::io::{self, Write as _};

use lapidary::render::plain::sanitize;
use lapidary::sessions::{
    HiddenFile, ListedSession, SessionListing, SessionProject, UnlistedPlace, file_counts,
};
use lapidary::vocab::event::Provider;
use lapidary::vocab::line;
use lapidary::vocab::session::{AgentFileCounts, LIST_SCHEMA, SessionList};

use super::super::time::{self, DayEnd};
use super::common::{AgentFilter, ProjectScope, SessionsContext, SessionsFormat};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use row::RowWriter;
pub(in crate::commands) use shorten::shorten_to_width;

/// The variable in which hooks find the id of their session.
const SESSION: &str = "GEMINI_SESSION_ID";

/// List recorded sessions, newest first, numbered as Gemini CLI numbers them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions list
  lapidary sessions list --since yesterday
  lapidary sessions list --all --last 5
  lapidary sessions list --all --agent claude
  lapidary sessions list --hidden
  lapidary sessions list --format json | jq -r '.sessions[].id'

The session to which something was added last comes first. Its number is Gemini CLI's, and selects it in `show`, `resume` and `export`. \
In JSON, sessions are in the order of these numbers, project by project.

Marks: `!` Gemini CLI will delete the session when it next starts, `v` it is in the vault only, `o` it is in the directory of an older version, `r` it is in a recording only, \
`*` it is the session of the hook that runs this ($GEMINI_SESSION_ID).")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
    /// Show only the newest N of each project
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Only sessions that changed since then: `today`, `yesterday`, a date (UTC), a time (RFC 3339), or an age (12h, 7d, 4w, 6m)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only sessions that began until then; a day counts whole, so `--since today --until today` is today
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Also show the files that were skipped, and why
    #[arg(long)]
    hidden: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let projects = place.scope_projects(&args.scope)?;
    let mut listing = place.listing_of(&args.scope, &projects);
    if let Some(current) = place.environment.vars.get(SESSION.as_ref() as &OsStr) {
        listing.mark_current(&current.to_string_lossy());
    }
    add_vault_only(&mut listing, &projects, &place);
    let mut others = place.sessions_of(&args.whose, &args.scope, &projects);
    let mut counts: Vec<_> = file_counts("gemini", &listing).into_iter().collect();
    counts.append(&mut others.counts);
    counts.retain(|it| {
        args.whose
            .takes_provider(&Provider::from(it.provider.as_str()))
    });
    listing.add_others(others.into_listing());
    let period = ListPeriod {
        since_ms: time::parse_bound(args.since.as_deref(), place.now, DayEnd::First)?,
        until_ms: time::parse_bound(args.until.as_deref(), place.now, DayEnd::Last)?,
    };
    let is_wanted = |session: &ListedSession| {
        period.has_session(session) && args.whose.takes_provider(session.provider())
    };
    listing.sessions.retain(is_wanted);
    if let Some(last) = args.last {
        keep_newest(&mut listing.sessions, last);
    }
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => print_json(args, &mut listing, counts, out)?,
        SessionsFormat::Text => {
            newest_first(&mut listing.sessions);
            print_text(args, &listing, &place, out)?;
            print_counts(args, &counts, out)?;
        }
    }
    // Giving the memory of tens of thousands of sessions back piece by piece takes a tenth of the time, and the process ends here.
    std::mem::forget(listing);
    Ok(CommandExit::Success)
}

fn add_vault_only(
    listing: &mut SessionListing,
    projects: &[SessionProject],
    place: &SessionsContext,
) {
    let kept = place.only_in_vault(projects);
    if kept.is_empty() {
        return;
    }
    let kept = kept.without(listing);
    listing.sessions.extend(kept.listed(projects, place.now));
    // Sessions of a project stay together, the vault's last.
    listing.sessions.sort_by_key(|session| session.project);
}

/// Limits on the last update of a session, and on its beginning.
struct ListPeriod {
    since_ms: Option<i64>,
    until_ms: Option<i64>,
}

impl ListPeriod {
    /// The same as in a search: a session without a readable time is of no period.
    fn has_session(&self, session: &ListedSession) -> bool {
        let is_since = |since| session.updated_ms.is_some_and(|updated| updated >= since);
        let is_until = |until| session.started_ms.is_some_and(|started| started <= until);
        self.since_ms.is_none_or(is_since) && self.until_ms.is_none_or(is_until)
    }
}

fn keep_newest(sessions: &mut Vec<ListedSession>, last: usize) {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|&at| (sessions[at].project, Reverse(sessions[at].updated_ms)));
    let mut is_kept = vec![false; sessions.len()];
    for project in order.chunk_by(|&one, &other| sessions[one].project == sessions[other].project) {
        for &at in project.iter().take(last) {
            is_kept[at] = true;
        }
    }
    let mut is_kept = is_kept.into_iter();
    sessions.retain(|_| is_kept.next().unwrap_or(false));
}

/// Sessions of a project stay together; the project with the newest session comes first.
fn newest_first(sessions: &mut [ListedSession]) {
    let ranks = project_ranks(sessions);
    sessions.sort_by_cached_key(|session| {
        let newest_first = (Reverse(session.updated_ms), Reverse(session.index()));
        (ranks[session.project], newest_first)
    });
}

/// The rank of each project: 0 for the one with the newest session.
fn project_ranks(sessions: &[ListedSession]) -> Vec<usize> {
    let mut newest = Vec::new();
    for session in sessions {
        if newest.len() <= session.project {
            newest.resize(session.project + 1, None);
        }
        newest[session.project] = session.updated_ms.max(newest[session.project]);
    }
    let mut order: Vec<usize> = (0..newest.len()).collect();
    order.sort_by_key(|&project| Reverse(newest[project]));
    let mut ranks = vec![0; order.len()];
    for (rank, project) in order.into_iter().enumerate() {
        ranks[project] = rank;
    }
    ranks
}

fn print_json(
    args: &Args,
    listing: &mut SessionListing,
    agents: Vec<AgentFileCounts>,
    out: &mut Printer,
) -> io::Result<()> {
    let hidden_count = listing.hidden.len() as u64;
    let list = SessionList {
        schema: LIST_SCHEMA.to_owned(),
        sessions: Vec::new(),
        hidden_count,
        hidden: if args.hidden {
            std::mem::take(&mut listing.hidden)
        } else {
            Vec::new()
        },
        agents,
        warnings: std::mem::take(&mut listing.warnings),
    };
    let rows = listing.sessions.iter().map(ListedSession::row);
    line::write_sessions(out, &list, rows)
}

fn print_text(
    args: &Args,
    listing: &SessionListing,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<(), Failure> {
    for warning in &listing.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let mut rows = RowWriter::new(&listing.sessions, place.now, out);
    if out.is_terminal && !listing.sessions.is_empty() {
        rows.write_header(out)?;
    }
    let mut project = None;
    for session in &listing.sessions {
        if args.scope.all && project.replace(session.project) != Some(session.project) {
            let row = session.row();
            let name = row.project.unwrap_or(row.project_id);
            writeln!(out, "{}", sanitize(name))?;
        }
        rows.write_row(session, out)?;
    }
    if args.hidden {
        print_hidden_files(&listing.hidden, out)?;
    }
    let endangered = listing
        .sessions
        .iter()
        .filter(|session| session.is_endangered())
        .count();
    if endangered > 0 {
        let sessions = if endangered == 1 {
            "session"
        } else {
            "sessions"
        };
        out.print_message(&format!(
            "warning: Gemini CLI will delete {endangered} {sessions} (marked `!`) when it next starts (bug in 0.61)"
        ));
        out.print_message("hint: run `lapidary sessions recover --apply` to prevent that");
    }
    note_unlisted(listing, out);
    let is_narrowed = args.since.is_some() || args.until.is_some();
    if listing.sessions.is_empty() && is_narrowed {
        out.print_note("no session is of that time")?;
    } else if listing.sessions.is_empty() {
        let where_else = if args.scope.all {
            ""
        } else {
            "; --all shows those of other projects"
        };
        let whose = args.whose.named_agent();
        let whose = whose.map(|agent| format!(" of `{}`", sanitize(agent)));
        let whose = whose.unwrap_or_default();
        out.print_note(&format!("no sessions{whose} recorded here yet{where_else}"))?;
    }
    Ok(())
}

/// The number of files that were skipped, with their reasons; of each agent if there are several.
fn print_counts(args: &Args, counts: &[AgentFileCounts], out: &mut Printer) -> io::Result<()> {
    let skipping = || counts.iter().filter(|it| it.skipped > 0);
    let hint = if args.hidden {
        ""
    } else {
        "; use --hidden to see why"
    };
    if counts.len() == 1 {
        return match skipping().map(|it| it.skipped).sum::<u64>() {
            0 => Ok(()),
            1 => out.print_note(&format!("1 file was skipped{hint}")),
            count => out.print_note(&format!("{count} files were skipped{hint}")),
        };
    }
    for counts in skipping() {
        let AgentFileCounts { read, skipped, .. } = counts;
        let reasons = counts.reasons.iter();
        let reasons =
            reasons.map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let files = if read + skipped == 1 { "file" } else { "files" };
        out.print_note(&format!(
            "{}: {} {files}, {skipped} skipped ({reasons}){hint}",
            counts.provider,
            read + skipped
        ))?;
    }
    Ok(())
}

/// Notes on sessions that Gemini CLI does not list, with the next step.
fn note_unlisted(listing: &SessionListing, out: &Printer) {
    let count = |place: UnlistedPlace| {
        let places = listing.sessions.iter();
        places.filter(|it| it.unlisted() == Some(&place)).count()
    };
    let sessions = |count: usize| match count {
        1 => "1 session is".to_owned(),
        _ => format!("{count} sessions are"),
    };
    let vault = count(UnlistedPlace::Vault);
    if vault > 0 {
        let sessions = sessions(vault);
        out.print_message(&format!(
            "note: {sessions} in the vault only (marked `v`): the file is gone"
        ));
        out.print_message("hint: `lapidary sessions recover ID --apply` brings one back");
    }
    let older = count(UnlistedPlace::OlderDirectory);
    if older > 0 {
        let sessions = sessions(older);
        out.print_message(&format!(
            "note: {sessions} in the directory of an older version (marked `o`), which Gemini CLI does not list"
        ));
        out.print_message("hint: `lapidary sessions resume` continues a copy");
    }
}

fn print_hidden_files(files: &[HiddenFile], out: &mut Printer) -> io::Result<()> {
    for file in files {
        writeln!(
            out,
            "   -  {}: {}",
            sanitize(&file.path),
            sanitize(&file.explanation)
        )?;
    }
    Ok(())
}
