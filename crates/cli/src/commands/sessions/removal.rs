//! The steps that `delete` and `prune` share: listing the files, asking, removing, reporting.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use lapidary::render::plain::sanitize;
use lapidary::sessions::vault::{AddRequest, RemovedItem, Vault};
use lapidary::sessions::{DeleteError, SessionDeletion, SessionIndex, SessionInventory, age};
use lapidary::vocab::line;
use lapidary::vocab::removal::{REMOVAL_SCHEMA, Removal, RemovalReason, RemovedSession};

use super::common::{SessionsContext, SessionsFormat};
use super::list::shorten_to_width;
use super::size;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use lapidary::prepare;

/// Sessions that are to go.
pub(super) struct RemovalPlan<'i> {
    pub(super) inventory: &'i SessionInventory,
    pub(super) deletions: Vec<(SessionDeletion, RemovalReason)>,
    pub(super) warnings: Vec<String>,
    /// Whether copies go into the vault first.
    pub(super) keeps_copies: bool,
}

/// The removed files, and the failures.
#[derive(Default)]
struct RemovalOutcome {
    is_applied: bool,
    /// Which of the deletions were carried out, by their place.
    gone: HashSet<usize>,
    failures: Vec<String>,
}

impl RemovalPlan<'_> {
    /// Only shows the plan.
    pub(super) fn print_preview(
        &self,
        format: SessionsFormat,
        place: &SessionsContext,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        self.print_removal(format, &RemovalOutcome::default(), place, out)
    }

    /// Removes all of it and prints the result. A failure makes the command fail after the rest was removed.
    pub(super) fn carry_out(
        &self,
        format: SessionsFormat,
        place: &SessionsContext,
        out: &mut Printer,
    ) -> Result<CommandExit, Failure> {
        let outcome = self.remove_sessions(place)?;
        self.print_removal(format, &outcome, place, out)?;
        if outcome.failures.is_empty() {
            Ok(CommandExit::Success)
        } else {
            Ok(CommandExit::Internal)
        }
    }

    /// Removes all of it. Returns the failures, a sentence each.
    pub(super) fn carry_out_silently(
        &self,
        place: &SessionsContext,
    ) -> Result<Vec<String>, Failure> {
        Ok(self.remove_sessions(place)?.failures)
    }

    fn remove_sessions(&self, place: &SessionsContext) -> Result<RemovalOutcome, Failure> {
        let kept = if self.keeps_copies {
            self.keep_copies(place)?
        } else {
            HashSet::new()
        };
        let mut keep = |path: &Path| {
            // Only the link itself is removed, so it needs no copy.
            if !self.keeps_copies || kept.contains(path) || path.is_symlink() {
                return Ok(());
            }
            Err(io::Error::other("the vault has no copy of it"))
        };
        let vault = Vault::open(prepare::vault_in(&place.environment)?);
        let mut outcome = RemovalOutcome {
            is_applied: true,
            ..RemovalOutcome::default()
        };
        for (number, (deletion, _)) in self.deletions.iter().enumerate() {
            // A session whose files all stay keeps the rest, too.
            if deletion.files.is_empty() {
                outcome.failures.extend(deletion.spared.iter().cloned());
                continue;
            }
            match remove_session(deletion, &vault, &mut keep) {
                Ok(()) => {
                    outcome.gone.insert(number);
                }
                Err(errors) => outcome.failures.extend(error_texts(errors)),
            }
        }
        self.forget_in_index(&outcome, place);
        Ok(outcome)
    }

    /// Removes deleted sessions from the index.
    fn forget_in_index(&self, outcome: &RemovalOutcome, place: &SessionsContext) {
        let gone = self.counted_deletions(outcome).into_iter();
        let gone: Vec<PathBuf> = gone
            .flat_map(|(deletion, _)| deletion.sessions())
            .map(Path::to_owned)
            .collect();
        let Some(path) = place.index_path().filter(|_| !gone.is_empty()) else {
            return;
        };
        let mut index = SessionIndex::open(&path, place.now);
        if index.is_open()
            && let Err(error) = index.forget(&gone)
        {
            place.invocation.print_message(&format!(
                "warning: the index `{}` still knows what was removed: {error}",
                path.display()
            ));
        }
    }

    /// Puts the files of sessions that go into the vault, and says of which there is a copy now.
    fn keep_copies(&self, place: &SessionsContext) -> Result<HashSet<PathBuf>, Failure> {
        let vault = Vault::open(prepare::vault_in(&place.environment)?);
        let files: Vec<PathBuf> = self
            .deletions
            .iter()
            .flat_map(|(deletion, _)| deletion.sessions())
            .map(Path::to_owned)
            .collect();
        let mut kept = HashSet::new();
        for project in self
            .inventory
            .projects
            .iter()
            .flat_map(|project| &project.directories)
        {
            let files: Vec<_> = files
                .iter()
                .filter(|file| file.starts_with(project))
                .cloned()
                .collect();
            if files.is_empty() {
                continue;
            }
            let request = AddRequest {
                project,
                files: &files,
                reason: "before removing sessions",
                now: place.now,
            };
            let added = vault
                .add(&request)
                .context("nothing was removed, since nothing could be kept in the vault");
            let added = added.map_err(Failure::internal)?;
            kept.extend(files);
            for flaw in added.flaws {
                kept.remove(&flaw.path);
            }
        }
        Ok(kept)
    }

    fn print_removal(
        &self,
        format: SessionsFormat,
        outcome: &RemovalOutcome,
        place: &SessionsContext,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        if format == SessionsFormat::Json {
            return Ok(line::write(out, &self.removal_report(outcome))?);
        }
        if !outcome.is_applied {
            self.list_deletions(place, out)?;
            return Ok(());
        }
        for failure in &outcome.failures {
            out.print_message(&format!("warning: {failure}"));
        }
        for spared in self.spared_files() {
            if !outcome.failures.contains(&spared) {
                out.print_message(&format!("warning: it stays: {spared}"));
            }
        }
        let failed = self.deletions.len() - outcome.gone.len();
        let left = if failed == 0 {
            String::new()
        } else {
            format!("; {failed} could not be removed")
        };
        writeln!(
            out,
            "removed {}{left}",
            deletions_sum(&self.counted_deletions(outcome))
        )?;
        Ok(())
    }

    /// The deletions that were carried out, or all of them before the first attempt.
    fn counted_deletions(
        &self,
        outcome: &RemovalOutcome,
    ) -> Vec<&(SessionDeletion, RemovalReason)> {
        let deletions = self.deletions.iter().enumerate();
        deletions
            .filter(|(place, _)| !outcome.is_applied || outcome.gone.contains(place))
            .map(|(_, deletion)| deletion)
            .collect()
    }

    /// The plan for people: a line per session, and the paths below it.
    pub(super) fn list_deletions(
        &self,
        place: &SessionsContext,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        for (deletion, reason) in &self.deletions {
            let entry = self.removed_session(deletion, reason);
            let name = entry.display_name.as_deref().unwrap_or("(no session)");
            let name = shorten_to_width(&sanitize(name), 60);
            let id = entry.id.as_deref().map(|id| format!(" [{}]", sanitize(id)));
            let updated = entry.last_updated.as_deref();
            let updated = updated.and_then(|time| time.parse::<Timestamp>().ok());
            let ago = age(updated.map(Timestamp::as_millisecond), place.now);
            writeln!(
                out,
                "{:>9}  {:<15} {:<14} {name}{}",
                size::short_size(entry.bytes),
                ago,
                reason_text(reason),
                id.unwrap_or_default()
            )?;
            for path in entry.files.iter().chain(&entry.artefacts) {
                writeln!(out, "           {}", sanitize(path))?;
            }
        }
        for warning in self.spared_files() {
            writeln!(out, "     stays  {}", sanitize(&warning))?;
        }
        Ok(())
    }

    /// How much goes, in words.
    pub(super) fn sum_text(&self) -> String {
        deletions_sum(&self.deletions.iter().collect::<Vec<_>>())
    }

    fn spared_files(&self) -> Vec<String> {
        let spared = self.deletions.iter().flat_map(|(going, _)| &going.spared);
        spared.cloned().collect()
    }

    fn removal_report(&self, outcome: &RemovalOutcome) -> Removal {
        let removed = self.counted_deletions(outcome);
        let going: HashSet<_> = removed
            .iter()
            .filter_map(|(deletion, _)| Some((deletion.project, deletion.id.as_deref()?)))
            .collect();
        let sessions = &self.inventory.listing.sessions;
        let kept = sessions
            .iter()
            .filter(|session| !going.contains(&(session.project, session.id())));
        let mut warnings = self.warnings.clone();
        warnings.extend(self.spared_files());
        Removal {
            schema: REMOVAL_SCHEMA.to_owned(),
            applied: outcome.is_applied,
            kept: kept.count() as u64,
            bytes: deletions_bytes(&removed),
            removed: removed
                .iter()
                .map(|(deletion, reason)| self.removed_session(deletion, reason))
                .collect(),
            failures: outcome.failures.clone(),
            warnings,
        }
    }

    fn removed_session(
        &self,
        deletion: &SessionDeletion,
        reason: &RemovalReason,
    ) -> RemovedSession {
        let project = &self.inventory.projects[deletion.project];
        let listed = self.inventory.listing.sessions.iter().find(|session| {
            session.project == deletion.project && Some(session.id()) == deletion.id.as_deref()
        });
        let newest = deletion.files.iter().map(|file| file.modified).max();
        let newest = newest.and_then(|time| Timestamp::try_from(time).ok());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        RemovedSession {
            id: deletion.id.clone(),
            display_name: listed.map(|listed| listed.info().display_name.clone()),
            last_updated: listed
                .map(|listed| listed.info().last_updated.clone())
                .or_else(|| newest.map(|time| format!("{time:.3}"))),
            project: project.root.as_deref().map(text),
            project_id: project.id.clone(),
            reason: reason.clone(),
            files: deletion.files.iter().map(|file| text(&file.path)).collect(),
            artefacts: deletion
                .artefacts
                .iter()
                .map(|artefact| text(&artefact.path))
                .collect(),
            bytes: deletion.bytes(),
        }
    }
}

