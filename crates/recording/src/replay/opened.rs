//! A recording that is read instead of played.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{ReplayError, check};
use crate::{MANIFEST, Manifest, STDERR, STDIN, STDOUT, TIMING, spoken};

/// A recording that was found to be in order.
#[derive(Debug)]
pub struct OpenRecording {
    /// Its directory.
    pub directory: PathBuf,
    /// The program that was started, and how it ended.
    pub manifest: Manifest,
    /// Whether it is a dialogue with an agent that speaks ACP.
    pub is_dialogue: bool,
    /// When it began, if it has times.
    pub started: Option<Timestamp>,
    /// How many bytes its lines have.
    pub size: u64,
}

impl OpenRecording {
    /// Opens a recording by its directory.
    ///
    /// Without its timing the order of the two sides of a dialogue is unknown. The output of a headless agent has its order
    /// anyway: there the files besides `stdout` may be missing.
    pub fn open(directory: &Path) -> Result<Self, ReplayError> {
        let text = check::read_text(&directory.join(MANIFEST))?;
        let mut texts = check::CheckedTexts {
            place: directory.to_owned(),
            manifest: &text,
            timing: "",
            stdin: None,
            stdout: file_size(directory, STDOUT)?,
            stderr: 0,
            reads_newer: true,
        };
        let is_dialogue = texts.find_dialogue(|| spoken(directory))?;
        let mut timing = check::read_text(&directory.join(TIMING));
        let mut stderr = file_size(directory, STDERR);
        if is_dialogue {
            texts.stdin = Some(file_size(directory, STDIN)?);
        } else {
            timing = timing.or_else(default_if_missing);
            stderr = stderr.or_else(default_if_missing);
        }
        let timing = timing?;
        texts.stderr = stderr?;
        texts.timing = &timing;
        let has_times = !texts.recording_facts()?.timing.0.is_empty();
        let manifest = texts.parse_manifest()?;
        Ok(Self {
            directory: directory.to_owned(),
            started: manifest.started_at.parse().ok().filter(|_| has_times),
            size: texts.stdout.saturating_add(texts.stdin.unwrap_or(0)),
            manifest,
            is_dialogue,
        })
    }
}

fn file_size(directory: &Path, name: &str) -> Result<u64, ReplayError> {
    check::open(&directory.join(name)).map(|(_, size)| size)
}

/// A file that is not there is an empty one.
fn default_if_missing<T: Default>(error: ReplayError) -> Result<T, ReplayError> {
    match error {
        ReplayError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Ok(T::default())
        }
        error => Err(error),
    }
}
