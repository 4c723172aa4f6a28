//! Merging the earlier states of a session with its present one.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::vault::VaultError;
use crate::vault::blobs::{sync_folder, temporary_file};
use crate::vault::error::ErrorContext as _;
use crate::vault::replay::{LogReplay, ReadingDepth};

/// States of a session, one after the other.
pub(super) struct StateMerge<'a> {
    /// The messages that the CLI shows now, and the messages that should be there.
    pub(super) replay: LogReplay<'a>,
    /// Messages that were there and are not shown, without a good reason.
    pub(super) missing: usize,
    /// Messages that are shown with less than they had.
    pub(super) poorer: usize,
}

impl<'a> StateMerge<'a> {
    /// The content before the run, then those of files that were deleted or replaced meanwhile, then that of the file that is there.
    pub(super) fn new(before: Option<&'a [u8]>, lost: &'a [Vec<u8>], after: &'a [u8]) -> Self {
        let mut replay = LogReplay::new(ReadingDepth::Hidden);
        let mut read: &[u8] = &[];
        if let Some(before) = before {
            replay.read_bytes(before);
            // Messages that were hidden before were not lost in this run.
            replay.kept = replay.shown.clone();
            read = before;
        }
        let lost = lost.iter().map(Vec::as_slice);
        for content in lost.chain([after]) {
            read_on(&mut replay, read, content);
            read = content;
        }
        let (mut missing, mut poorer) = (0, 0);
        for kept in replay.kept.iter() {
            match replay.shown.get(kept.key) {
                None => missing += 1,
                Some(shown) if shown.record != kept.record => poorer += 1,
                Some(_) => {}
            }
        }
        Self {
            replay,
            missing,
            poorer,
        }
    }

    pub(super) fn is_needed(&self) -> bool {
        self.missing + self.poorer > 0
    }
}

/// Reads a later content of a session: only its new lines, or all of it if it begins otherwise.
fn read_on<'a>(replay: &mut LogReplay<'a>, before: &'a [u8], after: &'a [u8]) {
    if after.starts_with(before) {
        // A last line without its end is read again, with the bytes that were appended to it.
        let line = before.iter().rposition(|&byte| byte == b'\n');
        let from = line.map_or(0, |at| at + 1);
        replay.read_bytes(&after[from..]);
    } else {
        replay.forget_shown();
        replay.read_bytes(after);
    }
}

/// Puts a new content in place of one that was read. False if the file has changed since, and nothing was done.
pub(super) fn replace_content(path: &Path, read: &[u8], new: &[u8]) -> Result<bool, VaultError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = temporary_file(folder)?;
    temp.write_all(new).at("write", path)?;
    let mut old = File::open(path).at("read", path)?;
    let about = old.metadata().at("read", path)?;
    // The permissions stay.
    let _ = temp.as_file().set_permissions(about.permissions());
    temp.as_file().sync_all().at("write", path)?;
    if old.metadata().at("read", path)?.len() != read.len() as u64 {
        return Ok(false);
    }
    temp.persist(path)
        .map_err(|refused| refused.error)
        .at("write", path)?;
    sync_folder(folder);
    carry_over(&mut old, read.len() as u64, path)?;
    Ok(true)
}

/// The CLI opens its file for each line: lines that it wrote into the old file at the last moment are appended to the new one.
fn carry_over(old: &mut File, from: u64, path: &Path) -> Result<(), VaultError> {
    let mut late = Vec::new();
    old.seek(SeekFrom::Start(from)).at("read", path)?;
    old.read_to_end(&mut late).at("read", path)?;
    if late.is_empty() {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(path)
        .at("write", path)?;
    file.write_all(&late).at("write", path)
}
