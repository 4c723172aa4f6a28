//! What `delete` and `prune` have in common: showing what goes, asking, removing, reporting.

use std::collections::HashSet;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use lapidary::home::sessions::{Deletion, Inventory};
use lapidary::home::vault::{AddRequest, Removed, Vault};
use lapidary::render::plain::sanitize;
use lapidary::vocab::line;
use lapidary::vocab::removal::{REMOVAL_SCHEMA, Removal, RemovalReason, RemovedSession};

use super::super::job;
use super::common::{Format, Place};
use super::list::shortened;
use super::{age, size};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, complain};

/// Sessions that are to go.
pub(super) struct Going<'i> {
    pub(super) inventory: &'i Inventory,
    pub(super) deletions: Vec<(Deletion, RemovalReason)>,
    pub(super) warnings: Vec<String>,
}

/// What was removed, and what could not be.
#[derive(Default)]
struct Outcome {
    is_applied: bool,
    failures: Vec<String>,
}

impl Going<'_> {
    /// Shows what would go, and nothing else.
    pub(super) fn preview(
        &self,
        format: Format,
        place: &Place,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        self.print(format, &Outcome::default(), place, out)
    }

    /// Removes it all and says so. What could not be removed makes the command fail, after the rest was done.
    pub(super) fn carry_out(
        &self,
        format: Format,
        place: &Place,
        out: &mut Printer,
    ) -> Result<Exit, Failure> {
        let outcome = Outcome {
            is_applied: true,
            failures: self.carry_out_silently(place)?,
        };
        self.print(format, &outcome, place, out)?;
        if outcome.failures.is_empty() {
            Ok(Exit::Success)
        } else {
            Ok(Exit::Internal)
        }
    }

    /// Removes it all. What could not be removed is returned, a sentence each.
    pub(super) fn carry_out_silently(&self, place: &Place) -> Result<Vec<String>, Failure> {
        let kept = self.keep(place)?;
        let mut keep = |path: &Path| {
            // Of a link only the link goes.
            if kept.contains(path) || path.is_symlink() {
                return Ok(());
            }
            Err(io::Error::other("the vault has no copy of it"))
        };
        let vault = Vault::open(job::vault_in(&place.environment)?);
        let mut failures = Vec::new();
        for (deletion, _) in &self.deletions {
            let id = deletion.id.as_deref().map(Removed::Session);
            let removed = || id.into_iter().chain(deletion.sessions().map(Removed::File));
            // A run that is under way would take it for lost. That it might is no reason not to remove it.
            for what in removed() {
                let _ = vault.bury(what, SystemTime::now());
            }
            if let Err(errors) = deletion.carry_out(&mut keep) {
                removed().for_each(|what| vault.exhume(what));
                let told = errors
                    .into_iter()
                    .map(|error| format!("{:#}", anyhow!(error)));
                failures.extend(told);
            }
        }
        Ok(failures)
    }

    /// Puts the files of sessions that go into the vault, and says of which there is a copy now.
    fn keep(&self, place: &Place) -> Result<HashSet<PathBuf>, Failure> {
        let vault = Vault::open(job::vault_in(&place.environment)?);
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

    fn print(
        &self,
        format: Format,
        outcome: &Outcome,
        place: &Place,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        if format == Format::Json {
            return Ok(line::write(out, &self.removal(outcome))?);
        }
        if !outcome.is_applied {
            self.list(place, out)?;
        }
        for failure in &outcome.failures {
            complain(&format!("warning: {failure}"));
        }
        if outcome.is_applied {
            let failed = outcome.failures.len();
            let left = if failed == 0 {
                String::new()
            } else {
                format!("; {failed} could not be removed")
            };
            let sum = self.sum();
            writeln!(out, "removed {sum}{left}")?;
        }
        Ok(())
    }

    /// What goes, for people: a line each, and the paths below it.
    pub(super) fn list(&self, place: &Place, out: &mut dyn io::Write) -> io::Result<()> {
        for (deletion, reason) in &self.deletions {
            let entry = self.entry(deletion, reason);
            let name = entry.display_name.as_deref().unwrap_or("(no session)");
            let name = shortened(&sanitize(name), 60);
            let id = entry.id.as_deref().map(|id| format!(" [{}]", sanitize(id)));
            let updated = entry.last_updated.as_deref();
            let updated = updated.and_then(|time| time.parse::<Timestamp>().ok());
            let ago = age::long(updated.map(Timestamp::as_millisecond), place.now);
            writeln!(
                out,
                "{:>9}  {:<15} {:<14} {name}{}",
                size::short(entry.bytes),
                ago,
                words(reason),
                id.unwrap_or_default()
            )?;
            for path in entry.files.iter().chain(&entry.artefacts) {
                writeln!(out, "           {}", sanitize(path))?;
            }
        }
        for warning in self.spared() {
            writeln!(out, "     stays  {}", sanitize(&warning))?;
        }
        Ok(())
    }

    /// How much goes, in words.
    pub(super) fn sum(&self) -> String {
        let count = self.deletions.len();
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} session{plural}, {}", size::short(self.bytes()))
    }

    fn bytes(&self) -> u64 {
        self.deletions
            .iter()
            .map(|(deletion, _)| deletion.bytes())
            .sum()
    }

    fn spared(&self) -> Vec<String> {
        let spared = self.deletions.iter().flat_map(|(going, _)| &going.spared);
        spared.cloned().collect()
    }

    fn removal(&self, outcome: &Outcome) -> Removal {
        let removed = self.deletions.iter();
        let going: HashSet<_> = self
            .deletions
            .iter()
            .filter_map(|(deletion, _)| Some((deletion.project, deletion.id.as_deref()?)))
            .collect();
        let sessions = &self.inventory.listing.sessions;
        let kept = sessions
            .iter()
            .filter(|session| !going.contains(&(session.project, session.info.id.as_str())));
        let mut warnings = self.warnings.clone();
        warnings.extend(self.spared());
        Removal {
            schema: REMOVAL_SCHEMA.to_owned(),
            applied: outcome.is_applied,
            kept: kept.count() as u64,
            bytes: self.bytes(),
            removed: removed
                .map(|(deletion, reason)| self.entry(deletion, reason))
                .collect(),
            failures: outcome.failures.clone(),
            warnings,
        }
    }

    fn entry(&self, deletion: &Deletion, reason: &RemovalReason) -> RemovedSession {
        let project = &self.inventory.projects[deletion.project];
        let listed = self.inventory.listing.sessions.iter().find(|session| {
            session.project == deletion.project && Some(&session.info.id) == deletion.id.as_ref()
        });
        let newest = deletion.files.iter().map(|file| file.modified).max();
        let newest = newest.and_then(|time| Timestamp::try_from(time).ok());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        RemovedSession {
            id: deletion.id.clone(),
            display_name: listed.map(|listed| listed.info.display_name.clone()),
            last_updated: listed
                .map(|listed| listed.info.last_updated.clone())
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

fn words(reason: &RemovalReason) -> &str {
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

/// Whether somebody is there to be asked.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal. Anything but yes is no, and so is nothing at all.
pub(super) fn is_confirmed(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{} [y/N] ", sanitize(question))?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}
