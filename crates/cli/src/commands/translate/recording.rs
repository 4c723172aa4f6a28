//! A recording: what both sides said and when, and how the run ended. Its events are those that the run had when it was made, but for
//! what we remarked ourselves beside violations.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::anyhow;
use lapidary::drive::recording::{MANIFEST, STDOUT, TIMING};
use lapidary::drive::replay::{Past, PastViolations, ReplayError, Side};
use lapidary::normalize::acp::{AcpNormalizer, Direction};
use lapidary::normalize::gemini::output::Noise;
use lapidary::normalize::gemini::stream::StreamNormalizer;
use lapidary::normalize::{Ending, Options};
use lapidary::vocab::event::{DiagnosticKind, RunEnd};
use lapidary::vocab::recording::RecordedConfinement;
use lapidary::vocab::{Body, Event};

use super::input::{Input, shown};
use super::progress::Progress;
use super::{Args, Format, From, Source};
use crate::failure::Failure;
use crate::printer::Printer;

/// An error document is looked for in this much of the end of stderr.
const DOCUMENT_TAIL: u64 = 1024 * 1024;

/// What tells of a violation.
const VIOLATION: DiagnosticKind = DiagnosticKind::PermissionViolation;

/// So many places that could be written are named.
const MOST_PLACES: usize = 4;

/// How it is read.
pub(super) struct How {
    pub(super) options: Options,
    pub(super) max_line: usize,
    /// What the user says the agent exited with. The user knows better.
    pub(super) exit_code: Option<i32>,
}

/// Takes events as they come.
type Take<'a> = dyn FnMut(&mut Vec<Event>) -> Result<(), Failure> + 'a;

/// The recording of that name. None if it is a file, or not there.
pub(super) fn open(path: &Path) -> Result<Option<Past>, Failure> {
    if !path.is_dir() {
        return Ok(None);
    }
    if !Past::is_in(path) {
        if path.join(TIMING).is_file() {
            return Err(unfinished(path));
        }
        let failure = Failure::bad_input(anyhow!("`{}` is a directory", shown(path)));
        return Err(failure.with_hint("name a file in it"));
    }
    let opened = Past::open(path).map_err(|error| failed(path, error))?;
    Ok(Some(opened))
}

/// A recording that has nothing but what the agent wrote, if that.
fn unfinished(path: &Path) -> Failure {
    let (name, stdout) = (shown(path), shown(&path.join(STDOUT)));
    let error =
        anyhow!("the recording `{name}` has no `{MANIFEST}`: the run ended before it began");
    Failure::bad_input(error).with_hint(format!(
        "what the agent wrote, if anything, is in `{stdout}`"
    ))
}

/// What there is to be done about a recording that is not in order.
fn failed(path: &Path, error: ReplayError) -> Failure {
    let is_torn = matches!(
        &error,
        ReplayError::Timing { .. } | ReplayError::Short { .. }
    );
    let failure = Failure::bad_input(error);
    if !is_torn {
        return failure;
    }
    let stdout = shown(&path.join("stdout"));
    failure.with_hint(format!(
        "the output of the agent is in `{stdout}`: translate that file"
    ))
}

pub(super) fn translate(
    args: &Args,
    format: Format,
    past: &Past,
    out: &mut Printer,
) -> Result<u64, Failure> {
    if args.from != From::Auto {
        let error = anyhow!("--from applies to a file: a recording names its own format");
        return Err(Failure::usage(error));
    }
    if format == Format::Raw {
        Input::file(&past.stdout())?.copy_to(out)?;
        return Ok(0);
    }
    let is_running = past.is_running();
    if let Some(sentence) = caution(args, past, is_running) {
        out.note(&sentence)?;
    }
    if let (Format::Text, Some(confinement)) = (format, &past.manifest().confinement) {
        out.note(&told_confinement(confinement))?;
    }
    let mut options = args.options(format);
    options.directory = Some(past.manifest().directory.as_str().into());
    options.on_denied = past.on_denied();
    options.is_planning = past.is_planning();
    let how = How {
        options,
        max_line: args.max_line,
        exit_code: args.exit_code,
    };
    let mut sink = args.sink(format, out);
    each_event(past, &how, &mut |events| {
        // A run that is still recorded has no `run_end` yet, even if its last line looks like one.
        events.retain(|event| !(is_running && matches!(event.body, Body::RunEnd(_))));
        sink.take(events, out)
    })?;
    sink.finish(out)
}

