//! The sinks of events: one for each format.

use std::io::{self, Write as _};

use lapidary::normalize::views::activity::ActivityFold;
use lapidary::normalize::views::messages::MessageFold;
use lapidary::normalize::views::result::ResultFold;
use lapidary::normalize::views::runtime::RuntimeFold;
use lapidary::normalize::{DeltaMode, NormalizeOptions, RecordOrder};
use lapidary::render::Renderer;
use lapidary::render::html::HtmlRenderer;
use lapidary::render::live::{self, RowRenderer};
use lapidary::render::markdown::MarkdownRenderer;
use lapidary::render::outline::Outline;
use lapidary::render::text::{self, TextRenderer};
use lapidary::vocab::event::{Body, DiagnosticKind, Event};
use lapidary::vocab::line;

use super::prices::TranscriptPrices;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::Printer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputFormat {
    /// One event a line: the canonical vocabulary
    Events,
    /// Claude-shaped messages, one a line
    Messages,
    /// Calls, diffs, tokens and the end of each turn, for orchestrators, one a line
    Runtime,
    /// An agent's calls, thoughts and errors, in Gemini CLI's form for sub-agents
    Activity,
    /// One object: outcome, response, files, usage
    Result,
    /// For reading on a terminal
    Text,
    /// A transcript in Markdown
    Markdown,
    /// A transcript as one self-contained page
    Html,
    /// The agent's own bytes, untouched
    Raw,
}

/// The events of text that arrives in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DeltasArg {
    /// Each chunk as it comes
    Only,
    /// Whole texts
    Final,
    /// Each chunk, then the whole text
    Both,
}

/// How events are made for a format.
pub(super) fn normalize_options(
    run: &str,
    format: OutputFormat,
    no_raw: bool,
    deltas: DeltasArg,
) -> NormalizeOptions {
    let mut options = NormalizeOptions::new(run);
    // Messages always carry their originals, and transcripts have no use for them.
    options.keep_raw = match format {
        OutputFormat::Messages => true,
        OutputFormat::Events | OutputFormat::Runtime => !no_raw,
        _ => false,
    };
    if matches!(
        format,
        OutputFormat::Text | OutputFormat::Markdown | OutputFormat::Html
    ) {
        options.record_order = RecordOrder::Reading;
    }
    if format == OutputFormat::Events {
        options.deltas = match deltas {
            DeltasArg::Only => DeltaMode::Only,
            DeltasArg::Final => DeltaMode::Final,
            DeltasArg::Both => DeltaMode::Both,
        };
    }
    options
}

/// Prints events in one of the formats, and counts malformed and unknown lines.
pub(super) struct EventSink {
    target: SinkTarget,
    extract_data: bool,
    prices: TranscriptPrices,
    oddities: u64,
}

enum SinkTarget {
    Events,
    Messages(MessageFold),
    Runtime(Box<RuntimeFold>),
    Activity(ActivityFold),
    Result(Box<ResultFold>),
    People(Box<dyn Renderer>),
}

impl EventSink {
    pub(super) fn new(format: OutputFormat, run: &str, extract_data: bool, out: &Printer) -> Self {
        let target = match format {
            OutputFormat::Events | OutputFormat::Raw => SinkTarget::Events,
            OutputFormat::Messages => SinkTarget::Messages(MessageFold::new(run)),
            OutputFormat::Runtime => SinkTarget::Runtime(Box::new(RuntimeFold::new(run))),
            OutputFormat::Activity => SinkTarget::Activity(ActivityFold::default()),
            OutputFormat::Result => SinkTarget::Result(Box::default()),
            OutputFormat::Text => {
                let options = text::TextOptions { colour: out.colour };
                SinkTarget::People(Box::new(
                    TextRenderer::new(options).with_marks(out.mark_set()),
                ))
            }
            OutputFormat::Markdown => SinkTarget::People(Box::new(MarkdownRenderer::default())),
            OutputFormat::Html => SinkTarget::People(Box::new(HtmlRenderer::default())),
        };
        Self {
            target,
            extract_data,
            prices: TranscriptPrices::new(&out.invocation),
            oddities: 0,
        }
    }

    /// The same for a run or a session that is over.
    pub(super) fn for_reading(
        format: OutputFormat,
        run: &str,
        extract_data: bool,
        out: &Printer,
    ) -> Self {
        let mut sink = Self::new(format, run, extract_data, out);
        if format == OutputFormat::Text {
            sink.target = SinkTarget::People(reading_view(out));
        }
        sink
    }

