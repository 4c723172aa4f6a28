//! The end of a run whose process was killed: judged from the recording, and written into it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Body, Event, Text};
use lapidary_wire::lines::DEFAULT_LIMIT;

use super::{PastAttempts, PastReading, RecordingReader};
use crate::recording::{INSERTED, InsertedWriter, RecordedEnd, TimingReader, describe, is_running};
use crate::replay::ReplayError;
use crate::run::recorded_events::{ReadLimit, ReadStep};

/// The longest prompt in a manifest, in characters.
const LONGEST_PROMPT: usize = 200;

/// Writes the `run_end` of a run that was cut off with the process that led it. True if the run has its end now, or never began; false
/// if it goes on, or cannot be written.
pub fn finish_cut_run(directory: &Path) -> bool {
    if !RecordingReader::is_in(directory) {
        return true;
    }
    if is_running(directory) {
        return false;
    }
    // Opened after the look at its lock: a run writes its end before it gives the lock up.
    let Ok(reader) = RecordingReader::open(directory) else {
        return true; // no recording of ours
    };
    reader.manifest.end.is_some() || reader.write_missing_end().is_ok()
}

/// The end of a cut run, and its place.
struct CutEnd {
    /// So many lines come before it.
    after: u64,
    event: Event,
    end: RecordedEnd,
}

impl RecordingReader {
    fn write_missing_end(&self) -> io::Result<()> {
        let cut = self.read_cut_end().map_err(io::Error::other)?;
        complete_last_line(&self.directory.join(INSERTED))?;
        let mut inserted = InsertedWriter::default();
        inserted.attach(&self.directory)?;
        inserted.append(cut.after, &cut.event)?;
        let mut manifest = self.manifest.clone();
        manifest.end = Some(cut.end);
        describe(&self.directory, &manifest)
    }

    /// Reads the run up to where it was cut off, and judges it.
    fn read_cut_end(&self) -> Result<CutEnd, ReplayError> {
        let reading = PastReading {
            options: self.options(NormalizeOptions::new(&self.manifest.run)),
            max_line: DEFAULT_LIMIT,
            exit_code: None,
            attempts: PastAttempts::One,
        };
        let format = self.format().unwrap_or(super::PastFormat::Acp);
        let mut normalizer = format.new_normalizer(&reading.options, self.provider());
        let mut recorded = self.recorded_events(format, reading.max_line)?;
        let mut end = RecordedEnd {
            duration_ms: self.recorded_ms(),
            ..RecordedEnd::default()
        };
        let mut events = Vec::new();
        loop {
            let step = recorded.next(ReadLimit::NONE, &mut *normalizer, &mut events)?;
            events
                .drain(..)
                .for_each(|event| note_facts(&mut end, &event));
            if matches!(step, ReadStep::Nothing) {
                break;
            }
        }
        let after = recorded.lines_read();
        while let Some(event) = recorded.take_rest()? {
            normalizer.insert_again(event, &mut events);
        }
        self.judge_missing_end(&reading, &mut *normalizer, &mut events);
        let event = events.pop().ok_or_else(|| {
            let source = io::ErrorKind::InvalidData.into();
            crate::recording::ReadLineError {
                path: self.directory.clone(),
                source,
            }
        })?;
        if let Body::RunEnd(judged) = &event.body {
            note_end(&mut end, judged);
        }
        Ok(CutEnd { after, event, end })
    }

    /// How long the run had lasted at the last recorded moment.
    fn recorded_ms(&self) -> u64 {
        let mut last = Duration::ZERO;
        if let Ok(mut timing) = TimingReader::open(&self.directory) {
            while let Ok(Some(moment)) = timing.next_moment() {
                last = moment.at;
            }
        }
        last.as_millis().try_into().unwrap_or_default()
    }
}

/// A process that was killed while it wrote leaves half a line: it must not swallow the next one.
fn complete_last_line(path: &Path) -> io::Result<()> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    if text.last().is_none_or(|last| *last == b'\n') {
        return Ok(());
    }
    fs::OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(b"\n")
}

fn note_facts(end: &mut RecordedEnd, event: &Event) {
    let session = event.base.session_id.as_ref().map(Text::to_string);
    end.session_id = end.session_id.take().or(session);
    if let (None, Body::UserInput(input)) = (&end.prompt, &event.body) {
        let text = input.text.to_string();
        end.prompt = Some(text.chars().take(LONGEST_PROMPT).collect());
    }
}

fn note_end(end: &mut RecordedEnd, judged: &RunEnd) {
    end.exit_code = Some(judged.exit_code.into());
    end.outcome = Some(judged.outcome.clone());
    end.cause = Some(judged.cause.clone());
    end.message = judged.message.as_ref().map(Text::to_string);
    end.hint.clone_from(&judged.hint);
}
