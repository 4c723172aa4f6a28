//! The source of an exported session: a file of Gemini CLI, a file of another agent, or the events of another provider.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
use super::super::super::translate::{self, FileHandling, InputSource};
use super::super::common::unsupported_failure;
use super::ExportFormat;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// The source of a session.
#[derive(Debug)]
pub(super) enum ExportSource<'o> {
    /// A file in Gemini CLI's format.
    File(PathBuf),
    /// A session file of another agent, which the user named.
    OtherFile(PathBuf),
    /// A session of another provider.
    Other(OtherSession<'o>),
}

impl ExportSource<'_> {
    /// A file that the user named.
    pub(super) fn of_file(path: PathBuf, invocation: &Arc<Invocation>) -> Self {
        if is_of_other_agent(&path, invocation) {
            Self::OtherFile(path)
        } else {
            Self::File(path)
        }
    }

    pub(super) fn source_path(&self) -> &Path {
        match self {
            Self::File(path) | Self::OtherFile(path) => path,
            Self::Other(session) => &session.listed.path,
        }
    }

    /// The bytes to redact and write: the file, or the events, one a line.
    pub(super) fn read_bytes(
        &self,
        to: ExportFormat,
        invocation: &Arc<Invocation>,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            Self::File(path) => read_file(path),
            Self::OtherFile(path) if to.is_transcript() => lines_of_file(path, invocation),
            Self::OtherFile(path) => {
                let path = path.display();
                let failure = anyhow!("`{path}` is not a session file of Gemini CLI");
                let hint = "use `--to markdown` or `--to html`";
                Err(Failure::bad_input(failure).with_hint(hint))
            }
            Self::Other(session) => {
                if !to.is_transcript() {
                    let records = session.capabilities().records;
                    records.check(session.listed).map_err(unsupported_failure)?;
                }
                event_lines(session)
            }
        }
    }
}

fn event_lines(session: &OtherSession<'_>) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    let replayed = session.replay(&mut |event| line::push_event(&mut lines, &event));
    replayed.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    Ok(lines)
}

fn lines_of_file(path: &Path, invocation: &Arc<Invocation>) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    let take = |event: Event| line::push_event(&mut lines, &event);
    translate::each_event(path, FileHandling::Hidden, invocation, take)?;
    Ok(lines)
}

/// Whether a regular file is a session of an agent other than Gemini CLI. One that cannot be read is not.
fn is_of_other_agent(path: &Path, invocation: &Arc<Invocation>) -> bool {
    path.is_file()
        && matches!(
            translate::file_format(path, invocation),
            Ok(Some(
                InputSource::ClaudeSession
                    | InputSource::CodexSession
                    | InputSource::QwenSession
                    | InputSource::OpencodeSession
            ))
        )
}

/// Events of another provider as a transcript. Read twice: the head of a transcript has facts that only its end tells.
pub(super) fn write_transcript(
    lines: &[u8],
    to: ExportFormat,
    invocation: &Arc<Invocation>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let prices = TranscriptPrices::new(invocation);
    let mut outline = Outline::default();
    each_event(lines, |event| {
        outline.event(&prices.priced_event(event));
        Ok(())
    })?;
    let mut renderer: Box<dyn Renderer> = match to {
        ExportFormat::Html => Box::new(HtmlRenderer::knowing(outline)),
        ExportFormat::Markdown | ExportFormat::Json | ExportFormat::Session => {
            Box::new(MarkdownRenderer::knowing(outline))
        }
    };
    each_event(lines, |event| {
        renderer.event(&prices.priced_event(event), out)
    })?;
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

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
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

#[cfg(test)]
mod tests {
    use lapidary_testkit::recorded::RecordedHome;

    use super::super::super::common::{ProjectScope, SessionsContext, other_named};
    use super::*;

    const RECORDED: &str = "cccccccc-0000-4000-8000-000000000002";

    fn check(to: ExportFormat, expected: Result<&str, &str>) {
        let home = RecordedHome::new();
        home.recorded_run("20260103T100000-aa", "qwen", RECORDED);
        let (place, scope) = (
            SessionsContext::of_test(&home),
            ProjectScope::of_test(&home),
        );
        let projects = place
            .scope_projects(&scope)
            .unwrap_or_else(|_| panic!("a project"));
        let others = place.other_sessions(&scope, &projects);
        let session = other_named("cccccccc", &others).unwrap_or_else(|_| panic!("a name"));
        let source = ExportSource::Other(session.expect("it is recorded"));
        let written = source.read_bytes(to, &place.invocation).and_then(|lines| {
            let mut out = Vec::new();
            write_transcript(&lines, to, &place.invocation, &mut out).map(|()| out)
        });
        match (written, expected) {
            (Ok(out), Ok(text)) => {
                let out = String::from_utf8(out).unwrap();
                assert!(out.contains(text) && out.contains("A lightship."), "{out}");
            }
            (Err(failure), Err(hint)) => {
                let error = failure.error.to_string();
                assert_eq!(
                    error,
                    format!("session `{RECORDED}` is in a recording only")
                );
                assert!(failure.hint.is_some_and(|it| it.contains(hint)), "{hint}");
            }
            (written, expected) => panic!("{expected:?}, but written: {}", written.is_ok()),
        }
    }

    #[test]
    fn a_recorded_session_is_exported_as_a_transcript() {
        check(ExportFormat::Markdown, Ok("find the lighthouse"));
        check(ExportFormat::Html, Ok("<html"));
    }

    #[test]
    fn a_recorded_session_has_no_records_to_export_and_the_hint_names_the_events() {
        let hint = "`lapidary runs export 20260103T100000-aa --to events`";
        check(ExportFormat::Json, Err(hint));
        check(ExportFormat::Session, Err(hint));
    }
}
