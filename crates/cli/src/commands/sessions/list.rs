//! `sessions list`: the sessions recorded for this project.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use lapidary::home::sessions::{HiddenFile, Listed, Listing, UnlistedPlace, age};
use lapidary::render::plain::sanitize;
use lapidary::vocab::line;
use lapidary::vocab::session::{LIST_SCHEMA, SessionList};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::common::{Format, Place, Scope};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::{Printer, complain};

/// The variable in which hooks find the id of their session.
const SESSION: &str = "GEMINI_SESSION_ID";

/// List recorded sessions, oldest first, numbered as Gemini CLI numbers them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions list
  lapidary sessions list --all --last 5
  lapidary sessions list --hidden
  lapidary sessions list --format json | jq -r '.sessions[].id'

Nothing is hidden without a reason: --hidden shows what Gemini CLI would not list, and why. \
Sessions that it does not list come last: `v` is in the vault only, `o` in the directory of an older version. \
Inside a hook, the session that it runs in ($GEMINI_SESSION_ID) is marked with `*`.")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: Scope,
    /// Show only the newest N of each project
    #[arg(long, value_name = "N")]
    last: Option<u64>,
    /// Show the files that are no sessions to resume, too, and why
    #[arg(long)]
    hidden: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let place = Place::open()?;
    let mut listing = place.listing(&args.scope)?;
    if let Some(current) = place.environment.vars.get(SESSION.as_ref() as &OsStr) {
        listing.mark_current(&current.to_string_lossy());
    }
    keep_newest(&mut listing, args.last);
    if args.last.is_none() {
        let projects = place.projects(&args.scope)?;
        let kept = place.only_in_vault(&projects).without(&listing);
        listing.sessions.extend(kept.listed(&projects, place.now));
        // Those of a project stay together, the vault's last.
        listing.sessions.sort_by_key(|session| session.project);
    }
    match Format::or_usual(args.format, out.is_terminal) {
        Format::Json => json(args, listing, out)?,
        Format::Text => text(args, &listing, &place, out)?,
    }
    Ok(Exit::Success)
}

fn keep_newest(listing: &mut Listing, last: Option<u64>) {
    let Some(last) = last else { return };
    let mut left = std::collections::HashMap::new();
    for session in &listing.sessions {
        *left.entry(session.project).or_insert(0) += 1;
    }
    listing
        .sessions
        .retain(|session| session.info.index + last > left[&session.project]);
}

fn json(args: &Args, listing: Listing, out: &mut Printer) -> io::Result<()> {
    let hidden_count = listing.hidden.len() as u64;
    let list = SessionList {
        schema: LIST_SCHEMA.to_owned(),
        sessions: listing
            .sessions
            .into_iter()
            .map(|listed| listed.info)
            .collect(),
        hidden_count,
        hidden: if args.hidden {
            listing.hidden
        } else {
            Vec::new()
        },
        warnings: listing.warnings,
    };
    line::write(out, &list)
}

fn text(args: &Args, listing: &Listing, place: &Place, out: &mut Printer) -> Result<(), Failure> {
    for warning in &listing.warnings {
        complain(&format!("warning: {warning}"));
    }
    let mut project = None;
    for session in &listing.sessions {
        if args.scope.all && project.replace(session.project) != Some(session.project) {
            let name = session
                .info
                .project
                .as_deref()
                .unwrap_or(&session.info.project_id);
            writeln!(out, "{}", sanitize(name))?;
        }
        line_of(session, place, out)?;
    }
    if args.hidden {
        hidden(&listing.hidden, out)?;
    }
    let endangered = listing
        .sessions
        .iter()
        .filter(|session| session.info.endangered_by.is_some())
        .count();
    if endangered > 0 {
        let (they, are) = if endangered == 1 {
            ("session", "is")
        } else {
            ("sessions", "are")
        };
        complain(&format!(
            "warning: {endangered} {they} (marked `!`) {are} in danger: Gemini CLI's next start deletes what shares its eight characters with a file without content"
        ));
        complain("hint: `lapidary sessions recover --apply` puts such files into the vault");
    }
    tell_unlisted(listing);
    if listing.sessions.is_empty() && listing.hidden.is_empty() {
        let where_else = if args.scope.all {
            ""
        } else {
            "; --all shows those of other projects"
        };
        out.note(&format!("no sessions recorded here yet{where_else}"))?;
    }
    if !args.hidden && !listing.hidden.is_empty() {
        let count = listing.hidden.len();
        let more = if listing.sessions.is_empty() {
            ""
        } else {
            " more"
        };
        let (files, they) = if count == 1 {
            ("file is", "it")
        } else {
            ("files are", "them")
        };
        out.note(&format!(
            "{count}{more} {files} no session to resume; --hidden shows {they}, and why"
        ))?;
    }
    Ok(())
}

