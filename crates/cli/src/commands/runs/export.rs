//! `runs export`: one run as a file, to keep, to show or to pass on.

mod redacted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use super::super::sessions::export::file::{self, ExportManner};
use super::super::sessions::export::removed::{self, RedactedSource};
use super::super::sink::OutputFormat;
use super::super::translate;
use super::common::{RunStore, failure_if_gone, id_of};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use redacted::RedactedRun;

/// Write a run into a file
///
/// With --redact, keys, tokens, passwords and home directories are removed first, in every format, and a table on stderr lists them.
/// What looks like any other word stays, and so does everything inside Base64 (images, archives): look before you publish.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs export latest -o run.html
  lapidary runs export 20261117T0800 --to markdown > run.md
  lapidary runs export latest --to events -o events.jsonl
  lapidary runs export latest --redact -o run.html

An existing file is only replaced with --force. A file that was not redacted is readable only by you.")]
pub(crate) struct Args {
    /// The run's id, its beginning or end, `latest`, or the path of a recording [default: latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = OutputFormat::Html)]
    to: OutputFormat,
    /// The file to write, or `-` for stdout [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Remove keys, tokens, passwords and home directories; events then have whole texts and no `raw`
    #[arg(long)]
    redact: bool,
    /// Only list what --redact would remove
    #[arg(long, requires = "redact")]
    dry_run: bool,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    if args.redact && args.to == OutputFormat::Raw {
        let error = anyhow!(
            "--redact cannot be used with `--to raw`: a secret may be split between two lines"
        );
        return Err(Failure::usage(error).with_hint("use `--to events`"));
    }
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let recording = store.recording_path(args.run.as_deref())?;
    let exported = if args.redact {
        RedactedRun::new(&recording, store.environment.home.clone(), &out.invocation)
            .and_then(|redacted| export_redacted(args, &redacted, out))
    } else {
        export_recording(args, &recording, out)
    };
    exported.map_err(|failure| failure_if_gone(&recording, failure))?;
    Ok(CommandExit::Success)
}

impl Args {
    fn output_file(&self) -> Option<&Path> {
        let file = self.output.as_deref();
        file.filter(|file| *file != Path::new("-"))
    }
}

fn export_recording(args: &Args, recording: &Path, out: &mut Printer) -> Result<(), Failure> {
    match args.output_file() {
        Some(file) => {
            let manner = ExportManner {
                is_private: true,
                replaces: args.force,
            };
            into_file(file, manner, &out.invocation, |printer| {
                print_recording(recording, args.to, printer)
            })
        }
        None => print_recording(recording, args.to, out),
    }
}

fn export_redacted(args: &Args, run: &RedactedRun, out: &mut Printer) -> Result<(), Failure> {
    let manner = ExportManner {
        is_private: false,
        replaces: args.force,
    };
    match args.output_file() {
        _ if args.dry_run => {}
        Some(file) => into_file(file, manner, &out.invocation, |printer| {
            run.print_redacted(args.to, printer)
        })?,
        None => run.print_redacted(args.to, out)?,
    }
    for line in removed::redaction_table(&run.report, RedactedSource::Run) {
        out.print_message(&line);
    }
    Ok(())
}

fn print_recording(recording: &Path, to: OutputFormat, out: &mut Printer) -> Result<(), Failure> {
    let view = translate::Args::of_recording(recording, &id_of(recording), Some(to), false);
    translate::run(&view, out).map(drop)
}

/// Writes the page of a recording into a file that only the user can read: whole, or not at all.
pub(super) fn write_page(
    recording: &Path,
    file: &Path,
    invocation: &Arc<Invocation>,
) -> Result<(), Failure> {
    let manner = ExportManner {
        is_private: true,
        replaces: true,
    };
    into_file(file, manner, invocation, |printer| {
        print_recording(recording, OutputFormat::Html, printer)
    })
}

fn into_file(
    file: &Path,
    manner: ExportManner,
    invocation: &Arc<Invocation>,
    print: impl FnOnce(&mut Printer) -> Result<(), Failure>,
) -> Result<(), Failure> {
    file::write_export_file(file, manner, |out| {
        let file = out.get_ref().as_file().try_clone()?;
        let mut printer = Printer::into_file(file, invocation.clone());
        print(&mut printer)?;
        Ok(printer.close()?)
    })
}
