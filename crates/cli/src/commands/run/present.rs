//! A run, as it goes on: what is printed where.

use std::io::{self, Write as _};

use anyhow::Context as _;
use lapidary::drive::run::{Batch, Run};
use lapidary::render::plain::sanitize;
use lapidary::vocab::event::RunEnd;
use lapidary::vocab::{Body, Cause, Event};

use super::super::sink::{Format, Sink};
use super::{Args, signals};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, complain};

/// Prints a run to its end.
pub(super) fn present(
    mut run: Run,
    format: Format,
    args: &Args,
    id: &str,
    out: &mut Printer,
) -> Result<Exit, Failure> {
    let _heard = signals::listen(run.stopper());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .context("cannot set up a runtime")
        .map_err(Failure::internal)?;
    let mut presented = Presented {
        sink: Some(Sink::new(format, id, args.extract_data, out)),
        format,
        end: None,
    };
    runtime.block_on(async {
        while let Some(batch) = run.next_batch().await {
            if let Err(failure) = presented.take(batch, out) {
                presented.reader_is_gone(&failure)?;
                run.stopper().cancel();
            }
        }
        Ok::<_, Failure>(())
    })?;
    presented.finish(out)
}

struct Presented {
    /// None once nobody reads any more.
    sink: Option<Sink>,
    format: Format,
    end: Option<RunEnd>,
}

impl Presented {
    fn take(&mut self, mut batch: Batch, out: &mut Printer) -> Result<(), Failure> {
        self.remember(&batch.events);
        show_stderr(&batch.stderr);
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        if self.format == Format::Raw {
            out.write_all(&batch.stdout)?;
        } else {
            sink.take(&mut batch.events, out)?;
        }
        out.flush()?;
        Ok(())
    }

    fn remember(&mut self, events: &[Event]) {
        if let Some(Body::RunEnd(end)) = events.last().map(|event| &event.body) {
            self.end = Some(end.clone());
        }
    }

    /// A closed pipe ends the run: its reader has had enough. Anything else is a fault.
    fn reader_is_gone(&mut self, failure: &Failure) -> Result<(), Failure> {
        if !failure.is_closed_pipe() {
            return Err(Failure::internal(anyhow::anyhow!("{:#}", failure.error)));
        }
        self.sink = None;
        Ok(())
    }

    fn finish(mut self, out: &mut Printer) -> Result<Exit, Failure> {
        if let Some(sink) = self.sink.take() {
            sink.finish(out)?;
            out.flush()?;
        }
        let Some(end) = &self.end else {
            return Err(Failure::internal(anyhow::anyhow!(
                "the run ended without a word"
            )));
        };
        // Text says it itself.
        if self.format != Format::Text && end.cause != Cause::EndTurn {
            explain(end);
        }
        Ok(Exit::of(&end.cause))
    }
}

fn explain(end: &RunEnd) {
    let message = end.message.as_ref().map(ToString::to_string);
    complain(&format!(
        "error: {} ({})",
        message.unwrap_or_default(),
        end.cause
    ));
    if let Some(hint) = &end.hint {
        complain(&format!("hint: {hint}"));
    }
}

/// What the agent writes there is shown as text, whatever it holds.
fn show_stderr(bytes: &[u8]) {
    if !bytes.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let _ = io::stderr().write_all(sanitize(&text).as_bytes());
    }
}
