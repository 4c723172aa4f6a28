//! The output of a run: a live view for people, lines for programs, the agent's own bytes.

use std::io::{LineWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::run::EventBatch;
use lapidary::render::live::{LiveOptions, TerminalSize};

use super::super::super::sink::{EventSink, OutputFormat};
use super::super::RunExtras;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::live::{LiveView, terminal};
use crate::printer::Printer;
use crate::terminal_filter::TerminalFilter;

pub(super) enum OutputMode {
    Live(Box<LiveOutput>),
    Printed(Box<EventSink>),
    /// Nothing is shown as the run goes on.
    Quiet,
    /// One filter for all of it: a piece may end amid a character.
    Raw(TerminalFilter<Box<dyn Write + Send>>),
}

/// A live view, and the terminal that it is drawn on.
pub(super) struct LiveOutput {
    invocation: Arc<Invocation>,
    view: LiveView<LineWriter<Box<dyn Write + Send>>>,
    size: TerminalSize,
}

impl LiveOutput {
    fn new(out: &Printer) -> Self {
        let options = LiveOptions {
            size: terminal::terminal_size(&out.invocation),
            colour: out.colour,
            marks: terminal::locale_marks(&out.invocation),
        };
        Self {
            view: LiveView::new(LineWriter::new(out.invocation.stdout_writer()), options),
            invocation: out.invocation.clone(),
            size: options.size,
        }
    }

    fn show_elapsed(&mut self, elapsed: Duration) -> Result<(), Failure> {
        let now = terminal::terminal_size(&self.invocation);
        if now != self.size {
            self.size = now;
            self.view.resize(now)?;
        }
        self.view.show_elapsed(elapsed)?;
        Ok(())
    }
}

impl OutputMode {
    /// A live view wants a terminal that can move its cursor, and nothing else that writes to it.
    pub(super) fn new(format: OutputFormat, args: &RunExtras, id: &str, out: &Printer) -> Self {
        let is_dumb = out.invocation.is_terminal_dumb();
        match format {
            _ if args.quiet => Self::Quiet,
            OutputFormat::Raw => {
                let stdout = out.invocation.stdout_writer();
                Self::Raw(TerminalFilter::new(stdout, out.is_terminal))
            }
            OutputFormat::Text if out.is_terminal && !is_dumb && !args.verbose => {
                Self::Live(Box::new(LiveOutput::new(out)))
            }
            _ => Self::Printed(Box::new(EventSink::new(format, id, args.extract_data, out))),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live(..))
    }

    pub(super) fn take_batch(
        &mut self,
        mut batch: EventBatch,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        match self {
            Self::Live(live) => {
                for event in &batch.events {
                    live.view.show_event(event)?;
                }
                return Ok(());
            }
            Self::Printed(sink) => sink.take_events(&mut batch.events, out)?,
            Self::Quiet => {}
            Self::Raw(stdout) => {
                stdout.write_all(&batch.stdout)?;
                stdout.flush()?;
            }
        }
        out.flush()?;
        Ok(())
    }

    pub(super) fn show_elapsed(&mut self, elapsed: Duration) -> Result<(), Failure> {
        match self {
            Self::Live(live) => live.show_elapsed(elapsed),
            Self::Printed(_) | Self::Quiet | Self::Raw(_) => Ok(()),
        }
    }

    pub(super) fn show_cancelling(&mut self) -> Result<(), Failure> {
        if let Self::Live(live) = self {
            live.view.show_cancelling()?;
        }
        Ok(())
    }

    /// Leaves the terminal to a question.
    pub(super) fn suspend(&mut self) -> Result<(), Failure> {
        if let Self::Live(live) = self {
            live.view.suspend()?;
        }
        Ok(())
    }

    /// The question is answered.
    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        if let Self::Live(live) = self {
            live.view.resume()?;
        }
        Ok(())
    }

    pub(super) fn finish(self, out: &mut Printer) -> Result<(), Failure> {
        match self {
            Self::Live(mut live) => live.view.finish()?,
            Self::Printed(sink) => {
                sink.finish(out)?;
            }
            Self::Raw(mut stdout) => stdout.finish()?,
            Self::Quiet => {}
        }
        out.flush()?;
        Ok(())
    }
}
