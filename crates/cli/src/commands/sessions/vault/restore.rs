//! `sessions vault restore`: brings sessions back.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lapidary::gemini::Vars;
use lapidary::render::plain::sanitize;
use lapidary::sessions::vault::{
    BroughtBack, ChosenFiles, ContentFacts, RestoreMethod, RestoreTarget, RetentionSettings,
    SnapshotHistory, Vault, VaultError, recover,
};
use lapidary::vocab::line;
use lapidary::vocab::vault::{RestoredFile, RestoredHow, VaultReport};

use super::super::common::{SessionsContext, SessionsFormat};
use super::super::identify::{beginning_with, kept_ids};
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::agents::is_of_other_agent;
use super::{empty_report, open_vault, published_file, vault_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Bring a session, or all of a snapshot, back where it was
///
/// Restores the newest copy of a session that can be resumed, and the files of its sub-agents. Nothing is overwritten: a file of the same name stays, and the copy gets a name beside it. Files without content that would make Gemini CLI delete it again go into the vault. Sessions of other agents are only shown, unless --apply or --to is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault restore 4f1c2b3a-5d6e-4f70-8a9b-0c1d2e3f4a5b
  lapidary sessions vault restore 4f1c2b3a --dry-run
  lapidary sessions vault restore c1a0de00-0000-4000-8000-000000000001 --apply
  lapidary sessions vault restore 20261116T044012.123Z-ab12cd34 --to /tmp/as-it-was

Exits with 13 if the vault has no such session or snapshot.")]
pub(crate) struct Args {
    /// An id of a session or of a snapshot, or the beginning of one
    #[arg(value_name = "SESSION|SNAPSHOT")]
    what: String,
    /// Put it below this directory instead
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Write into the directory of an agent other than Gemini CLI
    #[arg(
        long,
        visible_alias = "yes",
        short_alias = 'y',
        conflicts_with = "dry_run"
    )]
    apply: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    let patience = ProgressNote::start_note("reading the vault", &out.invocation);
    let chosen = chosen_files(&vault, &args.what)?;
    let to = match &args.to {
        Some(directory) => place.environment.dir.join(directory),
        None => chosen.project.clone(),
    };
    let is_foreign = args.to.is_none() && is_of_other_agent(&chosen.project, &place);
    let is_dry = args.dry_run || (is_foreign && !args.apply);
    let restored = if is_dry {
        vault.foresee(&chosen, &to, place.now)
    } else {
        vault.put_back(&chosen, &to, place.now)
    };
    let restored = restored.map_err(vault_failure)?;
    let is_home = args.to.is_none() && !is_dry && !is_foreign;
    let mut notes = Vec::new();
    if is_home {
        notes = move_dangers(&vault, &restored, &place)?;
        notes.extend(short_lived(&restored, &chosen.project, &place));
    }
    drop(patience);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let done = VaultReport {
                applied: !is_dry,
                restored: restored.iter().map(restored_file).collect(),
                warnings: notes,
                ..empty_report(&vault, "restore")
            };
            line::write(out, &done)?;
        }
        SessionsFormat::Text => {
            print_text(is_dry, &restored, &notes, out)?;
            print_dryness(args, is_dry, out)?;
        }
    }
    Ok(CommandExit::Success)
}

/// A whole id of a session, then a snapshot, then the beginning of a session's id.
fn chosen_files(vault: &Vault, named: &str) -> Result<ChosenFiles, Failure> {
    let history = vault.log().map_err(vault_failure)?;
    let kept = kept_ids(&history);
    let what = if kept.contains(named) {
        RestoreTarget::Session(named)
    } else if is_snapshot(named, &history) {
        RestoreTarget::Snapshot(named)
    } else {
        match beginning_with(named, &kept)?.as_slice() {
            [only] => RestoreTarget::Session(only),
            _ => return Err(vault_failure(VaultError::NoSession(named.to_owned()))),
        }
    };
    vault.choose(what).map_err(vault_failure)
}

