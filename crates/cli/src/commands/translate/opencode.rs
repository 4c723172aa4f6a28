//! A session of opencode: a database with one session, a session's own file with the files beside it, or a document of
//! `opencode export`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::normalize::NormalizeOptions;
use lapidary::normalize::opencode::{ExportDocument, session_events};
use lapidary::render::outline::Outline;
use lapidary::sessions::opencode_file_events;
use lapidary::vocab::Event;

use super::super::prices::TranscriptPrices;
use super::super::sink::{EventSink, OutputFormat};
use super::input::TranslateInput;
use super::{Args, refuse_outcome_views};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// A session of opencode under translation.
pub(super) enum OpencodeSession {
    /// A document of `opencode export`.
    Export(Box<ExportDocument>),
    /// A file in opencode's own directory.
    File {
        /// The file.
        path: PathBuf,
        /// Where a copy of a database may lie.
        scratch: PathBuf,
    },
}

impl OpencodeSession {
    pub(super) fn new(
        path: Option<&Path>,
        mut input: TranslateInput,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let path = path.filter(|path| path.is_file());
        if let Some(path) = path.filter(|_| input.is_database()) {
            return Ok(Self::of_file(path, invocation));
        }
        let bytes = input.read_all()?;
        let export = ExportDocument::parse(&String::from_utf8_lossy(&bytes));
        match (export, path) {
            (Some(export), _) => Ok(Self::Export(Box::new(export))),
            (None, Some(path)) => Ok(Self::of_file(path, invocation)),
            (None, None) => {
                let error = anyhow!("a session of opencode is in several files");
                let failure = Failure::bad_input(error);
                Err(failure.with_hint("name its file, or pipe what `opencode export` prints"))
            }
        }
    }

    fn of_file(path: &Path, invocation: &Invocation) -> Self {
        Self::File {
            path: path.to_owned(),
            scratch: invocation.temp_dir(),
        }
    }

    /// Hands on each event.
    pub(super) fn each_event(
        &self,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), Failure> {
        let read = match self {
            Self::Export(export) => session_events::events(&**export, export.id(), options, take),
            Self::File { path, scratch } => opencode_file_events(path, scratch, options, take),
        };
        read.map_err(|error| Failure::bad_input(anyhow!("cannot read the session: {error}")))
    }
}

/// Translates a session of opencode.
pub(super) fn translate_opencode(
    args: &Args,
    format: OutputFormat,
    session: &OpencodeSession,
    out: &mut Printer,
) -> Result<u64, Failure> {
    refuse_outcome_views(args, format, out)?;
    let options = args.normalize_options(format);
    let mut outlined = Ok(());
    let outline = || {
        let mut outline = Outline::default();
        let prices = TranscriptPrices::new(&out.invocation);
        outlined = session.each_event(&options, &mut |event| {
            outline.event(&prices.priced_event(&event));
        });
        outline
    };
    let sink = EventSink::with_outline(format, outline, out);
    outlined?;
    let mut sink = sink.unwrap_or_else(|| args.event_sink(format, out));
    let mut written = Ok(());
    session.each_event(&options, &mut |event| {
        if written.is_ok() {
            written = sink.take_events(&mut vec![event], out);
        }
    })?;
    written?;
    sink.finish(out)
}
