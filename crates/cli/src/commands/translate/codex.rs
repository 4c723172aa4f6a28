//! A session file of Codex CLI, line by line: such files reach gigabytes.

use lapidary::normalize::codex::rollout::RolloutNormalizer;

use super::super::sink::OutputFormat;
use super::input::TranslateInput;
use super::{Args, refuse_outcome_views};
use crate::failure::Failure;
use crate::printer::Printer;

pub(super) fn translate_codex(
    args: &Args,
    format: OutputFormat,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_outcome_views(args, format, out)?;
    let mut normalizer = RolloutNormalizer::new(&args.normalize_options(format));
    let mut sink = args.event_sink(format, out);
    let mut events = Vec::new();
    let mut lines = input.line_buffer(args.max_line);
    loop {
        while let Some(line) = lines.next_line() {
            normalizer.push(line, &mut events);
            sink.take_events(&mut events, out)?;
        }
        let count = input.read_bytes(lines.room())?;
        if count == 0 {
            break;
        }
        lines.filled(count);
    }
    if let Some(line) = lines.last_line() {
        normalizer.push(line, &mut events);
    }
    normalizer.finish(&mut events);
    sink.take_events(&mut events, out)?;
    sink.finish(out)
}
