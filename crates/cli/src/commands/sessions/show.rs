//! `sessions show`: one session, in any view.

use std::path::Path;

use lapidary::home::sessions::Selection;

use super::super::sink::Format;
use super::super::translate;
use super::common::{Place, Scope, not_found, selected};
use crate::exit::Exit;
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

`latest` is the session that began last, as `--resume latest` has it; without an argument the one to which something was added last is shown.")]
pub(crate) struct Args {
    /// A number of the list, an id or its beginning, `latest`, or a file [default: the most recently updated]
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
    let listing = Place::open()?.listing(&args.scope)?;
    let session = match &args.session {
        Some(identifier) => selected(&listing, identifier, Selection::Generous)?,
        None => listing
            .most_recent()
            .ok_or_else(|| not_found(lapidary::home::sessions::SelectError::NoSessions))?,
    };
    view(&session.path, out)
}

/// What cannot be an id: it has a slash in it, or the ending of a session's file.
pub(super) fn is_path(named: &str) -> bool {
    let ends = [".json", ".jsonl"]
        .iter()
        .any(|ending| named.ends_with(ending));
    named.contains(std::path::is_separator) || ends
}
