//! One session file, read for a list: its id, its times, its title, whether it can be resumed. No values are built for the
//! records that are passed over.
//!
//! An append log is read in pieces of bounded size, however long it is; only its longest record has to fit. A document has to be
//! read whole. Title, count and id are those of the CLI to the letter, with rewinds, checkpoints and torn lines taken into
//! account.

mod compact;
mod document;
mod glance;
mod log;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_json::Token;

use self::document::parse_document;
use self::log::LogReading;
pub use compact::CompactSummary;
#[cfg(feature = "index")]
pub(super) use compact::{SummaryFacts, SummaryTime, TEXTS};
pub(super) use glance::{RecordGlance, time_of_touch};

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;

/// No record and no document may be longer.
const LONGEST: usize = 1 << 30;

/// A file that takes more memory than this is read by one thread at a time.
const MUCH: usize = 64 << 20;

/// Held by the scanner that reads such a file.
static TURN: Mutex<()> = Mutex::new(());

/// A file's entry in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// The session's id.
    pub id: String,
    /// Whether it names the hash of its project. Documents of early versions do not.
    pub has_project_hash: bool,
    /// When it began.
    pub start_time: Option<String>,
    /// The time of the last addition.
    pub last_updated: Option<String>,
    /// The summary that a model wrote.
    pub summary: Option<String>,
    /// Whether a sub-agent wrote it.
    pub is_subagent: bool,
    /// How many records of messages there are since the last checkpoint.
    pub message_count: u64,
    /// How many messages of the user's, each counted once.
    pub user_message_count: u64,
    /// The first message with a text of the user's own, as it stands.
    pub first_user_message: Option<String>,
    /// Whether the session can be resumed.
    pub is_resumable: bool,
    /// Lines that are no JSON objects: a torn one among them.
    pub unreadable_lines: u64,
}

/// Why a file has no [`FileSummary`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadableFile {
    /// The system does not let us read it.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// No record of it names a session.
    #[error("it names no session")]
    NotASession,
    /// A record is too long to hold in memory for a list.
    #[error("a record of it is longer than 1 GiB")]
    TooLarge,
}

/// Reads files one after the other, with the same memory.
#[derive(Debug, Default)]
pub struct FileScanner {
    buffer: Vec<u8>,
    filled: usize,
    turn: Option<MutexGuard<'static, ()>>,
}

impl FileScanner {
    /// Reads a file.
    pub fn file(&mut self, path: &Path) -> Result<FileSummary, UnreadableFile> {
        let summary = self.read_summary(&mut open(path)?);
        if self.turn.take().is_some() {
            self.buffer = Vec::new();
        }
        summary
    }

    fn read_summary(&mut self, file: &mut File) -> Result<FileSummary, UnreadableFile> {
        self.filled = 0;
        if !self.read_more(file)? {
            return Err(UnreadableFile::Empty);
        }
        if !self.begins_with_an_object(file)? {
            // Records may follow on a line that was torn. A disk that was full leaves other things, and much of them.
            return if memchr::memmem::find(&self.buffer[..self.filled], b"\n{").is_some() {
                self.read_log(file)
            } else {
                Err(UnreadableFile::NotASession)
            };
        }
        if self.begins_with_a_record() {
            return self.read_log(file);
        }
        while self.read_more(file)? {}
        whole_summary(&self.buffer[..self.filled])
    }

    /// Skips white space, however much there is, and reads on until there is a line or a piece.
    fn begins_with_an_object(&mut self, file: &mut File) -> Result<bool, UnreadableFile> {
        loop {
            let bytes = &self.buffer[..self.filled];
            let begun = without_mark(bytes).trim_ascii_start();
            let is_enough = begun.len() >= PIECE || begun.contains(&b'\n');
            match begun.first() {
                Some(b'{') => return Ok(true),
                Some(_) if is_enough => return Ok(false),
                Some(_) => {}
                None => self.filled = 0,
            }
            if !self.read_more(file)? {
                return Ok(false);
            }
        }
    }

    /// Reads a file that is in memory already.
    pub fn bytes(bytes: &[u8]) -> Result<FileSummary, UnreadableFile> {
        if bytes.is_empty() {
            return Err(UnreadableFile::Empty);
        }
        whole_summary(bytes)
    }

