//! Prints a run while it goes on: its output on stdout, permission prompts and the agent's stderr on stderr.

mod output_mode;
mod show_hint;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use lapidary::engine::run::{EventBatch, Run, SkippedLines};
use lapidary::vocab::event::{DiagnosticKind, RunEnd};
use lapidary::vocab::{Body, Cause, Event};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::super::sink::OutputFormat;
use super::RunExtras;
use super::last_message::LastMessage;
use super::terminal_prompter::{NextPrompt, TerminalPrompter};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::terminal_filter::TerminalFilter;
use output_mode::OutputMode;

/// How often a live view is drawn anew.
const FRAME: Duration = Duration::from_millis(125);

/// How a run is shown.
pub(super) struct RunShowing<'a> {
    pub(super) format: OutputFormat,
    pub(super) args: &'a RunExtras,
    pub(super) id: &'a str,
    pub(super) asking: Option<TerminalPrompter>,
    pub(super) last: Option<LastMessage>,
    /// The run is the demo's: it ends with a word on what to do next.
    pub(super) is_demo: bool,
}

/// Prints a run to its end.
pub(super) fn present_run(
    run: Run,
    heard: watch::Receiver<u32>,
    showing: RunShowing<'_>,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let RunShowing { format, args, .. } = showing;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .context("cannot set up a runtime")
        .map_err(Failure::internal)?;
    let invocation = out.invocation.clone();
    let mut presented = PresentedRun {
        face: Some(OutputMode::new(format, args, showing.id, out)),
        format,
        started: Instant::now(),
        end: None,
        recording: None,
        failure: None,
        too_long: 0,
        skipped: None,
        stderr: TerminalFilter::new(invocation.stderr_writer(), invocation.is_stderr_terminal()),
        invocation,
        asking: showing.asking,
        is_asking: false,
        last: showing.last,
        is_demo: showing.is_demo,
    };
    runtime.block_on(presented.follow_run(run, heard, out));
    presented.finish(out)
}

struct PresentedRun {
    invocation: Arc<Invocation>,
    /// None once stdout cannot be written to any more.
    face: Option<OutputMode>,
    format: OutputFormat,
    started: Instant,
    end: Option<RunEnd>,
    /// The directory of the recording.
    recording: Option<PathBuf>,
    /// Why nothing is shown any more, unless its reader has had enough.
    failure: Option<Failure>,
    /// How many lines were too long to be translated whole.
    too_long: usize,
    /// The lines that were not translated, because the run had to end.
    skipped: Option<SkippedLines>,
    /// The agent's stderr, if it is wanted.
    stderr: TerminalFilter<Box<dyn Write + Send>>,
    /// The permission prompts, if there is a terminal to ask on.
    asking: Option<TerminalPrompter>,
    /// A question stands on the terminal.
    is_asking: bool,
    /// The last message, if it is wanted by itself.
    last: Option<LastMessage>,
    is_demo: bool,
}

impl PresentedRun {
    /// Shows everything until the run is over. If that cannot be shown any more, the run is ended, but not left before its end.
    async fn follow_run(
        &mut self,
        mut run: Run,
        mut heard: watch::Receiver<u32>,
        out: &mut Printer,
    ) {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_live = self.face.as_ref().is_some_and(OutputMode::is_live);
        let mut is_listening = is_live;
        loop {
            // All of these are cancel-safe.
            let shown = tokio::select! {
                batch = run.next_batch() => match batch {
                    Some(batch) => self.take_batch(batch, out),
                    None => return,
                },
                _ = frames.tick(), if is_live || self.asking.is_some() => self.show_elapsed(),
                next = next(self.asking.as_mut()) => self.take_prompt(&next),
                changed = heard.changed(), if is_listening => {
                    is_listening = false;
                    changed.map_or(Ok(()), |()| self.show_cancelling())
                }
            };
            if let Err(failure) = shown {
                self.stop_showing(failure);
                run.stopper().cancel();
            }
        }
    }

    fn take_batch(&mut self, batch: EventBatch, out: &mut Printer) -> Result<(), Failure> {
        self.remember_events(&batch.events);
        if let Some(asking) = &mut self.asking {
            asking.note_shown(&batch.events);
        }
        if batch.skipped != SkippedLines::default() {
            self.skipped = Some(batch.skipped);
        }
        // A closed stderr is ignored: there is no other place for these bytes.
        let _ = self.stderr.write_all(&batch.stderr);
        match &mut self.face {
            Some(face) => face.take_batch(batch, out),
            None => Ok(()),
        }
    }

