//! A confined run, from its first attempt to its last: what it leaves behind, and what has to be said about it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_vocab::event::{ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Event, Json};
use tempfile::TempDir;

use super::protected::{ProtectedChange, ProtectedFiles};
use super::{ConfineMode, denied};
use crate::policy::Deed;

/// Of so many protected files the result says each by itself.
const MOST_TOLD: usize = 10;

/// More edits than that are not remembered.
const MOST_EDITS: usize = 10_000;

/// What has to be looked after while a confined agent runs.
#[derive(Debug)]
pub struct ConfinedRun {
    pub(super) mode: ConfineMode,
    /// What can be written, links followed.
    pub(super) write: Vec<PathBuf>,
    /// Where the agent works, from which its relative paths count.
    pub(super) directory: PathBuf,
    pub(super) protected: ProtectedFiles,
    pub(super) temporary: Mutex<Option<TempDir>>,
    seen: Mutex<Seen>,
}

/// What the agent's events told so far.
#[derive(Debug, Default)]
struct Seen {
    /// Files that it said it would edit.
    edits: Vec<PathBuf>,
    /// A write that was denied, and the directory that it would need.
    denied: Option<(PathBuf, PathBuf)>,
}

impl ConfinedRun {
    pub(super) fn new(
        mode: ConfineMode,
        write: Vec<PathBuf>,
        directory: PathBuf,
        protected: ProtectedFiles,
        temporary: TempDir,
    ) -> Self {
        Self {
            mode,
            write,
            directory,
            protected,
            temporary: Mutex::new(Some(temporary)),
            seen: Mutex::default(),
        }
    }

    /// What can be written.
    pub fn write(&self) -> &[PathBuf] {
        &self.write
    }

    /// Takes in what the agent does. Chunks of text, which are nearly all events, cost one comparison each.
    pub(crate) fn note(&self, events: &[Event]) {
        for event in events {
            match &event.body {
                Body::ToolInvocation(call) => self.note_call(call, event),
                Body::ToolCompletion(done) => self.note_end(done),
                _ => {}
            }
        }
    }

    fn note_call(&self, call: &ToolInvocation, event: &Event) {
        let content = event.base.extensions.get("acp.toolContent");
        self.note_deed(&Deed::of_call(call, content, &self.directory));
    }

    /// Takes in what was permitted, or announced: an edit of a file explains its change.
    pub(crate) fn note_deed(&self, deed: &Deed) {
        let is_edit = matches!(
            deed.kind,
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move
        );
        let mut seen = self.seen();
        if (is_edit || deed.shows_diff) && seen.edits.len() < MOST_EDITS {
            seen.edits.extend(deed.paths.iter().cloned());
        }
    }

    fn note_end(&self, done: &ToolCompletion) {
        match (&done.command_output, &done.output) {
            (Some(output), _) => self.note_text(&output.to_str()),
            // Hardly any output is worth decoding.
            (None, Some(output)) if denied::is_in(output.as_str()) => {
                self.note_text(&plain(output));
            }
            (None, _) => {}
        }
    }

    /// Takes in what a program printed. Only the first denied write is remembered: what follows may be its consequence.
    fn note_text(&self, text: &str) {
        let mut seen = self.seen();
        if seen.denied.is_none() && denied::is_in(text) {
            let paths = denied::paths_in(text, &self.directory).into_iter();
            let mut found = paths.filter_map(|path| {
                let directory = denied::directory_for(&path, &self.write)?;
                Some((path, directory))
            });
            seen.denied = found.next();
        }
    }

    /// The protected files that changed although no edit that the agent announced is about them.
    pub fn protected_changes(&self) -> Vec<ProtectedChange> {
        let changes = self.protected.changes();
        let seen = self.seen();
        let is_told = |path: &Path| {
            let path = resolved(path);
            seen.edits.iter().any(|edit| resolved(edit) == path)
        };
        let untold = changes.into_iter().filter(|it| !is_told(&it.path));
        untold.collect()
    }

    /// Removes the temporary directory, and says what the reader of the result should know.
    pub(crate) fn end(&self, stderr: &str) -> Vec<String> {
        self.note_text(stderr);
        drop(self.temporary.lock().map(|mut it| it.take()));
        let changes = self.protected_changes();
        let more = changes.len().saturating_sub(MOST_TOLD);
        let more = (more > 0).then(|| format!("{more} more protected files were changed"));
        let told = changes.into_iter().take(MOST_TOLD).map(|it| {
            let (path, change) = (it.path.display(), it.change.as_str());
            format!("`{path}` was {change} although protected: no edit of the agent's explains it")
        });
        told.chain(more).chain(self.explanation()).collect()
    }

    /// What to do about a write that was denied.
    fn explanation(&self) -> Option<String> {
        let seen = self.seen();
        let (path, directory) = seen.denied.as_ref()?;
        let (path, mode) = (path.display(), self.mode.as_str());
        let directory = directory.to_string_lossy(); // as TOML has it, too
        Some(format!(
            "`--confine {mode}` does not let the agent write `{path}`; to allow it, add `confine_write = [{directory:?}]` to your own lapidary.toml"
        ))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text, whether it is one or stands in something larger.
fn plain(output: &Json) -> String {
    match output.token().string() {
        Some(text) => text.into_owned(),
        None => output.as_str().replace("\\n", "\n").replace("\\\"", "\""),
    }
}

/// Where a path leads, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let parent = parent.canonicalize();
    parent.map_or_else(|_| path.to_owned(), |parent| parent.join(name))
}
