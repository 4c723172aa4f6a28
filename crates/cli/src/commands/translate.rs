//! `translate`: an agent's output in our vocabularies.

mod acp;
mod event_stream;
mod events;
mod input;
mod opencode;
mod progress;
mod recording;
mod session_lines;
mod source;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use lapidary::engine::run::{
    CLAUDE_STREAM, CODEX_EXEC, GEMINI_DOCUMENT, GEMINI_STREAM, OutputKind, StreamDialect,
};
use lapidary::normalize::gemini::{session_events, session_messages};
use lapidary::normalize::{LineDirection, NormalizeOptions, ProcessEnd};
use lapidary::render::outline::Outline;
use lapidary::sessions::SubagentFiles;
use lapidary::vocab::line;
use lapidary::wire::gemini::session::{MessageRecord, ReplayedLog};
use lapidary::wire::lines::RawLine;

use super::prices::TranscriptPrices;
use super::runs::common::run_or_path;
use super::sink::{self, DeltasArg, EventSink, OutputFormat};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
pub(super) use events::{FileHandling, each_event, file_format};
use input::TranslateInput;
use opencode::OpencodeSession;
pub(super) use source::InputSource;

/// Translate a capture, recording, session or stream into events, messages and more
///
/// Reads the output of `gemini -o stream-json`, `gemini -o json`, `claude -p --output-format stream-json` or `codex exec --json`, a session file of Gemini CLI, Claude Code, Codex CLI, Qwen Code or opencode, a transcript of the Agent Client
/// Protocol, or events that `lapidary` printed; which of them is decided by content. Reads the directory of a recording as well: both sides, when they spoke, and
/// how the run ended. Nothing is dropped: a line that is not understood becomes a diagnostic that carries it. Output streams as input
/// arrives.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gemini -o stream-json -p 'fix the tests' | lapidary translate
  claude -p --output-format stream-json --verbose 'fix the tests' | lapidary translate
  gemini -o stream-json -p 'fix the tests' > run.jsonl
  lapidary translate --format result --exit-code $? run.jsonl
  lapidary translate --format messages session.jsonl | jq .content
  lapidary translate --format html session.jsonl > session.html
  lapidary translate --format text recordings/fix-the-tests
  lapidary translate --format html events.jsonl > run.html

Exits with 0 once translated, also if the run failed; 3 with --strict if anything was malformed or unknown; 13 if \
the input cannot be read or is of no known format.")]
pub(crate) struct Args {
    /// The file, the directory of a recording or the id of a run to read; `-` or nothing for stdin
    file: Option<PathBuf>,
    /// The kind of the input
    #[arg(long, value_enum, default_value_t = TranslateFrom::Auto)]
    from: TranslateFrom,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    /// Leave out the agent's own lines (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long)]
    no_raw: bool,
    /// The events of text that arrives in chunks
    #[arg(long, value_enum, default_value_t = DeltasArg::Only)]
    deltas: DeltasArg,
    /// The run's id, from which event ids are made [default: that of the recording or of the events, else `translated`]
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    run_id: Option<String>,
    /// The exit code of the agent (`agentExitCode`), so that `run_end` and `result` can judge [default: from the recording]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,
    /// With --format result: put JSON found in the response into `data`
    #[arg(long)]
    extract_data: bool,
    /// Show files that an ACP agent reads and writes through its client as calls of tools
    #[arg(long)]
    show_files: bool,
    /// Exit with 3 if a line was malformed or unknown; everything is still printed
    #[arg(long)]
    strict: bool,
    /// The longest line that is kept whole [default: 64 MiB]
    #[arg(long, value_name = "BYTES", default_value_t = lapidary::wire::lines::DEFAULT_LIMIT, hide_default_value = true)]
    max_line: usize,
    /// Set by `show`: a terminal gets rows that fit it, as the live view draws them.
    #[arg(skip)]
    is_for_reading: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TranslateFrom {
    /// Decide by content
    Auto,
    /// The same, and a file of no known format is a damaged session file of Gemini CLI. For `sessions show`.
    #[value(skip)]
    AutoSession,
    /// `gemini -o stream-json`
    StreamJson,
    /// `gemini -o json`: its stdout, or its stderr after a failure
    Json,
    /// A session file of Gemini CLI, of any version
    Session,
    /// `claude -p --output-format stream-json`
    ClaudeStream,
    /// `codex exec --json`
    CodexExec,
    /// A session file of Claude Code
    Claude,
    /// A session file of Codex CLI
    Codex,
    /// A session file of Qwen Code, of any version
    Qwen,
    /// A session of opencode: its database or file, or what `opencode export` printed
    Opencode,
    /// The Agent Client Protocol: a transcript of both sides, or an agent's stdout
    Acp,
    /// Events that `lapidary` printed (`lapidary.events/1`)
    Events,
}

/// The run's id where none is given.
const TRANSLATED: &str = "translated";

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let format = args.format.unwrap_or(if out.is_terminal {
        OutputFormat::Text
    } else {
        OutputFormat::Events
    });
    refuse_what_makes_no_sense(args, format)?;
    let named = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let file = match named {
        Some(named) => run_or_path(named, None, &out.invocation)?.or(args.file.clone()),
        None => None,
    };
    if let Some(past) = file.as_deref().map_or(Ok(None), recording::open)? {
        let oddities = recording::translate_recording(args, format, &past, out)?;
        return Ok(strict_exit(args, oddities));
    }
    let mut input = TranslateInput::open(file.as_deref(), &out.invocation)?;
    let source = match args.from {
        TranslateFrom::AutoSession => {
            let format = input.recognise_format(args.max_line)?;
            format.unwrap_or(InputSource::Session)
        }
        TranslateFrom::Auto => input.detect_format(args.max_line)?,
        TranslateFrom::StreamJson => InputSource::Written(&GEMINI_STREAM),
        TranslateFrom::Json => InputSource::Written(&GEMINI_DOCUMENT),
        TranslateFrom::ClaudeStream => InputSource::Written(&CLAUDE_STREAM),
        TranslateFrom::CodexExec => InputSource::Written(&CODEX_EXEC),
        TranslateFrom::Session => InputSource::Session,
        TranslateFrom::Claude => InputSource::ClaudeSession,
        TranslateFrom::Codex => InputSource::CodexSession,
        TranslateFrom::Qwen => InputSource::QwenSession,
        TranslateFrom::Opencode => InputSource::OpencodeSession,
        TranslateFrom::Acp => InputSource::Acp,
        TranslateFrom::Events => InputSource::Events,
    };
    if format == OutputFormat::Raw {
        input.copy_to(out)?;
        return Ok(CommandExit::Success);
    }
    let oddities = match source {
        InputSource::Written(dialect) => translate_stream(args, format, dialect, input, out)?,
        InputSource::Session => translate_session(args, format, input, out)?,
        InputSource::ClaudeSession | InputSource::CodexSession | InputSource::QwenSession => {
            let source = (source, file.as_deref());
            session_lines::translate_session_lines(args, format, source, input, out)?
        }
        InputSource::OpencodeSession => {
            let session = OpencodeSession::new(file.as_deref(), input, &out.invocation)?;
            opencode::translate_opencode(args, format, &session, out)?
        }
        InputSource::Acp => acp::translate_acp(args, format, input, out)?,
        InputSource::Events => event_stream::translate_events(args, format, input, out)?,
    };
    Ok(strict_exit(args, oddities))
}

