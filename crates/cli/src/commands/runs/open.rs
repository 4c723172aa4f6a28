//! `runs open`: the transcript of a run, in the browser.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::process::start_detached;

use super::common::{RunStore, failure_if_gone, id_of};
use super::export;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// The transcript beside a recording. It goes when the recording goes.
const TRANSCRIPT: &str = "transcript.html";

/// Open the transcript of a run in the browser
///
/// Writes one self-contained page beside the recording and prints its path. The browser is started only from a terminal with a display.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs open
  lapidary runs open 20261117T0800")]
pub(crate) struct Args {
    /// The run's id, its beginning or end, `latest`, or the path of a recording [default: latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let recording = store.recording_path(args.run.as_deref())?;
    let page = write_page(&recording, &out.invocation)
        .map_err(|failure| failure_if_gone(&recording, failure))?;
    writeln!(out, "{}", page.display())?;
    out.flush()?;
    let is_watched = out.is_terminal && out.invocation.is_stderr_terminal();
    if is_watched && has_display(&store.environment) {
        let browser = OsStr::new(BROWSER);
        if let Err(error) = start_detached(browser, &page) {
            out.print_message(&format!("note: cannot start `{BROWSER}`: {error}"));
        }
    }
    Ok(CommandExit::Success)
}

/// Writes the page beside the recording, or among temporary files if nothing can be written there.
fn write_page(recording: &Path, invocation: &Arc<Invocation>) -> Result<PathBuf, Failure> {
    let usual = recording.join(TRANSCRIPT);
    match export::write_page(recording, &usual, invocation) {
        Ok(()) => Ok(usual),
        Err(failure)
            if recording
                .join(lapidary::engine::recording::MANIFEST)
                .exists() =>
        {
            let page = write_temporary_page(recording, &invocation.temp_dir())?;
            // If the recording is at fault, this fails in the same way.
            export::write_page(recording, &page, invocation)?;
            let why = format!("{:#}", failure.error);
            invocation.print_message(&format!("note: the page is among temporary files: {why}"));
            Ok(page)
        }
        Err(failure) => Err(failure),
    }
}

fn write_temporary_page(recording: &Path, directory: &Path) -> Result<PathBuf, Failure> {
    let prefix = format!("lapidary-{}-", id_of(recording));
    let mut builder = tempfile::Builder::new();
    let made = builder
        .prefix(&prefix)
        .suffix(".html")
        .tempfile_in(directory);
    let kept = made.and_then(|file| Ok(file.keep()?.1));
    kept.context("cannot write the page")
        .map_err(Failure::internal)
}

/// The program that opens a page in the user's browser.
#[cfg(target_os = "macos")]
pub(in crate::commands) const BROWSER: &str = "open";
#[cfg(windows)]
pub(in crate::commands) const BROWSER: &str = "explorer";
#[cfg(not(any(target_os = "macos", windows)))]
pub(in crate::commands) const BROWSER: &str = "xdg-open";

/// Whether a browser has a display.
pub(in crate::commands) fn has_display(environment: &SearchEnvironment) -> bool {
    let is_set = |name: &str| {
        let value = environment.vars.get(OsStr::new(name));
        value.is_some_and(|value| !value.is_empty())
    };
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
