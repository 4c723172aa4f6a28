//! A session file of another agent, line by line: such files reach gigabytes. One whose end decides about its beginning is read
//! twice, and so is one that becomes a document with an outline.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::normalize::claude::session_events::ClaudeNormalizer;
use lapidary::normalize::codex::rollout::RolloutNormalizer;
use lapidary::normalize::gemini::session_events;
use lapidary::normalize::qwen::session_events::QwenNormalizer;
use lapidary::normalize::{NormalizeOptions, SessionNormalizer, SubagentTranscripts};
use lapidary::render::outline::Outline;
use lapidary::sessions::AgentTranscriptFiles;
use lapidary::vocab::Event;
use lapidary::wire::gemini::session::ReplayedLog;
use lapidary::wire::lines::{LineBuffer, RawLine};

use super::super::prices::TranscriptPrices;
use super::super::sink::{EventSink, OutputFormat};
use super::input::TranslateInput;
use super::source::InputSource;
use super::{Args, refuse_outcome_views};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Input that can be read from its beginning again.
pub(super) enum RereadableInput {
    /// A file, which is opened again.
    File(PathBuf, Arc<Invocation>),
    /// The bytes of a pipe.
    Bytes(Vec<u8>),
}

impl RereadableInput {
    /// The input, as far as it was read already and from there on.
    pub(super) fn new(
        path: Option<&Path>,
        mut input: TranslateInput,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        match path.filter(|path| path.is_file()) {
            Some(path) => Ok(Self::File(path.to_owned(), Arc::clone(invocation))),
            None => Ok(Self::Bytes(input.read_all()?)),
        }
    }

    /// Hands on each line.
    fn each_line(
        &self,
        limit: usize,
        take: &mut dyn FnMut(RawLine<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::File(path, invocation) => {
                TranslateInput::open_file(path, invocation)?.each_line(limit, take)
            }
            Self::Bytes(bytes) => {
                let mut lines = LineBuffer::holding(bytes.clone(), limit);
                while let Some(line) = lines.next_line() {
                    take(line)?;
                }
                lines.last_line().map_or(Ok(()), take)
            }
        }
    }

    fn read_all(&self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::File(path, invocation) => TranslateInput::open_file(path, invocation)?.read_all(),
            Self::Bytes(bytes) => Ok(bytes.clone()),
        }
    }

    /// The first line that is not blank.
    fn reads_document(&self, limit: usize) -> Result<bool, Failure> {
        let mut is_document = None;
        self.each_line(limit, &mut |line| {
            if is_document.is_none() && !line.bytes().trim_ascii().is_empty() {
                let object = line.object();
                is_document = Some(object.is_none_or(|it| it.get("messages").is_some()));
            }
            Ok(())
        })?;
        Ok(is_document == Some(true))
    }
}

/// A session file under translation.
pub(super) struct SessionTranslation {
    input: RereadableInput,
    source: InputSource,
    subagents: AgentTranscriptFiles,
    /// A session of one document, which older versions of Qwen Code wrote.
    document: Option<Vec<u8>>,
    limit: usize,
}

impl SessionTranslation {
    pub(super) fn new(
        input: RereadableInput,
        source: InputSource,
        limit: usize,
    ) -> Result<Self, Failure> {
        let path = match &input {
            RereadableInput::File(path, _) => path.as_path(),
            RereadableInput::Bytes(_) => Path::new(""),
        };
        let is_qwen = source == InputSource::QwenSession;
        let subagents = if is_qwen {
            AgentTranscriptFiles::of_qwen(path)
        } else {
            AgentTranscriptFiles::of_claude(path)
        };
        let is_document = is_qwen && input.reads_document(limit)?;
        let document = is_document.then(|| input.read_all()).transpose()?;
        Ok(Self {
            input,
            source,
            subagents,
            document,
            limit,
        })
    }

    /// Hands on each event.
    pub(super) fn each_event(
        &self,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut taken = Ok(());
        let mut sink = |event: Event| {
            if taken.is_ok() {
                taken = take(event);
            }
        };
        if let Some(bytes) = &self.document {
            session_events::events(&ReplayedLog::read(bytes), options, sink);
            return taken;
        }
        let mut normalizer = self.normalizer(options);
        if normalizer.reads_twice() {
            self.input.each_line(self.limit, &mut |line| {
                normalizer.survey(line);
                Ok(())
            })?;
        }
        self.input.each_line(self.limit, &mut |line| {
            normalizer.push(line, &mut sink);
            Ok(())
        })?;
        normalizer.finish(&mut sink);
        taken
    }

    fn normalizer<'s>(&'s self, options: &NormalizeOptions) -> Box<dyn SessionNormalizer + 's> {
        let subagents: &'s dyn SubagentTranscripts = &self.subagents;
        match self.source {
            InputSource::QwenSession => Box::new(QwenNormalizer::new(options, subagents)),
            InputSource::ClaudeSession => Box::new(ClaudeNormalizer::new(options, subagents)),
            _ => Box::new(RolloutNormalizer::new(options)),
        }
    }
}

/// Translates lines as they arrive.
fn translate_arriving_lines(
    args: &Args,
    format: OutputFormat,
    input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    let mut normalizer = RolloutNormalizer::new(&args.normalize_options(format));
    let mut sink = args.event_sink(format, out);
    let mut events = Vec::new();
    let read = input.each_line(args.max_line, &mut |line| {
        normalizer.push(line, &mut events);
        sink.take_events(&mut events, out)
    });
    // Of a file that is damaged in the middle, the part before is told, too.
    normalizer.finish(&mut events);
    sink.take_events(&mut events, out)?;
    let oddities = sink.finish(out)?;
    read.map(|()| oddities)
}

/// Translates a session file of another agent.
pub(super) fn translate_session_lines(
    args: &Args,
    format: OutputFormat,
    (source, path): (InputSource, Option<&Path>),
    input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_outcome_views(args, format, out)?;
    let is_read_once = source == InputSource::CodexSession;
    if is_read_once && !matches!(format, OutputFormat::Markdown | OutputFormat::Html) {
        return translate_arriving_lines(args, format, input, out);
    }
    let name = input.input_name().to_owned();
    let invocation = Arc::clone(&out.invocation);
    let input = RereadableInput::new(path, input, &invocation)?;
    let session = SessionTranslation::new(input, source, args.max_line)?;
    let options = args.normalize_options(format);
    let mut outlined = Ok(());
    let outline = || {
        let mut outline = Outline::default();
        let prices = TranscriptPrices::new(&out.invocation);
        outlined = session.each_event(&options, &mut |event| {
            outline.event(&prices.priced_event(&event));
            Ok(())
        });
        outline
    };
    let sink = EventSink::with_outline(format, outline, out);
    outlined?;
    let mut sink = sink.unwrap_or_else(|| args.event_sink(format, out));
    let mut has_events = false;
    session.each_event(&options, &mut |event| {
        has_events = true;
        sink.take_events(&mut vec![event], out)
    })?;
    if !has_events {
        let error = anyhow!("`{name}` holds no record of a session");
        return Err(Failure::bad_input(error));
    }
    sink.finish(out)
}
