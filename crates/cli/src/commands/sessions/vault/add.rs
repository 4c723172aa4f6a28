//! `sessions vault add`: takes sessions in.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use lapidary::sessions::SessionProject;
use lapidary::sessions::vault::{AddRequest, AddedFiles, Vault, files_of, session_files};
use lapidary::vocab::line;
use lapidary::vocab::vault::VaultReport;

use super::super::common::{ProjectScope, SessionsContext, SessionsFormat};
use super::super::identify::whole_id;
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::{counted_noun, empty_report, open_vault, published_snapshot, vault_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Copy sessions into the vault
///
/// All files of the project's sessions, hidden ones too, or only the named sessions. An unchanged file takes no space.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault add
  lapidary sessions vault add --all
  lapidary sessions vault add latest 4f1c2b3a

Exits with 13 if there is no such session, and with 1 if nothing could be kept.")]
pub(crate) struct Args {
    /// `latest`, a number of the list, an id or the beginning of one [default: all]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    sessions: Vec<String>,
    #[command(flatten)]
    scope: ProjectScope,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    let patience = ProgressNote::start_note("copying sessions", &out.invocation);
    let ids = named_session_ids(args, &place)?;
    let mut taken = Vec::new();
    let mut warnings = Vec::new();
    for project in place.scope_projects(&args.scope)? {
        warnings.extend(project.warnings.iter().cloned());
        for (folder, files) in project_places(&project, &ids, &mut warnings) {
            let request = AddRequest {
                project: folder,
                files: &files,
                reason: "added by hand",
                now: place.now,
            };
            taken.push(vault.add(&request).map_err(vault_failure)?);
        }
    }
    for added in &taken {
        warnings.extend(added.flaws.iter().map(ToString::to_string));
    }
    drop(patience);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &as_report(&vault, &taken, warnings))?,
        SessionsFormat::Text => print_text(args, &taken, &warnings, out)?,
    }
    Ok(CommandExit::Success)
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
        if added.changed {
            writeln!(out, "{id}  {what}, {} new", added.new)?;
        } else {
            writeln!(out, "{id}  {what}, as they were")?;
        }
    }
    if taken.is_empty() {
        let others = "; --all takes in those of other projects";
        let others = if args.scope.all { "" } else { others };
        out.print_note(&format!("no sessions recorded here yet{others}"))?;
    }
    Ok(())
}
