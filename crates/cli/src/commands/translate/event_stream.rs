//! Our own events, read back: every view of them, and as events the same bytes again.

use std::io::Write as _;

use anyhow::anyhow;
use lapidary::normalize::event_lines::{EventLine, EventReader};
use lapidary::vocab::{Body, Event};
use lapidary::wire::lines::RawLine;

use super::input::TranslateInput;
use super::{Args, DeltasArg, EventSink, OutputFormat, TRANSLATED};
use crate::failure::Failure;
use crate::printer::Printer;

/// A stream of events, while it is being read.
struct EventStream<'a> {
    args: &'a Args,
    format: OutputFormat,
    reader: EventReader,
    /// Lines before the first event. Their ids wait for it: it tells the id of the run.
    before: Vec<Event>,
    /// Made for the first event.
    sink: Option<EventSink>,
}

/// Line by line: the views of a line are printed before more input is waited for.
pub(super) fn translate_events(
    args: &Args,
    format: OutputFormat,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_other_chunks(args)?;
    if args.exit_code.is_some() {
        out.print_note("the events say how the run ended: --exit-code judges nothing here")?;
    }
    let mut stream = EventStream {
        args,
        format,
        reader: EventReader::default(),
        before: Vec::new(),
        sink: None,
    };
    let mut lines = input.line_buffer(args.max_line);
    loop {
        while let Some(line) = lines.next_line() {
            stream.take_line(line, out)?;
        }
        out.flush()?;
        let count = input.read_bytes(lines.room())?;
        if count == 0 {
            break;
        }
        lines.filled(count);
    }
    if let Some(line) = lines.last_line() {
        stream.take_line(line, out)?;
    }
    stream.finish(out)
}

/// Chunks that were printed cannot be joined here without making other events of them.
fn refuse_other_chunks(args: &Args) -> Result<(), Failure> {
    if args.deltas == DeltasArg::Only {
        return Ok(());
    }
    let error = anyhow!("--deltas cannot change events that were printed before");
    Err(Failure::usage(error).with_hint("pass it to the command that prints them first"))
}

impl EventStream<'_> {
    fn take_line(&mut self, line: RawLine<'_>, out: &mut Printer) -> Result<(), Failure> {
        let Some(read) = self.reader.push(line) else {
            return Ok(());
        };
        if self.sink.is_none() && self.reader.run().is_some() {
            self.open(out)?;
        }
        match (&mut self.sink, read, line) {
            (Some(sink), EventLine::Event(event), RawLine::Whole(bytes)) if !self.args.no_raw => {
                sink.take_as_written(&event, bytes, out)
            }
            (Some(sink), EventLine::Event(event), _) => {
                sink.take_events(&mut vec![without_raw(event)], out)
            }
            (Some(sink), EventLine::NotAnEvent(diagnostic), _) => {
                sink.take_events(&mut vec![diagnostic], out)
            }
            (None, EventLine::Event(event) | EventLine::NotAnEvent(event), _) => {
                self.before.push(event);
                Ok(())
            }
        }
    }

    fn open(&mut self, out: &mut Printer) -> Result<(), Failure> {
        if let Some(schema) = self.reader.other_schema() {
            out.print_note(&format!(
                "these events are `{schema}`: fields and kinds that this version does not know are kept as they are"
            ))?;
        }
        let given = self.args.run_id.as_deref();
        let own = self.reader.run().unwrap_or(TRANSLATED);
        for early in &mut self.before {
            early.base.id = format!("{own}-{}", early.base.seq);
        }
        let run = given.unwrap_or(own);
        let mut sink = EventSink::new(self.format, run, self.args.extract_data, out);
        sink.take_events(&mut self.before, out)?;
        self.sink = Some(sink);
        Ok(())
    }

    fn finish(mut self, out: &mut Printer) -> Result<u64, Failure> {
        if self.sink.is_none() {
            self.open(out)?;
        }
        let is_judged = matches!(self.format, OutputFormat::Result | OutputFormat::Runtime);
        if is_judged && !self.reader.has_run_end() {
            out.print_note("the events have no `run_end`: how the run ended is unknown")?;
        }
        self.sink.map_or(Ok(0), |sink| sink.finish(out))
    }
}

/// Diagnostics keep their raw line.
fn without_raw(mut event: Event) -> Event {
    if !matches!(event.body, Body::Diagnostic(_)) {
        event.base.raw = None;
        event.base.raw_base64 = None;
        event.base.raw_is_text = false;
    }
    event
}
