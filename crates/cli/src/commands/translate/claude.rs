//! A session file of Claude Code. The work of its sub-agents comes from files beside it.

use std::path::Path;

use anyhow::anyhow;
use lapidary::normalize::claude::session_events;
use lapidary::render::outline::Outline;
use lapidary::sessions::ClaudeSubagentFiles;
use lapidary::vocab::Event;
use lapidary::wire::claude::session::ClaudeLog;

use super::super::prices::TranscriptPrices;
use super::super::sink::{EventSink, OutputFormat};
use super::input::TranslateInput;
use super::{Args, refuse_outcome_views};
use crate::failure::Failure;
use crate::printer::Printer;

pub(super) fn translate_claude(
    args: &Args,
    format: OutputFormat,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_outcome_views(args, format, out)?;
    let bytes = input.read_all()?;
    let log = ClaudeLog::read(&bytes);
    if log.is_empty() {
        let error = anyhow!("`{}` holds no record of a session", input.input_name());
        return Err(Failure::bad_input(error));
    }
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let subagents = ClaudeSubagentFiles::beside(file);
    let options = args.normalize_options(format);
    let each = |take: &mut dyn FnMut(Event)| {
        session_events::events_with_subagents(&log, &options, &subagents, take);
    };
    let outline = || {
        let mut outline = Outline::default();
        let prices = TranscriptPrices::new(&out.invocation);
        each(&mut |event| outline.event(&prices.priced_event(&event)));
        outline
    };
    let mut sink = EventSink::with_outline(format, outline, out)
        .unwrap_or_else(|| args.event_sink(format, out));
    let mut written = Ok(());
    each(&mut |event| {
        if written.is_ok() {
            written = sink.take_events(&mut vec![event], out);
        }
    });
    written?;
    sink.finish(out)
}
