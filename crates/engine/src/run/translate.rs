//! Reads the agent's output as it grows, and translates it.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use lapidary_normalize::LineDirection::FromAgent;
use lapidary_vocab::Event;
use lapidary_vocab::event::DiagnosticKind;
use lapidary_wire::lines::{LineBuffer, RawLine};
use tokio::sync::{mpsc, watch};

use super::call_watch::CallWatch;
use super::completion::StreamCompletion;
use super::dialect::OutputKind;
use super::events::RunEvents;
use super::line_times::LineTimes;
use super::pending_work::{BudgetWatch, PendingWork};
use super::request::RunRequest;
use super::run_tally::RunTally;
use super::skipped_lines::{RestLimit, SkippedLines};
use crate::follow::{CHUNK, FileSizes, FollowedFile};
use crate::recording::{STDERR, STDOUT};
use crate::violations::AttemptViolations;

/// How much of the end of stderr is kept for the message about the outcome.
const TAIL: u64 = 16 * 1024;

/// An error document is looked for in this much of the end of stderr.
const DOCUMENT_TAIL: u64 = 1024 * 1024;

/// The message about an agent that cut its own output.
const CUT: &str = "the file with the agent's output was truncated during the run: bytes are lost";

/// Lines that make events are hardly shorter. Room for a piece's events is made at once, but not for a flood of empty lines.
const SHORT_LINE: usize = 64;

/// Events and bytes since the last batch.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// The events of the agent's lines, and inserted events.
    pub events: Vec<Event>,
    /// The bytes that it wrote to stdout, if they were asked for.
    pub stdout: Vec<u8>,
    /// The bytes that it wrote to stderr, if they were asked for.
    pub stderr: Vec<u8>,
    /// Output that is not translated, because the run had to end. An event reports it, too.
    pub skipped: SkippedLines,
}

impl EventBatch {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.stdout.is_empty() && self.stderr.is_empty()
    }
}

/// Reads one attempt's files to their end.
pub(super) struct AttemptTranslator<'a> {
    request: &'a RunRequest,
    made: &'a mut RunEvents,
    waiting: &'a PendingWork,
    spent: &'a BudgetWatch,
    tally: &'a RunTally,
    batches: &'a mpsc::Sender<EventBatch>,
    stdout: FollowedFile,
    stderr: FollowedFile,
    lines: LineBuffer,
    times: LineTimes,
    /// All of it, for an agent that writes one document.
    document: Vec<u8>,
    completion: Option<StreamCompletion>,
    call_watch: Option<CallWatch<'a>>,
    rest: &'a RestLimit,
    /// Whether stdout is not translated any more.
    is_skipping: bool,
    skipped: SkippedLines,
    /// Whether the agent's output was truncated.
    is_cut: bool,
}

