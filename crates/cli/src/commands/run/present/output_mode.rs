//! The output of a run: a live view for people, lines for programs, the agent's own bytes.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use lapidary::engine::run::EventBatch;
use lapidary::render::live::{LiveOptions, TerminalSize};

use super::super::super::sink::{EventSink, OutputFormat};
use super::super::RunExtras;
use crate::failure::Failure;
use crate::live::{LiveView, terminal};
use crate::printer::Printer;
use crate::system;
use crate::terminal_filter::TerminalFilter;

pub(super) enum OutputMode {
    Live(Box<LiveView<Stdout>>, TerminalSize),
    Printed(Box<EventSink>),
    /// Nothing is shown as the run goes on.
    Quiet,
    /// One filter for all of it: a piece may end amid a character.
    Raw(TerminalFilter<Box<dyn Write>>),
}

impl OutputMode {
    /// A live view wants a terminal that can move its cursor, and nothing else that writes to it.
    pub(super) fn new(format: OutputFormat, args: &RunExtras, id: &str, out: &Printer) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match format {
            _ if args.quiet => Self::Quiet,
            OutputFormat::Raw => Self::Raw(TerminalFilter::new(system::stdout(), out.is_terminal)),
            OutputFormat::Text if out.is_terminal && !is_dumb && !args.verbose => {
                let options = LiveOptions {
                    size: terminal::size(),
                    colour: out.colour,
                    marks: terminal::marks(),
                };
                let view = LiveView::new(io::stdout(), options);
                Self::Live(Box::new(view), options.size)
            }
            _ => Self::Printed(Box::new(EventSink::new(format, id, args.extract_data, out))),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live(..))
    }

    pub(super) fn take(&mut self, mut batch: EventBatch, out: &mut Printer) -> Result<(), Failure> {
        match self {
            Self::Live(view, _) => {
                for event in &batch.events {
                    view.event(event)?;
                }
                return Ok(());
            }
            Self::Printed(sink) => sink.take(&mut batch.events, out)?,
            Self::Quiet => {}
            Self::Raw(stdout) => {
                stdout.write_all(&batch.stdout)?;
                stdout.flush()?;
            }
        }
        out.flush()?;
        Ok(())
    }

    pub(super) fn tick(&mut self, elapsed: Duration) -> Result<(), Failure> {
        if let Self::Live(view, size) = self {
            let now = terminal::size();
            if now != *size {
                *size = now;
                view.resize(now)?;
            }
            view.tick(elapsed)?;
        }
        Ok(())
    }

    pub(super) fn cancelling(&mut self) -> Result<(), Failure> {
        if let Self::Live(view, _) = self {
            view.cancelling()?;
        }
        Ok(())
    }

    /// Leaves the terminal to a question.
    pub(super) fn suspend(&mut self) -> Result<(), Failure> {
        if let Self::Live(view, _) = self {
            view.suspend()?;
        }
        Ok(())
    }

    /// The question is answered.
    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        if let Self::Live(view, _) = self {
            view.resume()?;
        }
        Ok(())
    }

    pub(super) fn finish(self, out: &mut Printer) -> Result<(), Failure> {
        match self {
            Self::Live(mut view, _) => view.finish()?,
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
