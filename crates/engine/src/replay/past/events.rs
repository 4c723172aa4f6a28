//! The events of a recording: all events of the run, including the ones that Lapidary inserted.

use lapidary_normalize::{NormalizeOptions, Normalizer, ProcessEnd};
use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Body, Event};

use super::RecordingReader;
use crate::recording::{LineReading, MANIFEST};
use crate::replay::ReplayError;
use crate::run::recorded_events::{ReadLimit, ReadStep, RecordedEvents};
use crate::run::{OutputKind, StreamDialect};

pub use crate::run::recorded_events::PastFormat;

/// How a recording is read.
#[derive(Debug, Clone)]
pub struct PastReading {
    /// Options for the events.
    pub options: NormalizeOptions,
    /// Only the beginning of a longer line is kept.
    pub max_line: usize,
    /// The agent's exit code, if the user knows better than the recording.
    pub exit_code: Option<i32>,
    /// Which attempts are read.
    pub attempts: PastAttempts,
}

/// Which attempts of a run are read. Each has a recording of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastAttempts {
    /// The attempt of this recording.
    One,
    /// The attempts that followed it, too: the whole run, if it is the first.
    AllThatFollow,
}

/// Takes events as they come, with the number of bytes that were read so far.
type TakeEvents<'a, E> = dyn FnMut(&mut Vec<Event>, u64) -> Result<(), E> + 'a;

impl RecordingReader {
    /// The protocol, if the manifest or the first line of the client names it.
    pub fn format(&self) -> Option<PastFormat> {
        let dialect = StreamDialect::from_name(&self.manifest.transport);
        match dialect.map(|dialect| (dialect, dialect.speech)) {
            _ if self.is_dialogue => Some(PastFormat::Acp),
            Some((dialect, OutputKind::Stream)) => Some(PastFormat::Written(dialect)),
            // The recording has no lines, so only the agent's family matters.
            _ if self.was_refused() => Some(PastFormat::Acp),
            dialect => dialect.map(|(dialect, _)| PastFormat::Written(dialect)),
        }
    }

    /// Options that make of this recording the events that its run had.
    pub fn options(&self, mut options: NormalizeOptions) -> NormalizeOptions {
        options.directory = Some(self.manifest.directory.as_str().into());
        options.on_denied = self.on_denied();
        options.is_planning = self.is_planning();
        options
    }

    /// Passes on every event, in order, the run's end last.
    pub fn each_event<E: From<ReplayError>>(
        &self,
        format: PastFormat,
        reading: &PastReading,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        let mut normalizer = format.new_normalizer(&reading.options, self.provider());
        let mut next = self.each_of_attempt(format, reading, &mut *normalizer, take)?;
        while let Some(attempt) = next {
            next = attempt.each_of_attempt(format, reading, &mut *normalizer, take)?;
        }
        Ok(())
    }

    /// Passes on the events of one attempt. Returns the next attempt.
    fn each_of_attempt<E: From<ReplayError>>(
        &self,
        format: PastFormat,
        reading: &PastReading,
        normalizer: &mut dyn Normalizer,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<Option<Self>, E> {
        let mut recorded = self.recorded_events(format, reading.max_line)?;
        normalizer.may_restart(self.manifest.may_retry);
        let mut events = Vec::new();
        let (mut end, mut next) = (None, None);
        loop {
            let step = recorded.next(ReadLimit::NONE, normalizer, &mut events);
            match step.map_err(ReplayError::from)? {
                ReadStep::Read => {}
                ReadStep::End(event) => end = Some(*event),
                ReadStep::Restart => next = self.next_attempt(reading),
                ReadStep::Nothing => break,
            }
            take(&mut events, recorded.bytes_read())?;
        }
        while let Some(event) = recorded.take_rest().map_err(ReplayError::from)? {
            match event.body {
                // Written after a kill, behind events whose lines were lost.
                Body::RunEnd(_) => end = Some(event),
                _ => normalizer.insert_again(event, &mut events),
            }
        }
        if next.is_some() {
            return Ok(next);
        }
        match end.filter(|_| reading.exit_code.is_none()) {
            Some(end) => normalizer.insert_again(end, &mut events),
            None => self.judge_missing_end(reading, normalizer, &mut events),
        }
        take(&mut events, self.size)?;
        Ok(None)
    }

    pub(super) fn recorded_events(
        &self,
        format: PastFormat,
        limit: usize,
    ) -> Result<RecordedEvents, ReplayError> {
        let reading = self.line_reading(limit);
        let mut recorded = RecordedEvents::open(&self.directory, format, reading)?;
        recorded.mark_complete();
        Ok(recorded)
    }

    pub(super) fn line_reading(&self, limit: usize) -> LineReading {
        LineReading {
            is_dialogue: self.is_dialogue,
            limit,
            started: self.started,
        }
    }

    /// The attempt that followed, if it is wanted and there.
    fn next_attempt(&self, reading: &PastReading) -> Option<Self> {
        if reading.attempts == PastAttempts::One {
            return None;
        }
        let run = self.manifest.run.as_str();
        let name = self.directory.file_name()?.to_str()?;
        let number = match name.strip_prefix(run)? {
            "" => 1,
            behind => behind.strip_prefix('.')?.parse::<u32>().ok()?,
        };
        let next = self
            .directory
            .with_file_name(format!("{run}.{}", number.checked_add(1)?));
        let is_there = next.join(MANIFEST).is_file();
        is_there.then(|| Self::open(&next).ok())?
    }

    /// Ends a recording that has no `run_end`: one of an early build, of another program, or of a run that was killed.
    pub(super) fn judge_missing_end(
        &self,
        reading: &PastReading,
        normalizer: &mut dyn Normalizer,
        events: &mut Vec<Event>,
    ) {
        let ending = self.read_ending(reading, |ending| normalizer.judge(ending));
        let end = normalizer.judge(&ending);
        normalizer.end(end, ending.at.as_deref(), events);
    }

    /// How it ended: as recorded, unless the reading sets another end.
    fn read_ending(
        &self,
        reading: &PastReading,
        judge: impl FnOnce(&ProcessEnd) -> RunEnd,
    ) -> ProcessEnd {
        let recorded = self.ending(judge);
        match reading.exit_code {
            None => recorded,
            Some(_) => ProcessEnd {
                exit_code: reading.exit_code,
                signal: None,
                stopped: None,
                ..recorded
            },
        }
    }
}