impl<'a> AttemptTranslator<'a> {
    pub(super) fn new(
        request: &'a RunRequest,
        (directory, started): (&Path, Timestamp),
        made: &'a mut RunEvents,
        (waiting, spent, tally): (&'a PendingWork, &'a BudgetWatch, &'a RunTally),
        violations: &'a AttemptViolations,
        batches: &'a mpsc::Sender<EventBatch>,
        rest: &'a RestLimit,
    ) -> io::Result<Self> {
        Ok(Self {
            request,
            made,
            waiting,
            spent,
            tally,
            batches,
            stdout: FollowedFile::open(&directory.join(STDOUT))?,
            stderr: FollowedFile::open(&directory.join(STDERR))?,
            lines: LineBuffer::with_limit(request.max_line),
            times: LineTimes::open(directory, started)?,
            document: Vec::new(),
            completion: StreamCompletion::new(request, directory, started),
            call_watch: CallWatch::new(request, violations),
            rest,
            is_skipping: false,
            skipped: SkippedLines::default(),
            is_cut: false,
        })
    }

    /// Translates until there is nothing more to come. A slow reader of the batches slows only this down.
    pub(super) async fn follow_files(
        mut self,
        mut grown: watch::Receiver<FileSizes>,
    ) -> io::Result<()> {
        loop {
            let now = *grown.borrow_and_update();
            self.is_cut |= now.is_cut;
            self.read_stdout(now.stdout).await?;
            self.read_stderr(now.stderr).await?;
            if now.is_over {
                break;
            }
            if grown.changed().await.is_err() {
                break;
            }
        }
        self.finish_output().await;
        Ok(())
    }

    async fn read_stdout(&mut self, until: u64) -> io::Result<()> {
        while self.stdout.offset < until {
            let left = until - self.stdout.offset;
            if self.is_skipping || self.rest.is_over(|| left) {
                return self.skip_stdout(until);
            }
            let mut batch = EventBatch::default();
            let count = match self.request.dialect.speech {
                OutputKind::Stream => {
                    let room = self.lines.room();
                    let count = self.stdout.read(room, until)?;
                    let lines = memchr::memchr_iter(b'\n', &room[..count]).count();
                    batch.events.reserve(lines.min(count / SHORT_LINE));
                    count
                }
                OutputKind::Document => {
                    let start = self.document.len();
                    self.document.resize(start + CHUNK, 0);
                    let count = self.stdout.read(&mut self.document[start..], until)?;
                    self.document.truncate(start + count);
                    count
                }
            };
            if count == 0 {
                break; // another program has truncated the file
            }
            if self.request.with_bytes {
                batch.stdout = self.stdout.again(count)?;
            }
            if self.request.dialect.speech == OutputKind::Stream {
                self.lines.filled(count);
                self.translate_lines(&mut batch.events).await;
            }
            self.send_batch(batch).await;
        }
        Ok(())
    }

    /// Counts the lines that are not translated any more, a line that has begun included.
    fn skip_stdout(&mut self, until: u64) -> io::Result<()> {
        let (mut lines, mut bytes) = (0, 0);
        if !std::mem::replace(&mut self.is_skipping, true) {
            lines += memchr::memchr_iter(b'\n', &self.document).count() as u64;
            bytes += self.stdout.offset - self.lines.taken();
        }
        let mut last = b'\n';
        let mut piece = vec![0; CHUNK];
        while let count @ 1.. = self.stdout.read(&mut piece, until)? {
            lines += memchr::memchr_iter(b'\n', &piece[..count]).count() as u64;
            bytes += count as u64;
            last = piece[count - 1];
        }
        self.lines = LineBuffer::midway(self.request.max_line);
        self.skipped
            .add_skipped(lines + u64::from(last != b'\n'), bytes);
        Ok(())
    }

    async fn translate_lines(&mut self, events: &mut Vec<Event>) {
        while let Some(end) = self.lines.next_end() {
            let at = self.times.of_byte(end);
            let Some(line) = self.lines.next_line() else {
                break;
            };
            if let (Some(completion), RawLine::Whole(line)) = (&mut self.completion, line) {
                let was_known = completion.session_id().is_some();
                for entry in completion.entries_before_line(line).await {
                    self.made.session_log(&entry);
                }
                if let (false, Some(session)) = (was_known, completion.session_id())
                    && let Some(safekeeping) = &self.request.safekeeping
                {
                    safekeeping.claim_new(session);
                }
            }
            let before = events.len();
            self.made.push(FromAgent, line, at, events);
            let watch = self.call_watch.as_mut();
            let remarks = watch.map(|watch| watch.note_events(&events[before..]));
            for remark in remarks.into_iter().flatten() {
                let kind = DiagnosticKind::PermissionViolation;
                self.made.insert_diagnostic(kind, remark, events);
            }
        }
    }

    async fn read_stderr(&mut self, until: u64) -> io::Result<()> {
        while self.request.with_bytes && self.stderr.offset < until {
            let left = until - self.stderr.offset;
            if self.rest.is_over(|| left) {
                self.stderr.offset = until;
                self.skipped.add_skipped(0, left);
                break;
            }
            let mut bytes = vec![0; CHUNK];
            let count = self.stderr.read(&mut bytes, until)?;
            if count == 0 {
                break;
            }
            bytes.truncate(count);
            let batch = EventBatch {
                stderr: bytes,
                ..EventBatch::default()
            };
            self.send_batch(batch).await;
        }
        Ok(())
    }

    /// The last line may lack its end, and a document is read when it is whole.
    async fn finish_output(&mut self) {
        let mut batch = EventBatch::default();
        if self.is_cut {
            self.made
                .insert_diagnostic(DiagnosticKind::Notice, CUT.to_owned(), &mut batch.events);
        }
        if !self.skipped.is_empty() {
            batch.skipped = self.skipped;
            let (kind, message) = (DiagnosticKind::Notice, self.skipped.to_string());
            self.made
                .insert_diagnostic(kind, message, &mut batch.events);
        }
        if self.is_skipping {
            return self.send_batch(batch).await; // the beginning of a line is none, nor is that of a document
        }
        match self.request.dialect.speech {
            OutputKind::Stream => {
                if let Some(line) = self.lines.last_line() {
                    let at = self.times.of_last();
                    self.made.push(FromAgent, line, at, &mut batch.events);
                }
            }
            OutputKind::Document => {
                let stderr = || self.stderr.tail(DOCUMENT_TAIL);
                self.made
                    .translate_document(&self.document, stderr, &mut batch.events);
            }
        }
        self.send_batch(batch).await;
    }

    /// A failed send is ignored: without a reader, the run is being ended anyway.
    async fn send_batch(&mut self, mut batch: EventBatch) {
        self.waiting.note_events(&batch.events);
        self.spent.note_events(&batch.events);
        self.tally.note_events(&batch.events);
        self.made.publish_position();
        if !batch.is_empty() {
            self.made.remove_unwanted(&mut batch.events);
            if !batch.is_empty() {
                let _ = self.batches.send(batch).await;
            }
            // Lets the overseer of the attempt run, which is in the same task.
            tokio::task::yield_now().await;
        }
    }
}

/// The end of the agent's stderr.
pub(crate) fn stderr_tail(directory: &Path) -> String {
    let tail = FollowedFile::open(&directory.join(STDERR)).map(|stderr| stderr.tail(TAIL));
    String::from_utf8_lossy(&tail.unwrap_or_default()).into_owned()
}

/// The end of the agent's stderr, but only bytes behind this length.
pub(crate) fn stderr_tail_from(directory: &Path, from: u64) -> String {
    let Ok(stderr) = FollowedFile::open(&directory.join(STDERR)) else {
        return String::new();
    };
    let length = directory.join(STDERR).metadata().map_or(0, |it| it.len());
    let tail = stderr.tail(TAIL.min(length.saturating_sub(from)));
    String::from_utf8_lossy(&tail).into_owned()
}

#[cfg(test)]
mod tests;
