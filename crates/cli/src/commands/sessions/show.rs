//! `sessions show`: one session, in any view.

use std::collections::BTreeSet;
use std::path::Path;

use lapidary::sessions::{Listed, Listing, Selection};

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
    let view = |path: &Path, out: &mut Printer| {
        translate::run(
            &translate::Args::of_session(path, args.format, args.no_raw),
            out,
        )
    };
    if let Some(named) = args.session.as_deref().filter(|named| is_path(named)) {
        return view(Path::new(named), out);
    }
    let place = Place::open()?;
    let listing = place.listing(&args.scope)?;
    let session = match &args.session {
        Some(identifier) => match selected(&listing, identifier, Selection::Generous) {
            Ok(session) => session,
            Err(failure) => match in_vault(identifier, &args.scope, &place, &listing)? {
                Some(kept) => {
                    let id = &kept.info.id;
                    complain(&format!(
                        "note: the session is in the vault only; `lapidary sessions recover {id} --apply` brings it back"
                    ));
                    return view(&kept.path, out);
                }
                None => return of_run(identifier, args, failure, out),
            },
        },
        None => listing
            .most_recent()
            .ok_or_else(|| not_found(lapidary::sessions::SelectError::NoSessions))?,
    };
    view(&session.path, out)
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
    let view = translate::Args::of_session(&session.path, args.format, args.no_raw);
    translate::run(&view, out)
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
    let ids: Vec<String> = kept.iter().map(|it| it.info.id.clone()).collect();
    let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let found = if ids.contains(named) {
        vec![named]
    } else {
        beginning_with(named, &ids)?
    };
    kept.retain(|it| found.contains(&it.info.id.as_str()));
    Ok(kept.pop())
}

/// What cannot be an id: it has a slash in it, or the ending of a session's file.
pub(super) fn is_path(named: &str) -> bool {
    let ends = [".json", ".jsonl"]
        .iter()
        .any(|ending| named.ends_with(ending));
    named.contains(std::path::is_separator) || ends
}
