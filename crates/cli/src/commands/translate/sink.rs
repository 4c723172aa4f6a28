//! Where events go: each format in its own way.

use std::io;

use lapidary::normalize::views::messages::MessageFold;
use lapidary::normalize::views::result::ResultFold;
use lapidary::normalize::views::runtime::RuntimeFold;
use lapidary::render::Renderer;
use lapidary::render::html::HtmlRenderer;
use lapidary::render::markdown::MarkdownRenderer;
use lapidary::render::text::{self, TextRenderer};
use lapidary::vocab::event::{Body, DiagnosticKind, Event};
use lapidary::vocab::line;

use super::{Args, Format};
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints events in one of the formats, and counts what was odd.
pub(super) struct Sink {
    target: Target,
    extract_data: bool,
    oddities: u64,
}

enum Target {
    Events,
    Messages(MessageFold),
    Runtime(Box<RuntimeFold>),
    Result(Box<ResultFold>),
    People(Box<dyn Renderer>),
}

impl Sink {
    pub(super) fn new(format: Format, args: &Args, out: &Printer) -> Self {
        let target = match format {
            Format::Events | Format::Raw => Target::Events,
            Format::Messages => Target::Messages(MessageFold::new(&args.run_id)),
            Format::Runtime => Target::Runtime(Box::new(RuntimeFold::new(&args.run_id))),
            Format::Result => Target::Result(Box::default()),
            Format::Text => Target::People(Box::new(TextRenderer::new(text::Options {
                colour: out.colour,
            }))),
            Format::Markdown => Target::People(Box::new(MarkdownRenderer::default())),
            Format::Html => Target::People(Box::new(HtmlRenderer::default())),
        };
        Self {
            target,
            extract_data: args.extract_data,
            oddities: 0,
        }
    }

    /// Prints events, and empties the list for the next ones.
    pub(super) fn take(
        &mut self,
        events: &mut Vec<Event>,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        for event in events.iter() {
            self.oddities += u64::from(is_odd(event));
            self.event(event, out)?;
        }
        events.clear();
        Ok(())
    }

    fn event(&mut self, event: &Event, out: &mut Printer) -> io::Result<()> {
        match &mut self.target {
            Target::Events => line::write_event(out, event)?,
            Target::Messages(fold) => {
                for message in fold.push(event) {
                    line::write(out, &message)?;
                }
            }
            Target::Runtime(fold) => {
                for event in fold.push(event) {
                    line::write(out, &event)?;
                }
            }
            Target::Result(fold) => fold.push(event),
            Target::People(renderer) => renderer.event(event, out)?,
        }
        Ok(())
    }

    /// Prints what only the end completes. Returns how many lines were malformed or unknown.
    pub(super) fn finish(self, out: &mut Printer) -> Result<u64, Failure> {
        match self.target {
            Target::Events | Target::Runtime(_) => {}
            Target::Messages(mut fold) => {
                for message in fold.finish() {
                    line::write(out, &message)?;
                }
                if fold.skipped() > 0 {
                    let (count, shows) = match fold.skipped() {
                        1 => ("1 event has".to_owned(), "it"),
                        count => (format!("{count} events have"), "them"),
                    };
                    out.note(&format!("{count} no place among messages (warnings, errors, diagnostics); --format events shows {shows}"))?;
                }
            }
            Target::Result(fold) => line::write(out, &fold.finish(self.extract_data))?,
            Target::People(mut renderer) => renderer.finish(out)?,
        }
        Ok(self.oddities)
    }
}

/// True for what `--strict` objects to.
fn is_odd(event: &Event) -> bool {
    match &event.body {
        Body::Diagnostic(diagnostic) => !matches!(
            diagnostic.kind,
            DiagnosticKind::Retry | DiagnosticKind::SessionRecords
        ),
        _ => false,
    }
}