    /// Reads on. False at the end.
    fn read_more(&mut self, file: &mut File) -> Result<bool, UnreadableFile> {
        if self.filled >= LONGEST {
            return Err(UnreadableFile::TooLarge);
        }
        if self.buffer.len() - self.filled < PIECE {
            let len = self.buffer.len();
            let room = if len < MUCH { 2 * len } else { len + len / 4 };
            self.buffer.resize(room.max(self.filled + PIECE), 0);
            if self.buffer.len() > MUCH && self.turn.is_none() {
                self.turn = Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
        loop {
            match file.read(&mut self.buffer[self.filled..]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// True if the first line is a whole JSON text, or may become one when more is read: then the file is a log, or a document of
    /// one line.
    fn begins_with_a_record(&self) -> bool {
        let bytes = without_mark(&self.buffer[..self.filled]).trim_ascii_start();
        match memchr::memchr(b'\n', bytes) {
            Some(end) => Token::parse(&lossy_text(&bytes[..end])).is_ok(),
            None => true,
        }
    }

    fn read_log(&mut self, file: &mut File) -> Result<FileSummary, UnreadableFile> {
        let mut reading = LogReading::default();
        let mut is_first = true;
        let mut searched = 0;
        loop {
            let bytes = &self.buffer[..self.filled];
            let end = memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1);
            if let Some(end) = end {
                let lines = &bytes[..end];
                reading.read_lines(if is_first { without_mark(lines) } else { lines });
                is_first = false;
                self.buffer.copy_within(end..self.filled, 0);
                self.filled -= end;
            }
            searched = self.filled;
            if !self.read_more(file)? {
                break;
            }
        }
        let last = &self.buffer[..self.filled];
        let last = if is_first { without_mark(last) } else { last };
        reading.read_lines(last);
        let is_alone = reading.count == 1;
        match reading.finish() {
            // One line may be a document that names no project: then it is no record.
            Err(UnreadableFile::NotASession) if is_alone => self.read_as_document(file),
            read => read,
        }
    }

    fn read_as_document(&mut self, file: &mut File) -> Result<FileSummary, UnreadableFile> {
        file.rewind()?;
        self.filled = 0;
        while self.read_more(file)? {}
        let bytes = without_mark(&self.buffer[..self.filled]);
        parse_document(&lossy_text(bytes)).ok_or(UnreadableFile::NotASession)
    }
}

/// A file that is here whole: a document if it is one, else a log.
fn whole_summary(bytes: &[u8]) -> Result<FileSummary, UnreadableFile> {
    let bytes = without_mark(bytes);
    let mut reading = LogReading::default();
    let is_line = memchr::memchr(b'\n', bytes.trim_ascii()).is_none();
    // One line with a hash in it is a record for the CLI, too.
    if is_line {
        reading.read_lines(bytes);
        if let Ok(summary) = reading.finish() {
            return Ok(summary);
        }
        reading = LogReading::default();
    }
    if let Some(summary) = parse_document(&lossy_text(bytes)) {
        return Ok(summary);
    }
    reading.read_lines(bytes);
    reading.finish()
}

/// Opens a file. It may have become a pipe since the directory was listed, and opening must not block on that.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    options.open(path)
}

/// Bytes as text. Invalid UTF-8 reads as U+FFFD, as in Node.
fn lossy_text(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_begin_with_an_object_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-x.jsonl");
        let file = File::create(&path).unwrap();
        // Sparse: read whole it would be too large for any list.
        file.set_len(3 << 30).unwrap();
        let mut scanner = FileScanner::default();
        assert!(matches!(
            scanner.file(&path),
            Err(UnreadableFile::NotASession)
        ));
        assert!(scanner.buffer.len() < 8 * PIECE);
        // A torn line, a mark and blanks in front hide nothing.
        let record = "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n";
        for before in [
            "torn\n",
            "\u{feff}",
            "\u{feff} \n\n",
            &" \n".repeat(PIECE),
            "\0\0\n",
        ] {
            std::fs::write(&path, format!("{before}{record}")).unwrap();
            assert_eq!(scanner.file(&path).unwrap().id, "s", "{}", before.len());
        }
    }

    #[test]
    fn a_record_of_more_than_a_gibibyte_is_too_long_and_its_memory_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-x.jsonl");
        std::fs::write(&path, "{\"id\":\"").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len((1 << 30) + 9)
            .unwrap();
        let mut scanner = FileScanner::default();
        assert!(matches!(scanner.file(&path), Err(UnreadableFile::TooLarge)));
        assert_eq!(
            (scanner.buffer.capacity(), scanner.turn.is_none()),
            (0, true)
        );
    }
}
