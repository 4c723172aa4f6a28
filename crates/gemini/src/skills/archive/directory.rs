//! The list of entries at the end of a zip archive, checked before it is used.
//!
//! A record at the very end says how long the list is, and a list may be longer than memory, or have one name twice, of which a
//! library shows one. So it is bounded and checked here, and [`CheckedArchive`] shows the library exactly this list, and no other
//! one in the file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::{DEEPEST, MOST_FILES};

/// How many bytes the list may have: 8 MiB, of which ten thousand entries with long names need a half.
const MOST_LISTED: u64 = 8 * 1024 * 1024;

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_LENGTH: usize = 46;
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_LENGTH: usize = 20;
const LARGE_END: &[u8] = b"PK\x06\x06";
const LARGE_END_LENGTH: usize = 56;
/// How far from its end the last record may be: a comment may follow.
const TAIL: u64 = (END_LENGTH + LOCATOR_LENGTH + 0xffff) as u64;

/// A reason why a list is refused.
#[derive(Debug)]
pub(super) enum DirectoryProblem {
    Io(io::Error),
    /// There is none, or it is broken.
    Broken,
    TooMuch,
    Overlapping,
    Twice(String),
}

impl From<io::Error> for DirectoryProblem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Where the list is, as the end of the archive says.
struct DirectoryLocation {
    count: u64,
    size: u64,
    /// From where the archive begins, which need not be the beginning of the file.
    offset: u64,
    /// Where it ends in the file.
    end: u64,
}

/// An archive with a list of entries that was looked through, and nothing behind it.
pub(super) struct CheckedArchive<'a> {
    file: File,
    /// Called with every read: much may be read before the first byte is unpacked.
    is_stopped: &'a dyn Fn() -> bool,
    position: u64,
    /// The offset in the file at which the list begins. Bytes from here on come from `list`.
    start: u64,
    list: Vec<u8>,
    /// How many entries it has.
    pub(super) count: usize,
}

impl<'a> CheckedArchive<'a> {
    pub(super) fn open(
        mut file: File,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Self, DirectoryProblem> {
        let found = directory_location(&mut file)?;
        if found.count > MOST_FILES || found.size > MOST_LISTED {
            return Err(DirectoryProblem::TooMuch);
        }
        let start = found
            .end
            .checked_sub(found.size)
            .ok_or(DirectoryProblem::Broken)?;
        let mut list = read_at(&mut file, start, found.size)?;
        let count = count_entries(&list)?;
        let offset = u32::try_from(found.offset).map_err(|_| DirectoryProblem::TooMuch)?;
        append_end(&mut list, count, offset)?;
        Ok(Self {
            file,
            is_stopped,
            position: 0,
            start,
            list,
            count,
        })
    }
}

/// Appends a standard end record, in place of the file's own.
fn append_end(list: &mut Vec<u8>, count: usize, offset: u32) -> Result<(), DirectoryProblem> {
    let short = u16::try_from(count).map_err(|_| DirectoryProblem::TooMuch)?;
    let size = u32::try_from(list.len()).map_err(|_| DirectoryProblem::TooMuch)?;
    list.extend(END);
    list.extend([0; 4]);
    list.extend([short.to_le_bytes(), short.to_le_bytes()].concat());
    list.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    list.extend([0; 2]);
    Ok(())
}

/// The last record that could be the end.
fn directory_location(file: &mut File) -> Result<DirectoryLocation, DirectoryProblem> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail_start = length.saturating_sub(TAIL);
    let tail = read_at(file, tail_start, length - tail_start)?;
    let last = tail
        .len()
        .checked_sub(END_LENGTH)
        .ok_or(DirectoryProblem::Broken)?;
    let is_end = |at: &usize| {
        let record = &tail[*at..];
        record.starts_with(END) && END_LENGTH + usize::from(read_u16(record, 20)) <= record.len()
    };
    let at = (0..=last)
        .rev()
        .find(is_end)
        .ok_or(DirectoryProblem::Broken)?;
    let record = &tail[at..];
    let end = tail_start + at as u64;
    let before = at.checked_sub(LOCATOR_LENGTH).map(|at| &tail[at..]);
    if let Some(locator) = before.filter(|before| before.starts_with(LOCATOR)) {
        return large_whereabouts(file, read_u64(locator, 8));
    }
    Ok(DirectoryLocation {
        count: read_u16(record, 10).into(),
        size: read_u32(record, 12).into(),
        offset: read_u32(record, 16).into(),
        end,
    })
}

/// The same, where numbers are large.
fn large_whereabouts(file: &mut File, at: u64) -> Result<DirectoryLocation, DirectoryProblem> {
    let record = read_at(file, at, LARGE_END_LENGTH as u64)?;
    if !record.starts_with(LARGE_END) {
        return Err(DirectoryProblem::Broken);
    }
    Ok(DirectoryLocation {
        count: read_u64(&record, 32),
        size: read_u64(&record, 40),
        offset: read_u64(&record, 48),
        end: at,
    })
}

/// How many entries a list has, each with another name. The directories that they lie in count for the limit, whether or not they are
/// entries.
fn count_entries(list: &[u8]) -> Result<usize, DirectoryProblem> {
    let mut names = HashSet::new();
    let mut folders = HashSet::new();
    let mut files = 0;
    let mut rest = list;
    while !rest.is_empty() {
        if !rest.starts_with(ENTRY) || rest.len() < ENTRY_LENGTH {
            return Err(DirectoryProblem::Broken);
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(read_u16(rest, at)));
        let behind = rest.get(ENTRY_LENGTH..).unwrap_or_default();
        let name = behind.get(..name).ok_or(DirectoryProblem::Broken)?;
        if !names.insert(name) {
            return Err(DirectoryProblem::Twice(
                String::from_utf8_lossy(name).into_owned(),
            ));
        }
        folders.extend(folders_of(name));
        files += u64::from(!name.ends_with(b"/"));
        if files + folders.len() as u64 > MOST_FILES {
            return Err(DirectoryProblem::TooMuch);
        }
        let next = behind.get(name.len() + extra + comment..);
        rest = next.ok_or(DirectoryProblem::Broken)?;
    }
    Ok(names.len())
}

/// The directories of a name, each with its slash. One that lies too deep is refused for that.
fn folders_of(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.take(DEEPEST).map(|(at, _)| &name[..=at])
}

fn read_at(file: &mut File, at: u64, length: u64) -> Result<Vec<u8>, DirectoryProblem> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(DirectoryProblem::Broken);
    }
    Ok(bytes)
}

fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from(read_u16(bytes, at)) | u32::from(read_u16(bytes, at + 2)) << 16
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}

impl Read for CheckedArchive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_stopped)() {
            return Err(io::Error::other("stopped"));
        }
        let count = if let Some(inside) = self.position.checked_sub(self.start) {
            let from =
                usize::try_from(inside).map_or(self.list.len(), |at| at.min(self.list.len()));
            (&self.list[from..]).read(buffer)?
        } else {
            let left = self.start - self.position;
            self.file.seek(SeekFrom::Start(self.position))?;
            (&self.file).take(left).read(buffer)?
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for CheckedArchive<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.start + self.list.len() as u64;
        let position = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => end.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
