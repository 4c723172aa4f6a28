//! The events of a file or of a recording, for commands that look at them instead of printing them.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::recording::MANIFEST;
use lapidary::engine::replay::{PastAttempts, PastReading, RecordingReader};
use lapidary::engine::run::{OutputKind, StreamDialect};
use lapidary::normalize::acp::AcpNormalizer;
use lapidary::normalize::event_lines::{EventLine, EventReader};
use lapidary::normalize::gemini::session_events;
use lapidary::normalize::{LineDirection, NormalizeOptions, Normalizer as _, ProcessEnd};
use lapidary::vocab::event::{Provider, TextKind};
use lapidary::vocab::{Body, Event};
use lapidary::wire::gemini::session::ReplayedLog;
use lapidary::wire::lines::{DEFAULT_LIMIT, RawLine};

use super::acp::TranscriptReading;
use super::input::{TranslateInput, display_path};
use super::opencode::OpencodeSession;
use super::recording;
use super::session_lines::{RereadableInput, SessionTranslation};
use super::source::InputSource;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// How to report files that an agent reads and writes through its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileHandling {
    /// They are calls of tools.
    Shown,
    /// They are diagnostics.
    Hidden,
}

/// Passes on every event of a file: a capture, a session file, a transcript of ACP, or events. `-` is stdin, and a directory is a
/// recording. Returns the format. Input of another format is refused, and so is input without any event of a run.
pub(crate) fn each_event(
    path: &Path,
    files: FileHandling,
    invocation: &Arc<Invocation>,
    mut take: impl FnMut(Event),
) -> Result<InputSource, Failure> {
    let mut options = NormalizeOptions::new("translated");
    options.keep_raw = files == FileHandling::Shown;
    options.show_files = files == FileHandling::Shown;
    if path.is_dir() && !RecordingReader::is_in(path) {
        return Err(no_recording(path));
    }
    if let Some(past) = recording::open(path)? {
        let how = PastReading {
            options,
            max_line: DEFAULT_LIMIT,
            exit_code: None,
            attempts: PastAttempts::AllThatFollow,
        };
        return recording::each_event(&past, &how, invocation, &mut |events| {
            events.drain(..).for_each(&mut take);
            Ok(())
        });
    }
    let mut input = TranslateInput::open(Some(path), invocation)?;
    let source = input.recognise_format(DEFAULT_LIMIT)?;
    let source = source.ok_or_else(|| no_recording(path))?;
    let mut happens = source.is_session();
    let input = RecognisedInput {
        input,
        source,
        path,
        invocation,
    };
    input.each_event(&options, &mut |event| {
        happens = happens || is_of_a_run(&event);
        take(event);
    })?;
    if happens {
        Ok(source)
    } else {
        Err(no_recording(path))
    }
}

/// The format of a file, if it has one of those that are known.
pub(crate) fn file_format(
    path: &Path,
    invocation: &Arc<Invocation>,
) -> Result<Option<InputSource>, Failure> {
    TranslateInput::open_file(path, invocation)?.recognise_format(DEFAULT_LIMIT)
}

/// A file whose format is known.
struct RecognisedInput<'p> {
    input: TranslateInput,
    source: InputSource,
    path: &'p Path,
    invocation: &'p Arc<Invocation>,
}

impl RecognisedInput<'_> {
    fn each_event(
        self,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), Failure> {
        let Self {
            mut input,
            source,
            path,
            invocation,
        } = self;
        match source {
            InputSource::Written(dialect) => written_events(dialect, &mut input, options, take)?,
            InputSource::Acp => acp_events(&mut input, options, take)?,
            InputSource::Events => {
                let mut reader = EventReader::default();
                each_line(&mut input, |line| match reader.push(line) {
                    Some(EventLine::Event(event) | EventLine::NotAnEvent(event)) => take(event),
                    None => {}
                })?;
            }
            InputSource::Session => {
                let bytes = input.read_all()?;
                session_events::events(&ReplayedLog::read(&bytes), options, take);
            }
            InputSource::OpencodeSession => {
                let session = OpencodeSession::new(Some(path), input, invocation)?;
                session.each_event(options, take)?;
            }
            InputSource::ClaudeSession | InputSource::CodexSession | InputSource::QwenSession => {
                let input = RereadableInput::new(Some(path), input, invocation)?;
                let session = SessionTranslation::new(input, source, DEFAULT_LIMIT)?;
                session.each_event(options, &mut |event| {
                    take(event);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// The events of what a headless agent wrote.
fn written_events(
    dialect: &StreamDialect,
    input: &mut TranslateInput,
    options: &NormalizeOptions,
    take: &mut dyn FnMut(Event),
) -> Result<(), Failure> {
    let mut events = Vec::new();
    let mut normalizer = dialect.normalizer(options);
    let mut push = |line: RawLine<'_>, events: &mut Vec<_>| {
        normalizer.push_line(LineDirection::FromAgent, line, None, events);
    };
    match dialect.speech {
        OutputKind::Stream => each_line(input, |line| {
            push(line, &mut events);
            events.drain(..).for_each(&mut *take);
        })?,
        OutputKind::Document => push(RawLine::Whole(&input.read_all()?), &mut events),
    }
    normalizer.finish(&ProcessEnd::default(), &mut events);
    events.drain(..).for_each(take);
    Ok(())
}

/// The events of a transcript of ACP.
fn acp_events(
    input: &mut TranslateInput,
    options: &NormalizeOptions,
    take: &mut dyn FnMut(Event),
) -> Result<(), Failure> {
    let mut events = Vec::new();
    let mut reading = TranscriptReading::new(AcpNormalizer::new(options, Provider::Acp));
    each_line(input, |line| {
        reading.take_line(line, None);
        reading.events.drain(..).for_each(&mut *take);
    })?;
    reading
        .normalizer
        .finish(&ProcessEnd::default(), &mut events);
    events.drain(..).for_each(take);
    Ok(())
}

/// Many programs log objects with a `type`, or an `error`.
fn is_of_a_run(event: &Event) -> bool {
    match &event.body {
        Body::SessionInit(_) => event.base.session_id.is_some(),
        Body::Text(text) => text.kind == TextKind::Text,
        Body::UserInput(_)
        | Body::StreamDelta(_)
        | Body::ToolInvocation(_)
        | Body::ToolCompletion(_)
        | Body::PermissionRequest(_) => true,
        _ => false,
    }
}

fn no_recording(path: &Path) -> Failure {
    let error = anyhow!("`{}` is not a recording of a run", display_path(path));
    Failure::bad_input(error).with_hint(format!(
        "a recording is a directory with a `{MANIFEST}`, which `lapidary run` and `record` make; a file is one if it holds what `gemini -o stream-json` or `-o json` printed, a session, a transcript of ACP, or events of `lapidary`"
    ))
}

fn each_line(input: &mut TranslateInput, mut take: impl FnMut(RawLine<'_>)) -> Result<(), Failure> {
    let mut lines = input.line_buffer(DEFAULT_LIMIT);
    loop {
        while let Some(line) = lines.next_line() {
            take(line);
        }
        let count = input.read_bytes(lines.room())?;
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
