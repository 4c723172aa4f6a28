//! A recorded run without its secrets.
//!
//! The run is written as events first, which are redacted, and every view is made of these. The events have whole texts and no `raw`:
//! agents send their answers in chunks, and a secret that is split between two chunks is found in neither.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary::normalize::event_lines::{EventLine, EventReader};
use lapidary::sessions::redact::{RedactionReport, Redactor, SessionOwner};
use lapidary::vocab::line;
use lapidary::wire::lines::RawLine;
use tempfile::NamedTempFile;

use super::super::super::sessions::export::redacted;
use super::super::super::sink::OutputFormat;
use super::super::super::translate;
use super::super::common::id_of;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// The events of a run without its secrets, in a temporary file.
pub(super) struct RedactedRun {
    id: String,
    events: NamedTempFile,
    pub(super) report: RedactionReport,
}

impl RedactedRun {
    pub(super) fn new(
        recording: &Path,
        home: Option<PathBuf>,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        let id = id_of(recording);
        let events = events_of(recording, &id, invocation)?;
        let redactor = Redactor::new(&SessionOwner { home });
        let (events, report) =
            redacted::redacted_session(events, Some(&redactor), &invocation.temp_dir())?;
        let file = NamedTempFile::new_in(invocation.temp_dir())?;
        fs::write(file.path(), events)?;
        Ok(Self {
            id,
            events: file,
            report: report.unwrap_or_default(),
        })
    }

    pub(super) fn print_redacted(
        &self,
        to: OutputFormat,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        let view = translate::Args::of_events(self.events.path(), &self.id, to);
        translate::run(&view, out).map(drop)
    }
}

/// The run as events with whole texts, without the agent's raw lines: diagnostics would keep them, even as Base64.
fn events_of(recording: &Path, id: &str, invocation: &Arc<Invocation>) -> Result<Vec<u8>, Failure> {
    let mut file = tempfile::tempfile_in(invocation.temp_dir())?;
    let mut printer = Printer::into_file(file.try_clone()?, invocation.clone());
    let view = translate::Args::of_whole_texts(recording, id);
    translate::run(&view, &mut printer)?;
    printer.close()?;
    file.rewind()?;
    let mut lines = Vec::new();
    file.read_to_end(&mut lines)?;
    Ok(without_raw(&lines))
}

fn without_raw(lines: &[u8]) -> Vec<u8> {
    let mut reader = EventReader::default();
    let mut kept = Vec::with_capacity(lines.len());
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some(EventLine::Event(mut event)) = reader.push(RawLine::Whole(line)) {
            event.base.raw = None;
            event.base.raw_base64 = None;
            event.base.raw_is_text = false;
            line::push_event(&mut kept, &event);
        }
    }
    kept
}
