//! A confined run, from its first attempt to its last: its temporary directory, its denied writes, and the warnings about them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_vocab::event::{PermissionViolation, ToolCompletion};
use lapidary_vocab::recording::RecordedConfinement;
use lapidary_vocab::{Body, Event, Json};
use tempfile::TempDir;

use super::permitted::PermittedCalls;
use super::protected::{ProtectedChange, ProtectedFiles};
use super::violation::by_change;
use super::{ConfineMode, denied};
use crate::policy::{Policy, ToolAction, follow};
use crate::process::Confinement;

/// The result lists so many protected files one by one.
const MOST_NAMED: usize = 10;

/// The state of the confinement while an agent runs.
#[derive(Debug)]
pub struct ConfinedRun {
    pub(super) mode: ConfineMode,
    /// The writable directories, links followed.
    pub(super) write: Vec<PathBuf>,
    /// The ports that can be connected to.
    pub(super) connect: Option<Vec<u16>>,
    /// Where the agent works, from which its relative paths count.
    pub(super) directory: PathBuf,
    pub(super) protected: ProtectedFiles,
    pub(super) temporary: Mutex<Option<TempDir>>,
    seen: Mutex<SeenCalls>,
}

/// Facts from the agent's calls so far.
#[derive(Debug, Default)]
struct SeenCalls {
    permitted: PermittedCalls,
    /// Changes of protected files that no call explains, and that rules and mode allow all the same.
    allowed_changes: Vec<ProtectedChange>,
    /// A write that was denied, and the directory that it would need.
    denied: Option<(PathBuf, PathBuf)>,
}

impl ConfinedRun {
    pub(super) fn new(
        mode: ConfineMode,
        confinement: &Confinement,
        directory: PathBuf,
        protected: ProtectedFiles,
        temporary: TempDir,
    ) -> Self {
        Self {
            mode,
            write: confinement.write.clone(),
            connect: confinement.connect.clone(),
            directory,
            protected,
            temporary: Mutex::new(Some(temporary)),
            seen: Mutex::default(),
        }
    }

    /// The writable directories.
    pub fn write(&self) -> &[PathBuf] {
        &self.write
    }

    /// Whether the agent may write a file. For files that this process writes for it, of which the kernel knows nothing.
    pub(crate) fn lets_write(&self, path: &Path) -> bool {
        let real = follow(path);
        real.is_ok_and(|real| self.write.iter().any(|place| real.starts_with(place)))
    }

    /// As the recording has it.
    pub(crate) fn to_recorded(&self) -> RecordedConfinement {
        let write = self.write.iter();
        RecordedConfinement {
            mode: self.mode.as_str().to_owned(),
            write: write.map(|path| path.display().to_string()).collect(),
            connect: self.connect.clone(),
        }
    }

    /// Notes the end of tool calls. Chunks of text, which are nearly all events, cost one comparison each.
    pub(crate) fn note_events(&self, events: &[Event]) {
        for event in events {
            if let Body::ToolCompletion(done) = &event.body {
                self.note_end(done);
            }
        }
    }

    /// Takes in a call that is permitted, before it is done: it explains changes of the files that it names.
    pub(crate) fn note_permitted(&self, action: &ToolAction) {
        let mut seen = self.lock_seen_calls();
        seen.permitted
            .note_call(action, &self.directory, &self.protected);
    }

    fn note_end(&self, done: &ToolCompletion) {
        match (&done.command_output, &done.output) {
            (Some(output), _) => self.note_text(&output.to_str()),
            // Hardly any output is worth decoding.
            (None, Some(output)) if denied::is_in(output.as_str()) => {
                self.note_text(&plain_text(output));
            }
            (None, _) => {}
        }
    }

    /// Notes the output of a program. Only the first denied write is remembered: later ones may be its consequence.
    fn note_text(&self, text: &str) {
        let mut seen = self.lock_seen_calls();
        if seen.denied.is_none() && denied::is_in(text) {
            let paths = denied::paths_in(text, &self.directory).into_iter();
            let mut found = paths.filter_map(|path| {
                let directory = denied::directory_for(&path, &self.write)?;
                Some((path, directory))
            });
            seen.denied = found.next();
        }
    }

    /// Compares the protected files. A change counts as an edit of the file: it is a violation if rules and mode do not allow that, and
    /// if no permitted call explains it.
    pub(crate) fn find_violations(&self, policy: Option<&Policy>) -> Vec<PermissionViolation> {
        let changes = self.protected.changes().into_iter();
        let mut seen = self.lock_seen_calls();
        let (mut violations, mut allowed) = (Vec::new(), Vec::new());
        for change in changes.filter(|it| !seen.permitted.has_call_about(&it.path, &self.protected))
        {
            match policy.and_then(|policy| by_change(&change, policy)) {
                Some(violation) => violations.push(violation),
                None => allowed.push(change),
            }
        }
        seen.allowed_changes = allowed;
        violations
    }

    /// Removes the temporary directory, and returns the warnings for the result.
    pub(crate) fn end_confinement(&self, stderr: &str) -> Vec<String> {
        self.note_text(stderr);
        drop(self.temporary.lock().map(|mut it| it.take()));
        let changes = std::mem::take(&mut self.lock_seen_calls().allowed_changes);
        let more = changes.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("{more} more protected files were changed"));
        let told = changes.into_iter().take(MOST_NAMED).map(|it| {
            let (path, change) = (it.path.display(), it.change.as_str());
            format!("`{path}` was {change}, and no call of the agent's explains it")
        });
        told.chain(more).chain(self.denied_write_hint()).collect()
    }

    /// A hint about a denied write.
    fn denied_write_hint(&self) -> Option<String> {
        let seen = self.lock_seen_calls();
        let (path, directory) = seen.denied.as_ref()?;
        let (path, mode) = (path.display(), self.mode.as_str());
        let directory = directory.to_string_lossy(); // as TOML has it, too
        Some(format!(
            "`--confine {mode}` does not let the agent write `{path}`; to allow it, add `confine_write = [{directory:?}]` to your own lapidary.toml"
        ))
    }

    fn lock_seen_calls(&self) -> MutexGuard<'_, SeenCalls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of an output, which may be a string or a larger JSON value.
fn plain_text(output: &Json) -> String {
    match output.token().string() {
        Some(text) => text.into_owned(),
        None => output.as_str().replace("\\n", "\n").replace("\\\"", "\""),
    }
}