    /// Takes a new question, or an answer. A frame puts a question on the terminal, once the events before it were shown.
    fn take_prompt(&mut self, next: &NextPrompt) -> Result<(), Failure> {
        let (Some(asking), NextPrompt::Typed(line)) = (&mut self.asking, next) else {
            return Ok(());
        };
        if self.is_asking && asking.take_answer(line)? {
            self.go_on()?;
        }
        Ok(())
    }

    fn put_question(&mut self) -> Result<(), Failure> {
        if let (Some(asking), Some(face)) = (&mut self.asking, &mut self.face)
            && !self.is_asking
            && asking.count_frame()
        {
            self.is_asking = true;
            face.suspend()?;
            asking.put_oldest()?;
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        self.is_asking = false;
        match &mut self.face {
            Some(face) => face.resume(),
            None => Ok(()),
        }
    }

    fn show_elapsed(&mut self) -> Result<(), Failure> {
        if self
            .asking
            .as_mut()
            .is_some_and(TerminalPrompter::take_withdrawn)
        {
            self.invocation
                .print_message("\nnote: the question is withdrawn");
            self.go_on()?;
        }
        self.put_question()?;
        let elapsed = self.started.elapsed();
        match &mut self.face {
            Some(face) => face.show_elapsed(elapsed),
            None => Ok(()),
        }
    }

    fn show_cancelling(&mut self) -> Result<(), Failure> {
        match &mut self.face {
            Some(face) => face.show_cancelling(),
            None => Ok(()),
        }
    }

    fn remember_events(&mut self, events: &[Event]) {
        if let Some(last) = &mut self.last {
            last.take_events(events);
        }
        let is_too_long = |event: &&Event| matches!(&event.body, Body::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::LineTooLong);
        self.too_long += events.iter().filter(is_too_long).count();
        if let Some(last) = events.last()
            && let Body::RunEnd(end) = &last.body
        {
            self.end = Some(end.clone());
            self.recording = last.recording().map(PathBuf::from);
        }
    }

    /// A closed pipe only means that its reader needs no more output. Any other error is a fault.
    fn stop_showing(&mut self, failure: Failure) {
        self.face = None;
        if failure.is_closed_pipe() {
            self.invocation.print_message("stdout was closed; stopping");
        }
        self.failure = Some(failure).filter(|failure| !failure.is_closed_pipe());
    }

    fn finish(mut self, out: &mut Printer) -> Result<CommandExit, Failure> {
        let _ = self.stderr.finish();
        if let Some(face) = self.face.take()
            && let Err(failure) = face.finish(out)
        {
            self.stop_showing(failure);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if let Some(last) = self.last {
            last.finish(out)?;
        }
        if self.too_long > 0 {
            let what = "which only a recording has whole";
            out.print_message(&format!(
                "warning: lines over the limit: {}, {what}",
                self.too_long
            ));
        }
        // Text has said so already.
        if let Some(skipped) = self.skipped.filter(|_| self.format != OutputFormat::Text) {
            out.print_message(&format!("warning: {skipped}"));
        }
        let Some(end) = &self.end else {
            return Err(Failure::internal(anyhow!("the run ended without a word")));
        };
        // Text says it itself.
        if self.format != OutputFormat::Text {
            for warning in &end.warnings {
                out.print_message(&format!("warning: {warning}"));
            }
            if end.cause != Cause::EndTurn {
                explain_end(end, &out.invocation);
            }
        }
        if let Some(recording) = &self.recording {
            if self.is_demo && self.format == OutputFormat::Text {
                show_hint::print_demo(recording, &end.cause, &out.invocation);
            } else if out.is_terminal {
                show_hint::print_hint(recording, &out.invocation);
            }
        }
        Ok(CommandExit::from_outcome(&end.cause))
    }
}

async fn next(asking: Option<&mut TerminalPrompter>) -> NextPrompt {
    match asking {
        Some(asking) => asking.next().await,
        None => std::future::pending().await,
    }
}

pub(in crate::commands) fn explain_end(end: &RunEnd, invocation: &Invocation) {
    let message = end.message.as_ref().map(ToString::to_string);
    let message = message.unwrap_or_default();
    invocation.print_message(&format!("error: {message} ({})", end.cause));
    if let Some(hint) = &end.hint {
        invocation.print_message(&format!("hint: {hint}"));
    }
}