fn strict_exit(args: &Args, oddities: u64) -> CommandExit {
    if args.strict && oddities > 0 {
        CommandExit::Strict
    } else {
        CommandExit::Success
    }
}

/// Refuses options that would do nothing, because a user might rely on them.
fn refuse_what_makes_no_sense(args: &Args, format: OutputFormat) -> Result<(), Failure> {
    let refused = if format == OutputFormat::Raw && args.strict {
        "--strict cannot judge what --format raw only copies"
    } else if args.extract_data && format != OutputFormat::Result {
        "--extract-data goes with --format result"
    } else if args.max_line == 0 {
        "--max-line must be at least 1"
    } else {
        return Ok(());
    };
    Err(Failure::usage(anyhow::anyhow!(refused)))
}

impl Args {
    /// The options for a session file that `sessions` has found.
    pub(super) fn of_session(path: &Path, format: Option<OutputFormat>, no_raw: bool) -> Self {
        Self {
            file: Some(path.to_owned()),
            from: TranslateFrom::Session,
            format,
            no_raw,
            deltas: DeltasArg::Only,
            run_id: None,
            exit_code: None,
            extract_data: false,
            show_files: false,
            strict: false,
            max_line: lapidary::wire::lines::DEFAULT_LIMIT,
            is_for_reading: true,
        }
    }

    /// For a file that the user named as a session, of any agent.
    pub(super) fn of_named_session(
        path: &Path,
        format: Option<OutputFormat>,
        no_raw: bool,
    ) -> Self {
        Self {
            from: TranslateFrom::AutoSession,
            ..Self::of_session(path, format, no_raw)
        }
    }

    /// For a session file of another agent, whose format its content tells.
    pub(super) fn of_other_session(
        path: &Path,
        format: Option<OutputFormat>,
        no_raw: bool,
    ) -> Self {
        Self {
            from: TranslateFrom::Auto,
            ..Self::of_session(path, format, no_raw)
        }
    }

    /// For the recording of a run.
    pub(super) fn of_recording(
        path: &Path,
        id: &str,
        format: Option<OutputFormat>,
        no_raw: bool,
    ) -> Self {
        Self {
            from: TranslateFrom::Auto,
            run_id: Some(id.to_owned()),
            ..Self::of_session(path, format, no_raw)
        }
    }

    /// For the recording of a run, as events with whole texts and without `raw`.
    pub(super) fn of_whole_texts(path: &Path, id: &str) -> Self {
        Self {
            deltas: DeltasArg::Final,
            ..Self::of_recording(path, id, Some(OutputFormat::Events), true)
        }
    }

    /// For a file of events.
    pub(super) fn of_events(path: &Path, id: &str, format: OutputFormat) -> Self {
        Self {
            from: TranslateFrom::Events,
            ..Self::of_recording(path, id, Some(format), false)
        }
    }