/// What Gemini CLI does not list, and what can be done about it.
fn tell_unlisted(listing: &Listing) {
    let count = |place: UnlistedPlace| {
        let places = listing.sessions.iter();
        places
            .filter(|it| it.info.unlisted.as_ref() == Some(&place))
            .count()
    };
    let sessions = |count: usize| match count {
        1 => "1 session is".to_owned(),
        _ => format!("{count} sessions are"),
    };
    let vault = count(UnlistedPlace::Vault);
    if vault > 0 {
        let sessions = sessions(vault);
        complain(&format!(
            "note: {sessions} in the vault only (marked `v`): the file is gone"
        ));
        complain("hint: `lapidary sessions recover ID --apply` brings one back");
    }
    let older = count(UnlistedPlace::OlderDirectory);
    if older > 0 {
        let sessions = sessions(older);
        complain(&format!(
            "note: {sessions} in the directory of an older version (marked `o`), which Gemini CLI does not list"
        ));
        complain("hint: `lapidary sessions resume` continues a copy");
    }
}

/// The columns before the title: number, age, messages, id.
fn line_of(session: &Listed, place: &Place, out: &mut Printer) -> io::Result<()> {
    let info = &session.info;
    let width = usize::from(terminal::size().width);
    let is_wide = !out.is_terminal || width >= 120;
    let id = if is_wide {
        info.id.as_str()
    } else {
        info.id.get(..8).unwrap_or(&info.id)
    };
    let age = age(session.updated_ms, place.now);
    let mark = match (&info.endangered_by, &info.unlisted) {
        (Some(_), _) => '!',
        (None, Some(UnlistedPlace::Vault)) => 'v',
        (None, Some(_)) => 'o',
        (None, None) if info.is_current_session => '*',
        (None, None) => ' ',
    };
    let number = match info.index {
        0 => "-".to_owned(),
        number => number.to_string(),
    };
    let start = format!(
        "{number:>4}{mark} {age:<15} {:>4}  {}  ",
        info.message_count,
        sanitize(id)
    );
    let room = if out.is_terminal {
        width.saturating_sub(start.chars().count())
    } else {
        100
    };
    writeln!(
        out,
        "{start}{}",
        shortened(
            &sanitize(&info.display_name).replace('\n', " "),
            room.min(100)
        )
    )
}

/// A text that fits into so many columns, with a sign that it goes on. What is read as one character is not cut.
pub(super) fn shortened(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(3);
    let mut kept = String::new();
    for letter in text.graphemes(true) {
        let Some(rest) = left.checked_sub(letter.width()) else {
            break;
        };
        left = rest;
        kept.push_str(letter);
    }
    format!("{kept}...")
}

fn hidden(files: &[HiddenFile], out: &mut Printer) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cut_by_columns_and_between_characters() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abc...");
        assert_eq!(shortened("日本語の勉強", 12), "日本語の勉強");
        assert_eq!(shortened("日本語の勉強", 11), "日本語の...");
        assert_eq!(shortened("日本語の勉強", 10), "日本語...");
        assert_eq!(shortened("cafe\u{301} noir", 7), "cafe\u{301}...");
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(
            shortened(&format!("ab{family}cdef"), 7),
            format!("ab{family}...")
        );
        assert_eq!(shortened(&format!("abc{family}def"), 7), "abc...");
        assert_eq!(shortened("abcd", 0), "...");
    }
}