/// How much that is, in words.
fn deletions_sum(deletions: &[&(SessionDeletion, RemovalReason)]) -> String {
    let count = deletions.len();
    let plural = if count == 1 { "" } else { "s" };
    let size = size::short_size(deletions_bytes(deletions));
    format!("{count} session{plural}, {size}")
}

fn deletions_bytes(deletions: &[&(SessionDeletion, RemovalReason)]) -> u64 {
    deletions.iter().map(|(deletion, _)| deletion.bytes()).sum()
}

/// Removes a session. A run that is under way would take it for lost, so it is buried first; that this may fail is no reason to keep it.
fn remove_session(
    deletion: &SessionDeletion,
    vault: &Vault,
    keep: &mut dyn FnMut(&Path) -> io::Result<()>,
) -> Result<(), Vec<DeleteError>> {
    let id = deletion.id.as_deref().map(RemovedItem::Session);
    let removed = || {
        id.into_iter()
            .chain(deletion.sessions().map(RemovedItem::File))
    };
    for what in removed() {
        let _ = vault.bury(what, SystemTime::now());
    }
    deletion
        .carry_out(keep)
        .inspect_err(|_| removed().for_each(|what| vault.exhume(what)))
}

fn error_texts(errors: Vec<DeleteError>) -> impl Iterator<Item = String> {
    errors
        .into_iter()
        .map(|error| format!("{:#}", anyhow!(error)))
}

fn reason_text(reason: &RemovalReason) -> &str {
    match reason {
        RemovalReason::Asked => "",
        RemovalReason::TooOld => "too old",
        RemovalReason::TooMany => "too many",
        RemovalReason::NoContent => "nothing said",
        RemovalReason::NotASession => "no session",
        RemovalReason::Empty => "empty",
        RemovalReason::Subagent => "sub-agent",
        other => other.as_str(),
    }
}

/// Asks on the terminal. Any answer but yes is no, and so is an empty one.
pub(in crate::commands) fn confirm_on_terminal(
    invocation: &Invocation,
    question: &str,
) -> io::Result<bool> {
    let mut stderr = invocation.stderr_writer();
    write!(stderr, "{} [y/N] ", sanitize(question))?;
    stderr.flush()?;
    let answer = invocation.read_line()?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}
