//! Reads a recording without replaying it: its lines, its events, and its end.

mod cut_run;
mod events;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use lapidary_normalize::{OnDenied, ProcessEnd, StopCause};
use lapidary_vocab::Cause;
use lapidary_vocab::event::{Provider, RunEnd};

pub use cut_run::finish_cut_run;
pub use events::{PastAttempts, PastFormat, PastReading};

use super::ReplayError;
use crate::agents::{KNOWN, family};
use crate::recording::replay::OpenRecording;
use crate::recording::{
    MANIFEST, Manifest, RecordedEnd, RecordedLines, STDERR, STDOUT, is_running, time_of,
};
use crate::run::ending::cancelled_by_client;
use crate::run::stderr_tail;
use crate::violations::stopped_for;

/// A recording that was checked.
#[derive(Debug)]
pub struct RecordingReader {
    directory: PathBuf,
    manifest: Manifest,
    is_dialogue: bool,
    started: Option<Timestamp>,
    size: u64,
}

impl RecordingReader {
    /// Whether a directory is a recording: it has a manifest.
    pub fn is_in(directory: &Path) -> bool {
        fs::symlink_metadata(directory.join(MANIFEST)).is_ok()
    }

    /// Opens a recording by its directory.
    pub fn open(directory: &Path) -> Result<Self, ReplayError> {
        let OpenRecording {
            directory,
            manifest,
            is_dialogue,
            started,
            size,
        } = OpenRecording::open(directory)?;
        Ok(Self {
            directory,
            manifest,
            is_dialogue,
            started,
            size,
        })
    }

    /// The manifest: command, agent and end of the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The version of the manifest, if it is newer than this program.
    pub fn newer_schema(&self) -> Option<&str> {
        let schema = self.manifest.schema.as_str();
        (schema != lapidary_vocab::recording::SCHEMA).then_some(schema)
    }

    /// Whether a process is still recording it.
    pub fn is_running(&self) -> bool {
        self.manifest.end.is_none() && is_running(&self.directory)
    }

    /// Whether it is a dialogue with an agent that speaks ACP.
    pub fn is_dialogue(&self) -> bool {
        self.is_dialogue
    }

    /// Whether the run ended before an agent was started.
    pub fn was_refused(&self) -> bool {
        let end = self.manifest.end.as_ref();
        self.manifest.argv.is_empty() && end.is_some_and(|end| end.outcome.is_some())
    }

    /// The agent's family, as recorded; else by its name. An agent whose name is only its program's name was started by its
    /// command.
    pub fn provider(&self) -> Provider {
        if let Some(provider) = &self.manifest.provider {
            return provider.clone();
        }
        let agent = self.manifest.agent.as_str();
        let is_it = |command: &&[&str]| command[0] == agent;
        let known = KNOWN
            .iter()
            .find(|known| known.name == agent || known.commands.iter().any(is_it));
        if let Some(known) = known {
            return family(known.name);
        }
        let program = self.manifest.argv.first().map(Path::new);
        match program.and_then(Path::file_name) {
            Some(name) if name != agent => family(agent),
            _ => Provider::Acp,
        }
    }

    /// How a denied call was judged. Early builds did not judge it, and named no `writer`.
    pub fn on_denied(&self) -> OnDenied {
        let word = self.manifest.on_denied.as_deref();
        let usual = match self.manifest.writer {
            Some(_) => OnDenied::Auto,
            None => OnDenied::Warn,
        };
        word.and_then(OnDenied::from_word).unwrap_or(usual)
    }

    /// Whether Gemini CLI was started in plan mode.
    pub fn is_planning(&self) -> bool {
        let mut pairs = self.manifest.argv.windows(2);
        pairs.any(|pair| pair == ["--approval-mode", "plan"])
            || self
                .manifest
                .argv
                .iter()
                .any(|arg| arg == "--approval-mode=plan")
    }

    /// How many bytes its lines have.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file of the agent's stdout.
    pub fn stdout(&self) -> PathBuf {
        self.directory.join(STDOUT)
    }

    /// The file of the agent's stderr.
    pub fn stderr(&self) -> PathBuf {
        self.directory.join(STDERR)
    }

    /// The lines of both sides, from the first on. Of a line that is longer than `limit`, only the beginning is kept.
    pub fn lines(&self, limit: usize) -> Result<RecordedLines, ReplayError> {
        let mut lines = RecordedLines::open(&self.directory, self.line_reading(limit))?;
        lines.complete();
        Ok(lines)
    }

    /// How it ended. `judge` judges such an end after all lines of the recording. Where the run was judged differently, Lapidary
    /// had ended it; recordings of earlier builds have only the cause of that, and not the message.
    pub fn ending(&self, judge: impl FnOnce(&ProcessEnd) -> RunEnd) -> ProcessEnd {
        let mut ending = ProcessEnd {
            stderr: stderr_tail(&self.directory),
            ..ProcessEnd::default()
        };
        let Some(end) = &self.manifest.end else {
            return ending;
        };
        let duration = Duration::from_millis(end.duration_ms);
        ending.exit_code = end.agent_exit_code;
        ending.signal.clone_from(&end.signal);
        ending.duration = (!self.was_refused()).then_some(duration);
        ending.violations.clone_from(&end.violations);
        ending.at = self.event_time(duration);
        ending.remarks.clone_from(&end.remarks);
        if let Some(cause) = &end.cause {
            ending.stopped =
                recorded_stop(end, cause).or_else(|| stop_cause(cause, &judge(&ending).cause));
            let is_refused = *cause == Cause::PermissionDenied;
            if let Some(violation) = end.violations.first().filter(|_| is_refused) {
                ending.stopped = Some(stopped_for(violation));
            }
        }
        ending
    }

    /// When that was, as events carry it.
    pub(super) fn event_time(&self, since_the_start: Duration) -> Option<String> {
        time_of(self.started?, since_the_start)
    }
}

/// Why Lapidary ended the run or did not start it, with the recorded message.
fn recorded_stop(end: &RecordedEnd, cause: &Cause) -> Option<StopCause> {
    Some(StopCause {
        cause: cause.clone(),
        message: end.message.clone()?,
        hint: end.hint.clone(),
    })
}

/// An agent that was asked to end its turn may report that it did. The cause is still our cancel.
fn stop_cause(recorded: &Cause, judged: &Cause) -> Option<StopCause> {
    if *recorded == Cause::CancelledByClient {
        return Some(cancelled_by_client());
    }
    (judged != recorded).then(|| StopCause::new(recorded.clone(), recorded.described()))
}
