//! Calls `sessions export` and `sessions resume` from the browser.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::Parser as _;
use lapidary::sessions::OtherSession;

use super::super::{export, resume};
use super::confirm::SessionResumption;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Writes a transcript in Markdown. A file that is there stays as it is.
pub(super) fn export_markdown(
    path: &Path,
    other: Option<OtherSession<'_>>,
    to: &Path,
    invocation: &Arc<Invocation>,
) -> anyhow::Result<()> {
    let written = match other {
        Some(session) => export::other_markdown(session, to, invocation),
        None => export::export_markdown(path, to, invocation),
    };
    written.map_err(|failure| failure.error)
}

/// Goes on with a session, as `sessions resume` does: without a prompt in Gemini CLI.
pub(super) fn resume_session(
    it: &SessionResumption,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    #[derive(clap::Parser)]
    struct ResumeBridge {
        #[command(flatten)]
        args: resume::Args,
    }
    let mut words: Vec<OsString> = vec!["resume".into()];
    if let Some(root) = &it.root {
        words.extend(["--working-dir".into(), root.into()]);
    }
    words.extend(["--".into(), (&it.id).into()]);
    if !it.prompt.trim().is_empty() {
        words.push((&it.prompt).into());
    }
    let parsed = ResumeBridge::try_parse_from(words).map_err(Failure::usage)?;
    resume::run(&parsed.args, out)
}
