//! The events of a file, for commands that look at them instead of printing them.

use std::path::Path;

use lapidary::normalize::acp::AcpNormalizer;
use lapidary::normalize::gemini::stream::StreamNormalizer;
use lapidary::normalize::gemini::{output, session_events};
use lapidary::normalize::{Ending, Options};
use lapidary::vocab::Event;
use lapidary::vocab::event::Provider;
use lapidary::wire::detect::Format as Source;
use lapidary::wire::gemini::session::Log;
use lapidary::wire::lines::{DEFAULT_LIMIT, Line};

use super::acp::Reading;
use super::input::Input;
use crate::failure::Failure;

/// Hands on every event of a file, whatever it is: a capture, a session file, a transcript of ACP. `-` is stdin.
pub(crate) fn each_event(path: &Path, mut take: impl FnMut(Event)) -> Result<(), Failure> {
    let mut input = Input::open(Some(path))?;
    let mut options = Options::new("translated");
    options.keep_raw = false;
    let mut events = Vec::new();
    match input.detect(DEFAULT_LIMIT)? {
        Source::StreamJson => {
            let mut normalizer = StreamNormalizer::new(&options);
            each_line(&mut input, |line| {
                normalizer.push(line, None, &mut events);
                events.drain(..).for_each(&mut take);
            })?;
            normalizer.finish(&Ending::default(), &mut events);
        }
        Source::Acp => {
            let mut reading = Reading::new(AcpNormalizer::new(&options, Provider::Acp));
            each_line(&mut input, |line| {
                reading.line(line, None);
                reading.events.drain(..).for_each(&mut take);
            })?;
            reading.normalizer.finish(&Ending::default(), &mut events);
        }
        Source::Json => {
            let bytes = input.read_all()?;
            output::events(&bytes, &options, &Ending::default(), &mut events);
        }
        Source::Session => {
            let bytes = input.read_all()?;
            let log = Log::read(&bytes);
            session_events::events(&log, &options, &mut take);
        }
    }
    events.drain(..).for_each(take);
    Ok(())
}

fn each_line(input: &mut Input, mut take: impl FnMut(Line<'_>)) -> Result<(), Failure> {
    let mut lines = input.lines(DEFAULT_LIMIT);
    loop {
        while let Some(line) = lines.next_line() {
            take(line);
        }
        let count = input.read(lines.room())?;
        if count == 0 {
            break;
        }
        lines.filled(count);
    }
    if let Some(line) = lines.last_line() {
        take(line);
    }
    Ok(())
}