/// Snapshots are called by their time, and no session's id begins with one.
fn is_snapshot(named: &str, history: &SnapshotHistory) -> bool {
    let is_long = named.len() > "20261116T".len();
    let mut ids = history.snapshots.iter().map(|it| it.id.as_str());
    is_long && ids.any(|id| id.starts_with(named))
}

/// Moves files into the vault that endanger the restored sessions.
fn move_dangers(
    vault: &Vault,
    restored: &[BroughtBack],
    place: &SessionsContext,
) -> Result<Vec<String>, Failure> {
    let is_main = |it: &&BroughtBack| Path::new(&it.entry.path).components().count() <= 2;
    let folders: BTreeSet<&Path> = restored
        .iter()
        .filter(is_main)
        .filter_map(|it| it.path.parent())
        .collect();
    let mut notes = Vec::new();
    for chats in folders {
        let actions = recover::disarm(vault, chats, "after restoring", place.now);
        notes.extend(
            actions
                .map_err(vault_failure)?
                .into_iter()
                .map(|it| it.sentence),
        );
    }
    Ok(notes)
}

/// Restored sessions that are older than the user's retention settings allow: Gemini CLI deletes them at its next start.
fn short_lived(restored: &[BroughtBack], directory: &Path, place: &SessionsContext) -> Vec<String> {
    let mut projects = place.store.projects().into_iter();
    let project = projects.find(|it| it.directories.iter().any(|it| it == directory));
    let vars = Vars::new(&place.environment.vars);
    let max_age = project.and_then(|project| {
        let root = project.root?;
        RetentionSettings::of_project(&place.store.home, &root, vars)?.max_age
    });
    let Some(limit) = max_age.and_then(|age| place.now.checked_sub(age)) else {
        return Vec::new();
    };
    let is_old = |it: &&BroughtBack| {
        let facts = std::fs::read(&it.path).map(|bytes| ContentFacts::read(&bytes));
        let updated = facts.ok().and_then(|it| it.last_updated);
        let updated = updated.and_then(|time| time.parse::<jiff::Timestamp>().ok());
        it.entry.listed && updated.is_some_and(|time| std::time::SystemTime::from(time) < limit)
    };
    let old = restored.iter().filter(is_old);
    old.map(|it| {
        let id = it.entry.session_id.as_deref().unwrap_or_default();
        format!(
            "session {id} is older than your settings let sessions become, and Gemini CLI's next start deletes it again: continue it with `lapidary sessions resume`, or raise `general.sessionRetention.maxAge`"
        )
    })
    .collect()
}

fn restored_file(restored: &BroughtBack) -> RestoredFile {
    RestoredFile {
        path: restored.path.to_string_lossy().into_owned(),
        how: match restored.how {
            RestoreMethod::Written => RestoredHow::Written,
            RestoreMethod::AlreadyThere => RestoredHow::AlreadyThere,
            RestoreMethod::Beside => RestoredHow::Beside,
        },
        file: published_file(&restored.entry),
    }
}

fn print_dryness(args: &Args, is_dry: bool, out: &mut Printer) -> Result<(), Failure> {
    let note = match (args.dry_run, is_dry) {
        (true, _) => "nothing was written; without --dry-run it is",
        (false, true) => {
            "nothing was written: the directory is another agent's; --apply writes there, --to DIR elsewhere"
        }
        (false, false) => return Ok(()),
    };
    Ok(out.print_note(note)?)
}

fn print_text(
    is_dry: bool,
    restored: &[BroughtBack],
    notes: &[String],
    out: &mut Printer,
) -> Result<(), Failure> {
    for one in restored {
        let done = match (one.how, is_dry) {
            (RestoreMethod::Written, false) => "back",
            (RestoreMethod::Written, true) => "would be back",
            (RestoreMethod::AlreadyThere, _) => "never gone",
            (RestoreMethod::Beside, false) => "back, beside another of its name",
            (RestoreMethod::Beside, true) => "would be back, beside another of its name",
        };
        let path = one.path.to_string_lossy();
        let size = size::short_size(one.entry.size);
        writeln!(out, "{} ({size}): {done}", sanitize(&path))?;
    }
    for note in notes {
        out.print_note(note)?;
    }
    Ok(())
}
