//! The events of a file or of a recording, for commands that look at them instead of printing them.

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
use super::recording::{self, How};
use crate::failure::Failure;

/// What becomes of files that an agent reads and writes through its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// They are calls of tools.
    Shown,
    /// They are diagnostics.
    Hidden,
}

/// Hands on every event of a file, whatever it is: a capture, a session file, a transcript of ACP. `-` is stdin, and a directory is a
/// recording. Returns which of them it was.
pub(crate) fn each_event(
    path: &Path,
    files: Files,
    mut take: impl FnMut(Event),
) -> Result<Source, Failure> {
    let mut options = Options::new("translated");
    options.keep_raw = false;
    options.show_files = files == Files::Shown;
    if let Some(past) = recording::open(path)? {
        let how = How {
            options,
            max_line: DEFAULT_LIMIT,
            exit_code: None,
        };
        return recording::each_event(&past, &how, &mut |events| {
            events.drain(..).for_each(&mut take);
            Ok(())
        });
    }
    let mut input = Input::open(Some(path))?;
    let mut events = Vec::new();
    let source = input.detect(DEFAULT_LIMIT)?;
    match source {
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
    Ok(source)
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
