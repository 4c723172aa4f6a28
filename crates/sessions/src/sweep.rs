//! A look at the bytes of session files, before they are read: most have nothing of what is searched for.
//!
//! Files are looked at in pieces that stay in the processor's cache, so that a file of any size takes little memory. A compressed
//! file is unpacked on the way.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::listing::each_file;
use crate::scan;
use crate::store_files::StoreFile;
use crate::unpacked::{is_compressed, unpacked};

/// How many bytes are looked at in one go.
const PIECE: usize = 256 << 10;

/// How many bytes at the end of a piece are looked at again with the next one: no word that can be searched for is longer, even
/// if all its letters are escaped.
const LONGEST_WORD: usize = 8 << 10;

/// Says whether a piece of a file's bytes may have a match in it.
pub type ByteFilter<'f> = dyn Fn(&[u8]) -> bool + Sync + 'f;

/// Tells of each session whether its files may have a match. Files that cannot be read have none.
pub(crate) fn sweep_files(files: &[&StoreFile], may_match: &ByteFilter<'_>) -> Vec<bool> {
    let shared = SharedSweeps::default();
    each_file(files, Vec::new, |buffer, file| {
        let mut may_be_in = |path: &Path| file_may_match(path, buffer, may_match).unwrap_or(false);
        may_be_in(&file.path)
            || file.attached.iter().any(|path| may_be_in(path))
            || file
                .shared
                .iter()
                .any(|path| shared.result_of(path, &mut may_be_in))
    })
}

/// Results for files that belong to many sessions.
#[derive(Debug, Default)]
struct SharedSweeps(Mutex<HashMap<PathBuf, bool>>);

impl SharedSweeps {
    fn result_of(&self, path: &Path, sweep: &mut dyn FnMut(&Path) -> bool) -> bool {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = known().get(path) {
            return *result;
        }
        let result = sweep(path);
        known().insert(path.to_owned(), result);
        result
    }
}

/// Whether any piece of a file may have a match.
fn file_may_match(
    path: &Path,
    buffer: &mut Vec<u8>,
    may_match: &ByteFilter<'_>,
) -> io::Result<bool> {
    buffer.resize(PIECE, 0);
    let mut file = scan::open(path)?;
    let count = read_some(&mut file, buffer)?;
    if is_compressed(&buffer[..count]) {
        return pieces_may_match(&mut *unpacked(file)?, 0, buffer, may_match);
    }
    pieces_may_match(&mut file, count, buffer, may_match)
}

/// Looks at the first `filled` bytes of the buffer, and at all that follow.
fn pieces_may_match(
    content: &mut (impl Read + ?Sized),
    mut filled: usize,
    buffer: &mut [u8],
    may_match: &ByteFilter<'_>,
) -> io::Result<bool> {
    if filled == 0 {
        filled = read_some(content, buffer)?;
    }
    loop {
        if may_match(&buffer[..filled]) {
            return Ok(true);
        }
        let from = word_start(&buffer[..filled]);
        buffer.copy_within(from..filled, 0);
        let kept = filled - from;
        match read_some(content, &mut buffer[kept..])? {
            0 => return Ok(false),
            count => filled = kept + count,
        }
    }
}

/// Where the word begins that may go on behind these bytes.
fn word_start(bytes: &[u8]) -> usize {
    let least = bytes.len().saturating_sub(LONGEST_WORD);
    let gap = memchr::memrchr2(b' ', b'"', &bytes[least..]);
    gap.map_or(least, |at| least + at)
}

fn read_some(content: &mut (impl Read + ?Sized), room: &mut [u8]) -> io::Result<usize> {
    loop {
        match content.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