/// What the kernel let the agent write, in a sentence.
fn told_confinement(confinement: &RecordedConfinement) -> String {
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

/// Why what follows may not be all.
fn caution(args: &Args, past: &Past, is_running: bool) -> Option<String> {
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
pub(super) fn each_event(past: &Past, how: &How, take: &mut Take<'_>) -> Result<Source, Failure> {
    let source = source(past, how)?;
    match source {
        Source::Acp => dialogue(past, how, take),
        Source::StreamJson => stream(past, how, take),
        Source::Json => document(past, how, take),
        Source::Session | Source::Events => Err(unspoken(past)),
    }?;
    Ok(source)
}

/// What the recorded agent spoke.
fn source(past: &Past, how: &How) -> Result<Source, Failure> {
    if past.is_dialogue() {
        return Ok(Source::Acp);
    }
    match past.manifest().transport.as_str() {
        "stream-json" => Ok(Source::StreamJson),
        _ if past.was_refused() => Ok(Source::Acp), // nothing was said, so the agent's family is all that matters
        "json" => Ok(Source::Json),
        _ => match Input::file(&past.stdout())?.detect(how.max_line)? {
            Source::Acp => Err(unspoken(past)), // one side of it
            source => Ok(source),
        },
    }
}

/// A program that printed what no agent prints as it goes: it was recorded as it is, and can be read as that.
fn unspoken(past: &Past) -> Failure {
    let stdout = shown(&past.stdout());
    let error = anyhow!("the recorded program spoke nothing that Lapidary knows");
    Failure::bad_input(error).with_hint(format!(
        "translate the output of the agent instead: `{stdout}`"
    ))
}

fn dialogue(past: &Past, how: &How, take: &mut Take<'_>) -> Result<(), Failure> {
    let mut normalizer = AcpNormalizer::new(&how.options, past.provider());
    let mut violations = past.violations();
    let logged = past.session_log().map_err(Failure::bad_input)?;
    for entry in logged.lines() {
        normalizer.session_log(entry);
    }
    let mut events = Vec::new();
    each_line(past, how, |side, line, at| {
        let direction = match side {
            Side::Client => Direction::FromClient,
            Side::Agent => Direction::FromAgent,
        };
        normalizer.push(direction, line, at, &mut events);
        for message in violations.behind(&events) {
            normalizer.note(VIOLATION, message, at, &mut events);
        }
        take(&mut events)
    })?;
    let ending = ending(past, how, |ending| normalizer.judge(ending));
    for message in violations.rest() {
        normalizer.note(VIOLATION, message, ending.at.as_deref(), &mut events);
    }
    normalizer.finish(&ending, &mut events);
    take(&mut events)
}

fn stream(past: &Past, how: &How, take: &mut Take<'_>) -> Result<(), Failure> {
    let mut normalizer = StreamNormalizer::new(&how.options);
    let mut violations = past.violations();
    let logged = past.session_log().map_err(Failure::bad_input)?;
    for entry in logged.lines() {
        normalizer.session_log(entry);
    }
    let mut events = Vec::new();
    each_line(past, how, |_, line, at| {
        normalizer.push(line, at, &mut events);
        for message in violations.behind(&events) {
            normalizer.note(VIOLATION, message, at, &mut events);
        }
        take(&mut events)
    })?;
    finish(past, how, (normalizer, violations), events, take)
}

fn document(past: &Past, how: &How, take: &mut Take<'_>) -> Result<(), Failure> {
    let mut normalizer = StreamNormalizer::new(&how.options);
    let mut events = Vec::new();
    let stdout = Input::file(&past.stdout())?.read_all()?;
    normalizer.document(&stdout, Noise::Report, &mut events);
    if !normalizer.has_result() {
        let stderr = tail(&past.stderr());
        normalizer.document(&stderr, Noise::Ignore, &mut events);
    }
    finish(past, how, (normalizer, past.violations()), events, take)
}

fn finish(
    past: &Past,
    how: &How,
    (mut normalizer, violations): (StreamNormalizer, PastViolations),
    mut events: Vec<Event>,
    take: &mut Take<'_>,
) -> Result<(), Failure> {
    let ending = ending(past, how, |ending| normalizer.judge(ending));
    for message in violations.rest() {
        normalizer.note(VIOLATION, message, ending.at.as_deref(), &mut events);
    }
    normalizer.finish(&ending, &mut events);
    take(&mut events)
}

/// How it ended: as recorded, unless the user says otherwise.
fn ending(past: &Past, how: &How, judge: impl FnOnce(&Ending) -> RunEnd) -> Ending {
    let recorded = past.ending(judge);
    match how.exit_code {
        None => recorded,
        Some(_) => Ending {
            exit_code: how.exit_code,
            signal: None,
            stopped: None,
            ..recorded
        },
    }
}

fn each_line(
    past: &Past,
    how: &How,
    mut take: impl FnMut(Side, lapidary::wire::lines::Line<'_>, Option<&str>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = Progress::of(Some(past.size()));
    let mut lines = past.lines(how.max_line).map_err(Failure::bad_input)?;
    let mut read = 0;
    loop {
        let Some(spoken) = lines.next().map_err(Failure::bad_input)? else {
            return Ok(());
        };
        take(spoken.side, spoken.line, spoken.at)?;
        if lines.read() > read {
            progress.advance(usize::try_from(lines.read() - read).unwrap_or(usize::MAX));
            read = lines.read();
        }
    }
}

/// The end of a file. One that cannot be read has nothing to say.
fn tail(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(DOCUMENT_TAIL)))?;
        file.take(DOCUMENT_TAIL).read_to_end(&mut bytes)
    });
    read.map(|_| bytes).unwrap_or_default()
}
