//! `sessions show`: one session, in any view.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use lapidary::sessions::{
    ListedSession, OtherSession, OtherSessions, SelectError, SelectionMode, SessionListing, select,
};

use super::super::runs::common::session_of_run;
use super::super::sink::{DeltasArg, EventSink, OutputFormat, normalize_options};
use super::super::translate;
use super::common::{
    AgentFilter, NewestSession, ProjectScope, SessionsContext, other_named, select_session,
};
use super::failed_search::FailedSearch;
use super::identify::{beginning_with, not_found};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Show a session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions show
  lapidary sessions show 3
  lapidary sessions show 4f1c2b3a --format messages | jq .content
  lapidary sessions show latest --format html > session.html

`latest` is the session of Gemini CLI that began last, as `--resume latest` has it, or that of another agent if Gemini CLI has \
none; without an argument the one to which something was added last is shown.")]
pub(crate) struct Args {
    /// A number of the list, an id or its beginning, `latest`, a file, or the id of a run [default: the most recently updated]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    /// Leave out the agent's own lines (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long)]
    no_raw: bool,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    if let Some(named) = args.session.as_deref().filter(|named| is_path(named)) {
        let view = translate::Args::of_named_session(Path::new(named), args.format, args.no_raw);
        return translate::run(&view, out);
    }
    let place = SessionsContext::open(&out.invocation)?;
    let mut listing = place.list_sessions(&args.scope)?;
    let is_wanted = |it: &ListedSession| args.whose.takes_provider(it.provider());
    listing.sessions.retain(is_wanted);
    let Some(named) = args.session.as_deref() else {
        return show_newest(args, &place, &listing, out);
    };
    let error = match select(&listing, named, SelectionMode::Generous) {
        Ok(session) => return view_file(&session.path, args, out),
        Err(error) => error,
    };
    if let Some(kept) = in_vault(named, &args.scope, &place, &listing)? {
        let id = kept.id();
        out.print_message(&format!(
            "note: the session is in the vault only; `lapidary sessions recover {id} --apply` brings it back"
        ));
        return view_file(&kept.path, args, out);
    }
    let others = others_of(args, &place, &listing)?;
    let session = if named == "latest" && listing.sessions.is_empty() {
        others.iter().max_by_key(|it| it.listed.started_ms)
    } else {
        other_named(named, &others)?
    };
    if let Some(session) = session {
        return view_other(session, args, out);
    }
    let search = FailedSearch {
        place: &place,
        is_everywhere: args.scope.all,
        others: &others,
    };
    of_run(named, args, search.failure(named, error), out)
}

fn view_file(path: &Path, args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let view = translate::Args::of_session(path, args.format, args.no_raw);
    translate::run(&view, out)
}

/// A session of another provider: as its recorded run, as its file, or else as the events that its provider replays.
fn view_other(
    session: OtherSession<'_>,
    args: &Args,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    if let Some(run) = session.listed.row().run {
        let path = &session.listed.path;
        let view = translate::Args::of_recording(path, run, args.format, args.no_raw);
        return translate::run(&view, out);
    }
    if session.listed.path.is_file() && session.raw_replay().is_none() {
        let path = &session.listed.path;
        let view = translate::Args::of_other_session(path, args.format, args.no_raw);
        return translate::run(&view, out);
    }
    let usual = if out.is_terminal {
        OutputFormat::Text
    } else {
        OutputFormat::Events
    };
    let format = args.format.unwrap_or(usual);
    let mut sink = EventSink::for_reading(format, session.listed.id(), false, out);
    let mut printed = Ok(());
    let mut take = |event| {
        if printed.is_ok() {
            printed = sink.take_events(&mut vec![event], out);
        }
    };
    let replayed = match session.raw_replay() {
        Some(provider) => {
            let id = session.listed.id();
            let options = normalize_options(id, format, args.no_raw, DeltasArg::Only);
            provider.replay_with(session.listed, &options, &mut take)
        }
        None => session.replay(&mut take),
    };
    replayed.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    printed?;
    sink.finish(out)?;
    Ok(CommandExit::Success)
}

/// The wanted sessions of other providers.
fn others_of(
    args: &Args,
    place: &SessionsContext,
    listing: &SessionListing,
) -> Result<OtherSessions, Failure> {
    let projects = place.scope_projects(&args.scope)?;
    let mut others = place.sessions_of(&args.whose, &args.scope, &projects);
    others.remove_listed(listing);
    Ok(others)
}

/// The session that was updated last.
fn show_newest(
    args: &Args,
    place: &SessionsContext,
    listing: &SessionListing,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let others = others_of(args, place, listing)?;
    match NewestSession::find(listing, &others) {
        Some(NewestSession::File(session)) => view_file(&session.path, args, out),
        Some(NewestSession::Other(session)) => view_other(session, args, out),
        None => Err(not_found(SelectError::NoSessions)),
    }
}

/// The session of the run with this id. If there is no such run, the failure of the session is returned.
fn of_run(
    named: &str,
    args: &Args,
    failure: Failure,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let Some((id, project)) = session_of_run(named, &out.invocation) else {
        return Err(failure);
    };
    let scope = ProjectScope {
        project: Some(project),
        all: false,
        no_index: args.scope.no_index,
    };
    let listing = SessionsContext::open(&out.invocation)?.list_sessions(&scope)?;
    let session = select_session(&listing, &id, SelectionMode::Generous).map_err(|failure| {
        failure.with_hint(format!("`lapidary runs show {named}` shows the run itself"))
    })?;
    view_file(&session.path, args, out)
}

/// A session of which only the vault has a copy, by its id or the only one that begins so.
fn in_vault(
    named: &str,
    scope: &ProjectScope,
    place: &SessionsContext,
    listing: &SessionListing,
) -> Result<Option<ListedSession>, Failure> {
    let projects = place.scope_projects(scope)?;
    let kept = place.only_in_vault(&projects).without(listing);
    let mut kept = kept.listed(&projects, place.now);
    let ids: Vec<String> = kept.iter().map(|it| it.id().to_owned()).collect();
    let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let found = if ids.contains(named) {
        vec![named]
    } else {
        beginning_with(named, &ids)?
    };
    kept.retain(|it| found.contains(&it.id()));
    Ok(kept.pop())
}

/// Whether a name cannot be an id: it has a slash in it, or the ending of a session file.
pub(super) fn is_path(named: &str) -> bool {
    let ends = [".json", ".jsonl", ".jsonl.zst"]
        .iter()
        .any(|ending| named.ends_with(ending));
    named.contains(std::path::is_separator) || ends
}
