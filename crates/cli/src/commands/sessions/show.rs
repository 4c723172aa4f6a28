//! `sessions show`: one session, in any view.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use lapidary::sessions::{Listed, Listing, SelectError, Selection};

use super::super::runs::common::session_of_run;
use super::super::sink::Format;
use super::super::translate;
use super::common::{Place, Scope, not_found, selected};
use super::identify::beginning_with;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, complain};

/// Show a session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions show
  lapidary sessions show 3
  lapidary sessions show 4f1c2b3a --format messages | jq .content
  lapidary sessions show latest --format html > session.html

`latest` is the session that began last, as `--resume latest` has it; without an argument the one to which something was added last is shown.")]
pub(crate) struct Args {
    /// A number of the list, an id or its beginning, `latest`, a file, or the id of a run [default: the most recently updated]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    scope: Scope,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Leave out what the agent wrote (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long)]
    no_raw: bool,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    if let Some(named) = args.session.as_deref().filter(|named| is_path(named)) {
        return view_file(Path::new(named), args, out);
    }
    let place = Place::open()?;
    let listing = place.listing(&args.scope)?;
    let Some(named) = args.session.as_deref() else {
        return newest(args, &place, &listing, out);
    };
    let failure = match selected(&listing, named, Selection::Generous) {
        Ok(session) => return view_file(&session.path, args, out),
        Err(failure) => failure,
    };
    if let Some(kept) = in_vault(named, &args.scope, &place, &listing)? {
        let id = kept.id();
        complain(&format!(
            "note: the session is in the vault only; `lapidary sessions recover {id} --apply` brings it back"
        ));
        return view_file(&kept.path, args, out);
    }
    match recorded(named, &args.scope, &place, &listing)? {
        Some(session) => view_recording(&session, args, out),
        None => of_run(named, args, failure, out),
    }
}

fn view_file(path: &Path, args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let view = translate::Args::of_session(path, args.format, args.no_raw);
    translate::run(&view, out)
}

fn view_recording(session: &Listed, args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let run = session.info().run.as_deref().unwrap_or_default();
    let view = translate::Args::of_recording(&session.path, run, args.format, args.no_raw);
    translate::run(&view, out)
}

/// The session to which something was added last; a recorded one only if there is no file.
fn newest(
    args: &Args,
    place: &Place,
    listing: &Listing,
    out: &mut Printer,
) -> Result<Exit, Failure> {
    if let Some(session) = listing.most_recent() {
        return view_file(&session.path, args, out);
    }
    let recorded = only_recorded(&args.scope, place, listing)?;
    match recorded.iter().max_by_key(|it| it.updated_ms) {
        Some(session) => view_recording(session, args, out),
        None => Err(not_found(SelectError::NoSessions)),
    }
}

/// A session that is in recordings only: by the id of its newest run, by its own id, or the only one whose id begins so.
fn recorded(
    named: &str,
    scope: &Scope,
    place: &Place,
    listing: &Listing,
) -> Result<Option<Listed>, Failure> {
    let sessions = only_recorded(scope, place, listing)?;
    let is_run = |it: &&Listed| it.info().run.as_deref() == Some(named);
    if let Some(found) = sessions.iter().find(is_run) {
        return Ok(Some(found.clone()));
    }
    let ids: BTreeSet<&str> = sessions.iter().map(Listed::id).collect();
    let found = if ids.contains(named) {
        vec![named]
    } else {
        beginning_with(named, &ids)?
    };
    let is_meant = |it: &&Listed| found.contains(&it.id());
    Ok(sessions.iter().find(is_meant).cloned())
}

fn only_recorded(scope: &Scope, place: &Place, listing: &Listing) -> Result<Vec<Listed>, Failure> {
    let mut recordings = place.recordings(scope, &place.projects(scope)?);
    let known = listing.sessions.iter().map(Listed::id);
    let known: HashSet<&str> = known.collect();
    recordings.retain(|it| !known.contains(it.id()));
    Ok(recordings.listing.sessions)
}

/// The session of a run that goes by this id. A failure to find one is that of the session.
fn of_run(named: &str, args: &Args, failure: Failure, out: &mut Printer) -> Result<Exit, Failure> {
    let Some((id, project)) = session_of_run(named) else {
        return Err(failure);
    };
    let scope = Scope {
        project: Some(project),
        all: false,
        no_index: args.scope.no_index,
    };
    let listing = Place::open()?.listing(&scope)?;
    let session = selected(&listing, &id, Selection::Generous).map_err(|failure| {
        failure.with_hint(format!("`lapidary runs show {named}` shows the run itself"))
    })?;
    view_file(&session.path, args, out)
}

/// A session of which only the vault has a copy, by its id or the only one that begins so.
fn in_vault(
    named: &str,
    scope: &Scope,
    place: &Place,
    listing: &Listing,
) -> Result<Option<Listed>, Failure> {
    let projects = place.projects(scope)?;
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

/// What cannot be an id: it has a slash in it, or the ending of a session's file.
pub(super) fn is_path(named: &str) -> bool {
    let ends = [".json", ".jsonl"]
        .iter()
        .any(|ending| named.ends_with(ending));
    named.contains(std::path::is_separator) || ends
}
