//! The source of an exported session: a file of Gemini CLI, or the events of another provider.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::normalize::event_lines::{EventLine, EventReader};
use lapidary::render::Renderer;
use lapidary::render::html::HtmlRenderer;
use lapidary::render::markdown::MarkdownRenderer;
use lapidary::render::outline::Outline;
use lapidary::sessions::OtherSession;
use lapidary::vocab::{Event, line};
use lapidary::wire::lines::RawLine;

use super::super::super::prices::TranscriptPrices;
use super::super::common::unsupported;
use super::ExportFormat;
use crate::failure::Failure;

/// The source of a session.
#[derive(Debug)]
pub(super) enum ExportSource<'o> {
    /// A file in Gemini CLI's format.
    File(PathBuf),
    /// A session of another provider.
    Other(OtherSession<'o>),
}

impl ExportSource<'_> {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Other(session) => &session.listed.path,
        }
    }

    /// The bytes to redact and write: the file, or the events, one a line.
    pub(super) fn read(&self, to: ExportFormat) -> Result<Vec<u8>, Failure> {
        match self {
            Self::File(path) => read(path),
            Self::Other(session) => {
                if matches!(to, ExportFormat::Json | ExportFormat::Session) {
                    let records = session.capabilities().records;
                    records.check(session.listed).map_err(unsupported)?;
                }
                event_lines(session)
            }
        }
    }
}

fn event_lines(session: &OtherSession<'_>) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    let mut written = Ok(());
    let replayed = session.replay(&mut |event| {
        if written.is_ok() {
            written = line::write_event(&mut lines, &event);
        }
    });
    replayed.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    written?;
    Ok(lines)
}

/// Events of another provider as a transcript. Read twice: the head of a transcript has facts that only its end tells.
pub(super) fn transcript(
    lines: &[u8],
    to: ExportFormat,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let prices = TranscriptPrices::default();
    let mut outline = Outline::default();
    each_event(lines, |event| {
        outline.event(&prices.priced(event));
        Ok(())
    })?;
    let mut renderer: Box<dyn Renderer> = match to {
        ExportFormat::Html => Box::new(HtmlRenderer::knowing(outline)),
        ExportFormat::Markdown | ExportFormat::Json | ExportFormat::Session => {
            Box::new(MarkdownRenderer::knowing(outline))
        }
    };
    each_event(lines, |event| renderer.event(&prices.priced(event), out))?;
    Ok(renderer.finish(out)?)
}

fn each_event(lines: &[u8], mut take: impl FnMut(&Event) -> io::Result<()>) -> io::Result<()> {
    let mut reader = EventReader::default();
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some(EventLine::Event(event)) = reader.push(RawLine::Whole(line)) {
            take(&event)?;
        }
    }
    Ok(())
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    if !is_file && path.exists() {
        return Err(Failure::bad_input(anyhow!(
            "`{}` is not a file",
            path.display()
        )));
    }
    fs::read(path)
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::bad_input)
}
