//! The last message of a run by itself: `--quiet` prints it, `--output` writes it to a file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::normalize::views::result::ResultFold;
use lapidary::vocab::Event;

use super::RunExtras;
use crate::commands::sessions::export::file::{self as whole_file, ExportManner};
use crate::failure::Failure;
use crate::printer::Printer;

/// Words that other agents take behind `-o`, where it chooses a format.
const FORMATS: [&str; 3] = ["json", "stream-json", "text"];

/// Finds the last message, and says where it goes. A run that fails has none: half an answer must not pass for one.
pub(super) struct LastMessage {
    fold: ResultFold,
    is_printed: bool,
    file: Option<PathBuf>,
}

impl LastMessage {
    /// None if no option asks for the last message. An older file is removed now, so that a file that is there later is from this
    /// run.
    pub(super) fn new(args: &RunExtras) -> Result<Option<Self>, Failure> {
        let file = args.output.as_deref().map(clear_target).transpose()?;
        let last = Self {
            fold: ResultFold::default(),
            is_printed: args.quiet,
            file,
        };
        Ok((args.quiet || last.file.is_some()).then_some(last))
    }

    pub(super) fn take_events(&mut self, events: &[Event]) {
        for event in events {
            self.fold.push(event);
        }
    }

    /// Prints and writes the message of a run that completed.
    pub(super) fn finish(self, out: &mut Printer) -> Result<(), Failure> {
        let result = self.fold.finish(false);
        if !result.success {
            return Ok(());
        }
        // With an output schema, the answer is its data, wherever in the message it was.
        let mut message = match &result.data {
            Some(data) => data.as_str().to_owned(),
            None => result.response.to_string(),
        };
        if !message.is_empty() && !message.ends_with('\n') {
            message.push('\n');
        }
        if self.is_printed {
            out.write_all(message.as_bytes())?;
            out.flush()?;
        }
        match &self.file {
            Some(file) => write_message(file, &message),
            None => Ok(()),
        }
    }
}

/// The file to write. An existing regular file is removed; a link stays, and its target is removed.
fn clear_target(given: &Path) -> Result<PathBuf, Failure> {
    check_word(given)?;
    let file = given.canonicalize().unwrap_or_else(|_| given.to_owned());
    if file.is_dir() {
        let failure = Failure::usage(anyhow!("`{}` is a directory", given.display()));
        return Err(failure.with_hint("name a file in it"));
    }
    if file.is_file() {
        fs::remove_file(&file)
            .with_context(|| format!("cannot replace `{}`", given.display()))
            .map_err(Failure::bad_input)?;
    }
    if !file.exists() {
        whole_file::check(&file)?; // now, and not after an hour of work
    }
    Ok(file)
}

/// In other agents `-o json` chooses a format, so a new file of that name needs a path: `-o ./json`.
fn check_word(given: &Path) -> Result<(), Failure> {
    let word = FORMATS.into_iter().find(|word| Path::new(word) == given);
    let Some(word) = word.filter(|_| !given.exists()) else {
        return Ok(());
    };
    let failure = Failure::usage(anyhow!("`-o` takes a file, and `{word}` is a format"));
    let hint = format!("`--json` or `--format result` prints JSON; `-o ./{word}` is a file");
    Err(failure.with_hint(hint))
}

fn write_message(file: &Path, message: &str) -> Result<(), Failure> {
    if file.exists() && !file.is_file() {
        let written = fs::write(file, message); // a device or a pipe has no place beside it
        return written
            .with_context(|| format!("cannot write `{}`", file.display()))
            .map_err(Failure::bad_input);
    }
    let manner = ExportManner {
        is_private: false,
        replaces: true,
    };
    whole_file::write_export_file(file, manner, |out| Ok(out.write_all(message.as_bytes())?))
}