    fn event_sink(&self, format: OutputFormat, out: &Printer) -> EventSink {
        let sink = if self.is_for_reading {
            EventSink::for_reading
        } else {
            EventSink::new
        };
        sink(format, self.run_id(), self.extract_data, out)
    }

    /// With this id, unless the user gave one.
    fn with_run_id(&self, id: &str) -> Self {
        let mut args = self.clone();
        args.run_id.get_or_insert_with(|| id.to_owned());
        args
    }

    fn run_id(&self) -> &str {
        self.run_id.as_deref().unwrap_or(TRANSLATED)
    }

    fn normalize_options(&self, format: OutputFormat) -> NormalizeOptions {
        let options = sink::normalize_options(self.run_id(), format, self.no_raw, self.deltas);
        NormalizeOptions {
            show_files: self.show_files,
            ..options
        }
    }

    fn process_end(&self) -> ProcessEnd {
        ProcessEnd {
            exit_code: self.exit_code,
            ..ProcessEnd::default()
        }
    }
}

/// The output of a headless agent.
fn translate_stream(
    args: &Args,
    format: OutputFormat,
    dialect: &StreamDialect,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    let mut normalizer = dialect.normalizer(&args.normalize_options(format));
    let mut sink = args.event_sink(format, out);
    let mut events = Vec::new();
    let mut push = |line: RawLine<'_>, received: Option<&str>, events: &mut Vec<_>| {
        normalizer.push_line(LineDirection::FromAgent, line, received, events);
    };
    match dialect.speech {
        OutputKind::Document => push(RawLine::Whole(&input.read_all()?), None, &mut events),
        OutputKind::Stream => {
            // Line by line: events are printed before the next line is waited for.
            let mut lines = input.line_buffer(args.max_line);
            // The bytes that were read to detect the format arrived just now.
            let mut received = input.arrival_time();
            loop {
                while let Some(line) = lines.next_line() {
                    push(line, received.as_deref(), &mut events);
                    sink.take_events(&mut events, out)?;
                }
                out.flush()?;
                let count = input.read_bytes(lines.room())?;
                if count == 0 {
                    break;
                }
                lines.filled(count);
                received = input.arrival_time();
            }
            if let Some(line) = lines.last_line() {
                push(line, received.as_deref(), &mut events);
            }
        }
    }
    normalizer.finish(&args.process_end(), &mut events);
    sink.take_events(&mut events, out)?;
    sink.finish(out)
}

fn translate_session(
    args: &Args,
    format: OutputFormat,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_outcome_views(args, format, out)?;
    let bytes = input.read_all()?;
    let log = ReplayedLog::read(&bytes);
    if log.is_empty() {
        return Err(Failure::bad_input(anyhow::anyhow!(
            "`{}` holds no record of a session",
            input.input_name()
        )));
    }
    let subagents = subagents_of(args, &log);
    let left_out = log.skipped.unreadable + log.skipped.unknown;
    let mut oddities = left_out;
    if format == OutputFormat::Messages {
        for record in log.messages() {
            oddities += MessageRecord::from_token(record).flaws().len() as u64;
            line::write_message(out, &session_messages::message(record))?;
        }
        if left_out > 0 {
            out.print_note(&format!("records that could not be read: {left_out}"))?;
        }
    } else {
        let outline = || {
            let mut outline = Outline::default();
            let prices = TranscriptPrices::new(&out.invocation);
            let options = args.normalize_options(format);
            session_events::events_with_subagents(&log, &options, &subagents, |event| {
                outline.event(&prices.priced_event(&event));
            });
            outline
        };
        let mut sink = EventSink::with_outline(format, outline, out)
            .unwrap_or_else(|| args.event_sink(format, out));
        let mut written = Ok(());
        let options = args.normalize_options(format);
        session_events::events_with_subagents(&log, &options, &subagents, |event| {
            if written.is_ok() {
                written = sink.take_events(&mut vec![event], out);
            }
        });
        written?;
        oddities += sink.finish(out)?;
    }
    Ok(oddities)
}

/// Refuses views of a run, which a session file does not have. An exit code would judge nothing.
fn refuse_outcome_views(
    args: &Args,
    format: OutputFormat,
    out: &mut Printer,
) -> Result<(), Failure> {
    if matches!(format, OutputFormat::Runtime | OutputFormat::Result) {
        let error = anyhow::anyhow!(
            "a session file has no outcome: `runtime` and `result` are views of a run"
        );
        return Err(Failure::bad_input(error).with_hint(
            "translate what `gemini -o stream-json` printed, or choose another format",
        ));
    }
    if args.exit_code.is_some() {
        out.print_note("a session file has no outcome: --exit-code judges nothing here")?;
    }
    Ok(())
}

/// The files of a session's sub-agents, which lie beside its own.
fn subagents_of(args: &Args, log: &ReplayedLog<'_>) -> SubagentFiles {
    let id = || Some(log.get("sessionId")?.string()?.into_owned());
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    SubagentFiles::beside(file, &id().unwrap_or_default())
}