    /// The same for events that can be read twice: formats that need the whole conversation get its outline first, and hold no
    /// events.
    pub(super) fn with_outline(
        format: OutputFormat,
        outline: impl FnOnce() -> Outline,
        out: &Printer,
    ) -> Option<Self> {
        let renderer: Box<dyn Renderer> = match format {
            OutputFormat::Markdown => Box::new(MarkdownRenderer::knowing(outline())),
            OutputFormat::Html => Box::new(HtmlRenderer::knowing(outline())),
            _ => return None,
        };
        Some(Self {
            target: SinkTarget::People(renderer),
            extract_data: false,
            prices: TranscriptPrices::new(&out.invocation),
            oddities: 0,
        })
    }

    /// Prints events, and empties the list for the next ones.
    pub(super) fn take_events(
        &mut self,
        events: &mut Vec<Event>,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        for event in events.iter() {
            self.oddities += u64::from(is_odd(event));
            self.print_event(event, out)?;
        }
        events.clear();
        Ok(())
    }

    /// Prints an event that was read from a line. As an event it is that line again, byte for byte.
    pub(super) fn take_as_written(
        &mut self,
        event: &Event,
        line: &[u8],
        out: &mut Printer,
    ) -> Result<(), Failure> {
        self.oddities += u64::from(is_odd(event));
        if matches!(self.target, SinkTarget::Events) {
            out.write_all(line)?;
            out.write_all(b"\n")?;
            return Ok(());
        }
        Ok(self.print_event(event, out)?)
    }

    fn print_event(&mut self, event: &Event, out: &mut Printer) -> io::Result<()> {
        match &mut self.target {
            SinkTarget::Events => out.write_line(|line| line::push_event(line, event))?,
            SinkTarget::Messages(fold) => {
                for message in fold.push(event) {
                    line::write_message(out, &message)?;
                }
            }
            SinkTarget::Runtime(fold) => {
                for event in fold.push(event) {
                    out.write_line(|line| line::push_runtime_event(line, &event))?;
                }
            }
            SinkTarget::Activity(fold) => {
                if let Some(activity) = fold.push(event) {
                    line::write(out, &activity)?;
                }
            }
            SinkTarget::Result(fold) => fold.push(event),
            SinkTarget::People(renderer) => {
                renderer.event(&self.prices.priced_event(event), out)?;
            }
        }
        Ok(())
    }

    /// Prints the rest that needs the end of the events. Returns how many lines were malformed or unknown.
    pub(super) fn finish(self, out: &mut Printer) -> Result<u64, Failure> {
        match self.target {
            SinkTarget::Events | SinkTarget::Activity(_) => {}
            SinkTarget::Runtime(fold) => left_out(fold.skipped(), "runtime events", out)?,
            SinkTarget::Messages(mut fold) => {
                for message in fold.finish() {
                    line::write_message(out, &message)?;
                }
                left_out(fold.skipped(), "messages", out)?;
            }
            SinkTarget::Result(fold) => line::write(out, &fold.finish(self.extract_data))?,
            SinkTarget::People(mut renderer) => renderer.finish(out)?,
        }
        Ok(self.oddities)
    }
}

/// The text of a finished run or session, with its times: wrapped for a terminal, and in plain lines for a file or a pipe.
fn reading_view(out: &Printer) -> Box<dyn Renderer> {
    if !out.is_terminal {
        let options = text::TextOptions { colour: out.colour };
        return Box::new(TextRenderer::new(options).with_times());
    }
    Box::new(RowRenderer::new(live::LiveOptions {
        size: terminal::terminal_size(&out.invocation),
        colour: out.colour,
        marks: out.mark_set(),
    }))
}

/// Says how many events a vocabulary has no place for.
fn left_out(skipped: u64, among: &str, out: &mut Printer) -> io::Result<()> {
    let (count, shows) = match skipped {
        0 => return Ok(()),
        1 => ("1 event has".to_owned(), "it"),
        count => (format!("{count} events have"), "them"),
    };
    out.print_note(&format!("{count} no place among {among} (warnings, errors, diagnostics); --format events shows {shows}"))
}

/// True for an event that `--strict` objects to.
fn is_odd(event: &Event) -> bool {
    match &event.body {
        Body::Diagnostic(diagnostic) => !matches!(
            diagnostic.kind,
            DiagnosticKind::Retry
                | DiagnosticKind::Notice
                | DiagnosticKind::PermissionViolation
                | DiagnosticKind::SessionRecords
                | DiagnosticKind::Protocol
        ),
        _ => false,
    }
}
