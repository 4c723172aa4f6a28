//! A recording: the lines of both sides with their times, and the end of the run. Its events are those of the original run,
//! except for the diagnostics that Lapidary added beside violations.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::recording::{MANIFEST, STDOUT, TIMING};
use lapidary::engine::replay::{
    PastAttempts, PastFormat, PastReading, RecordingReader, ReplayError,
};
use lapidary::vocab::recording::RecordedConfinement;
use lapidary::vocab::{Body, Event};

use super::input::{TranslateInput, display_path};
use super::progress::ReadProgress;
use super::{Args, InputSource, OutputFormat, TranslateFrom};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// How many writable directories are listed.
const MOST_PLACES: usize = 4;

/// Takes events as they come.
type EventTaker<'a> = dyn FnMut(&mut Vec<Event>) -> Result<(), Failure> + 'a;

/// The recording of that name. None if it is a file, or not there.
pub(super) fn open(path: &Path) -> Result<Option<RecordingReader>, Failure> {
    if !path.is_dir() {
        return Ok(None);
    }
    if !RecordingReader::is_in(path) {
        if path.join(TIMING).is_file() {
            return Err(unfinished_failure(path));
        }
        let failure = Failure::bad_input(anyhow!("`{}` is a directory", display_path(path)));
        return Err(failure.with_hint("name a file in it"));
    }
    let opened = RecordingReader::open(path).map_err(|error| damaged_failure(path, error))?;
    Ok(Some(opened))
}

/// A recording without a manifest. It has the agent's output at most.
fn unfinished_failure(path: &Path) -> Failure {
    let (name, stdout) = (display_path(path), display_path(&path.join(STDOUT)));
    let error =
        anyhow!("the recording `{name}` has no `{MANIFEST}`: the run ended before it began");
    Failure::bad_input(error).with_hint(format!(
        "what the agent wrote, if anything, is in `{stdout}`"
    ))
}

/// The failure of a damaged recording, with a hint.
fn damaged_failure(path: &Path, error: ReplayError) -> Failure {
    let is_torn = matches!(
        &error,
        ReplayError::Timing { .. } | ReplayError::Short { .. }
    );
    let failure = Failure::bad_input(error);
    if !is_torn {
        return failure;
    }
    let stdout = display_path(&path.join("stdout"));
    failure.with_hint(format!(
        "the output of the agent is in `{stdout}`: translate that file"
    ))
}

pub(super) fn translate_recording(
    args: &Args,
    format: OutputFormat,
    past: &RecordingReader,
    out: &mut Printer,
) -> Result<u64, Failure> {
    if args.from != TranslateFrom::Auto {
        let error = anyhow!("--from applies to a file: a recording names its own format");
        return Err(Failure::usage(error));
    }
    if format == OutputFormat::Raw {
        TranslateInput::open_file(&past.stdout(), &out.invocation)?.copy_to(out)?;
        return Ok(0);
    }
    let is_running = past.is_running();
    if let Some(sentence) = incomplete_caution(args, past, is_running) {
        out.print_note(&sentence)?;
    }
    if let (OutputFormat::Text, Some(confinement)) = (format, &past.manifest().confinement) {
        out.print_note(&confinement_note(confinement))?;
    }
    let args = &args.with_run_id(&past.manifest().run);
    let how = PastReading {
        options: past.options(args.normalize_options(format)),
        max_line: args.max_line,
        exit_code: args.exit_code,
        attempts: PastAttempts::AllThatFollow,
    };
    let mut sink = args.event_sink(format, out);
    let invocation = out.invocation.clone();
    each_event(past, &how, &invocation, &mut |events| {
        // A run that is still recorded has no `run_end` yet, even if its last line looks like one.
        events.retain(|event| !(is_running && matches!(event.body, Body::RunEnd(_))));
        sink.take_events(events, out)
    })?;
    sink.finish(out)
}

/// The directories that the kernel let the agent write to, in a sentence.
fn confinement_note(confinement: &RecordedConfinement) -> String {
    let places = confinement.write.iter().take(MOST_PLACES);
    let places: Vec<_> = places.map(|place| format!("`{place}`")).collect();
    let rest = match confinement.write.len().saturating_sub(MOST_PLACES) {
        0 => String::new(),
        rest => format!(" and {rest} more places (`confinement` in `{MANIFEST}`)"),
    };
    format!(
        "confined to `{}`: the agent could write {}{rest}",
        confinement.mode,
        places.join(", ")
    )
}

/// The reason why the events may be incomplete.
fn incomplete_caution(args: &Args, past: &RecordingReader, is_running: bool) -> Option<String> {
    if is_running {
        return Some("the run is going on: this is what was said so far".to_owned());
    }
    if let Some(schema) = past.newer_schema() {
        return Some(format!(
            "a newer version recorded this (`{schema}`): what this version understands is shown"
        ));
    }
    let is_judged = past.manifest().end.is_some() || args.exit_code.is_some();
    let unfinished = "the recording does not say how the agent ended: only what was said is judged";
    (!is_judged).then(|| unfinished.to_owned())
}

/// Hands on every event of a recording.
pub(super) fn each_event(
    past: &RecordingReader,
    how: &PastReading,
    invocation: &Arc<Invocation>,
    take: &mut EventTaker<'_>,
) -> Result<InputSource, Failure> {
    let source = recorded_source(past, how, invocation)?;
    let format = match source {
        InputSource::Acp => PastFormat::Acp,
        InputSource::Written(dialect) => PastFormat::Written(dialect),
        InputSource::Session
        | InputSource::ClaudeSession
        | InputSource::CodexSession
        | InputSource::QwenSession
        | InputSource::OpencodeSession
        | InputSource::Events => return Err(unknown_format_failure(past)),
    };
    let mut progress = ReadProgress::new(Some(past.size()), invocation);
    let mut shown = 0;
    past.each_event(format, how, &mut |events, read| {
        take(events)?;
        if read > shown {
            progress.advance(usize::try_from(read - shown).unwrap_or(usize::MAX));
            shown = read;
        }
        Ok::<(), Failure>(())
    })?;
    Ok(source)
}

/// The format of the recorded agent's output.
fn recorded_source(
    past: &RecordingReader,
    how: &PastReading,
    invocation: &Arc<Invocation>,
) -> Result<InputSource, Failure> {
    match past.format() {
        Some(PastFormat::Acp) => Ok(InputSource::Acp),
        Some(PastFormat::Written(dialect)) => Ok(InputSource::Written(dialect)),
        None => {
            match TranslateInput::open_file(&past.stdout(), invocation)?
                .detect_format(how.max_line)?
            {
                InputSource::Acp => Err(unknown_format_failure(past)), // one side of it
                source => Ok(source),
            }
        }
    }
}

/// The failure of a recorded program whose output is no known format.
fn unknown_format_failure(past: &RecordingReader) -> Failure {
    let stdout = display_path(&past.stdout());
    let error = anyhow!("the recorded program spoke nothing that Lapidary knows");
    Failure::bad_input(error).with_hint(format!(
        "translate the output of the agent instead: `{stdout}`"
    ))
}
