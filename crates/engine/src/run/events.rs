//! The events of a run: the agent's lines, translated, and the events that Lapidary inserts between them.
//!
//! Inserted events are also written to the recording, with their place. So a reader of the recording, now or later, gets the
//! events that the run had: [`super::subscription`] and [`crate::replay::RecordingReader`].

use std::path::Path;
use std::sync::{Arc, OnceLock};

use lapidary_normalize::{EventBuffer, LineDirection, Normalizer, ProcessEnd};
use lapidary_vocab::event::{DiagnosticKind, RECORDING, RunEnd};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::lines::RawLine;
use tokio::sync::{Notify, watch};

use super::dialect::BoxedNormalizer;
use super::timestamp::timestamp_now;
use crate::recording::InsertedWriter;

/// How far a run is translated. Readers of its recording go that far, and wait for more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TranslationProgress {
    /// The newest attempt, from 1. Zero before the first.
    pub(crate) attempt: u32,
    /// How many of its lines are translated.
    pub(crate) lines: u64,
    /// How many bytes of its inserted events are written.
    pub(crate) inserted: u64,
    /// The `run_end` is among them.
    pub(crate) is_over: bool,
}

/// Whether the reader of a run wants an event.
pub type EventFilter = fn(&Event) -> bool;

/// Makes the events of a run.
#[derive(Debug)]
pub(crate) struct RunEvents {
    normalizer: BoxedNormalizer,
    inserted: InsertedWriter,
    progress: TranslationProgress,
    published: watch::Sender<TranslationProgress>,
    subscribed: Arc<Notify>,
    filter: Arc<OnceLock<EventFilter>>,
}

/// Where a run tells how far it is.
#[derive(Debug, Default)]
pub(crate) struct ProgressPort {
    pub(crate) published: watch::Sender<TranslationProgress>,
    /// Notified by each new subscription.
    pub(crate) subscribed: Arc<Notify>,
    /// The events that the reader of the run wants; all of them if it is not set.
    pub(crate) filter: Arc<OnceLock<EventFilter>>,
}

impl RunEvents {
    pub(crate) fn new(normalizer: BoxedNormalizer, port: ProgressPort) -> Self {
        Self {
            normalizer,
            inserted: InsertedWriter::default(),
            progress: TranslationProgress::default(),
            published: port.published,
            subscribed: port.subscribed,
            filter: port.filter,
        }
    }

    /// Whether the reader of the run wants only some events.
    pub(crate) fn has_filter(&self) -> bool {
        self.filter.get().is_some()
    }

    /// Removes the events that the reader of the run does not want.
    pub(crate) fn remove_unwanted(&self, events: &mut EventBuffer) {
        if let Some(is_wanted) = self.filter.get() {
            events.retain(is_wanted);
        }
    }

    /// Is notified by each new subscription.
    pub(crate) fn subscription_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.subscribed)
    }

    /// Another attempt begins, and is recorded there.
    pub(crate) fn begin_attempt(&mut self, recording: &Path) {
        self.progress.attempt += 1;
        self.progress.lines = 0;
        let _ = self.inserted.attach(recording); // the run reports a full disk
    }

    /// Translates a line.
    pub(crate) fn push(
        &mut self,
        from: LineDirection,
        line: RawLine<'_>,
        at: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.progress.lines += 1;
        self.normalizer.push_line(from, line, at, out);
    }

    /// Takes in an entry of Gemini CLI's session log.
    pub(crate) fn session_log(&mut self, entry: &str) {
        self.normalizer.session_log(entry);
    }

    /// Inserts a diagnostic.
    pub(crate) fn insert_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        out: &mut EventBuffer,
    ) {
        self.normalizer
            .note(kind, message, Some(&timestamp_now()), out);
        self.record_last(out);
    }

    /// Inserts an event about a session, or about none.
    pub(crate) fn insert(&mut self, body: Body, session: Option<Text>, out: &mut EventBuffer) {
        self.normalizer
            .insert(body, session, Some(&timestamp_now()), out);
        self.record_last(out);
    }

    /// Whether another attempt may follow this one.
    pub(crate) fn may_restart(&mut self, may: bool) {
        self.normalizer.may_restart(may);
    }

    /// Another attempt follows.
    pub(crate) fn restart_attempt(&mut self, message: String, out: &mut EventBuffer) {
        self.normalizer.restart(message, &timestamp_now(), out);
        self.record_last(out);
    }

    pub(crate) fn has_spoken(&self) -> bool {
        self.normalizer.has_spoken()
    }

    pub(crate) fn has_result(&self) -> bool {
        self.normalizer.has_result()
    }

    pub(crate) fn judge_end(&self, ending: &ProcessEnd) -> RunEnd {
        self.normalizer.judge(ending)
    }

    /// Ends the run. The `run_end` names the recording.
    pub(crate) fn finish_run(
        &mut self,
        ending: &ProcessEnd,
        recording: Option<&Path>,
        out: &mut EventBuffer,
    ) {
        let end = self.normalizer.judge(ending);
        self.normalizer.end(end, Some(&timestamp_now()), out);
        if let (Some(event), Some(recording)) = (out.last_mut(), recording) {
            let path = Json::from_value(&recording.to_string_lossy());
            event.base.extensions.insert(RECORDING.to_owned(), path);
        }
        self.record_last(out);
        self.progress.is_over = true;
        self.publish_position();
    }

    /// Whether others than the reader of the run itself want its events.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.published.receiver_count() > 1
    }

    /// Lets readers of the recording go as far as this.
    pub(crate) fn publish_position(&mut self) {
        self.progress.inserted = self.inserted.length();
        let progress = self.progress;
        self.published.send_if_modified(|last| {
            let is_news = *last != progress;
            *last = progress;
            is_news
        });
    }

    /// Translates the document of an agent that writes no stream. It counts as one line.
    pub(crate) fn translate_document(
        &mut self,
        stdout: &[u8],
        stderr: impl FnOnce() -> Vec<u8>,
        out: &mut EventBuffer,
    ) {
        self.progress.lines += 1;
        read_document(&mut *self.normalizer, stdout, stderr, out);
    }

    /// Records the last event, which is the inserted one: text that was held back comes before it, and is the agent's.
    fn record_last(&mut self, events: &EventBuffer) {
        if let Some(event) = events.last() {
            let _ = self.inserted.append(self.progress.lines, event); // the run reports a full disk
        }
    }
}

/// Reads a document from stdout, else from stderr, where Gemini CLI writes that of an error.
pub(crate) fn read_document(
    normalizer: &mut dyn Normalizer,
    stdout: &[u8],
    stderr: impl FnOnce() -> Vec<u8>,
    out: &mut EventBuffer,
) {
    let mut read = |document: &[u8]| {
        normalizer.push_line(
            LineDirection::FromAgent,
            RawLine::Whole(document),
            None,
            out,
        );
        normalizer.has_result()
    };
    if !read(stdout) {
        read(&stderr());
    }
}
