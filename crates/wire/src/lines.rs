//! Bytes into lines.
//!
//! Only `\n` ends a line: U+2028, which JSON leaves raw inside strings, is text. A `\r` before it is trimmed, the last line may
//! lack its newline, bytes need not be UTF-8. A line longer than the limit is reported with its beginning, and reading goes on
//! behind it.

use lapidary_json::{Token, TokenKind};

/// The longest line that is kept whole, unless the caller says otherwise.
pub const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// How much of a line over the limit is kept, so that a reader recognises it.
pub const KEPT_OF_TOO_LONG: usize = 1024;

/// How much of the end of a line over the limit is kept: enough for the last member of an object, such as an id.
pub const KEPT_OF_END: usize = 128;

/// How much is read at once. Large enough that system calls do not count, small enough to stay in the cache.
const CHUNK: usize = 128 * 1024;

/// The bytes without the byte order mark that some editors and shells put in front of a text. It is no part of the first line.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawLine<'a> {
    /// The whole line.
    Whole(&'a [u8]),
    /// A line over the limit.
    TooLong {
        /// Its first [`KEPT_OF_TOO_LONG`] bytes.
        head: &'a [u8],
        /// Its last [`KEPT_OF_END`] bytes.
        tail: &'a [u8],
        /// How many bytes it had.
        length: u64,
    },
}

impl<'a> RawLine<'a> {
    /// The line, or the beginning of one that is too long.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::TooLong { head, .. } => head,
        }
    }

    /// The text of a whole line.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Whole(bytes) => std::str::from_utf8(bytes).ok(),
            Self::TooLong { .. } => None,
        }
    }

    /// The JSON object that the line is.
    pub fn object(self) -> Option<Token<'a>> {
        Token::parse(self.text()?).ok()?.if_kind(TokenKind::Object)
    }
}

/// Collects bytes and hands out lines. Memory is bounded: by the limit, a chunk, and a quarter of both for growing.
///
/// ```
/// use lapidary_wire::lines::{LineBuffer, RawLine};
/// let mut lines = LineBuffer::default();
/// lines.push(b"one\r\ntw");
/// assert_eq!(lines.next_line(), Some(RawLine::Whole(b"one")));
/// assert_eq!(lines.next_line(), None);
/// lines.push(b"o");
/// assert_eq!(lines.last_line(), Some(RawLine::Whole(b"two")));
/// ```
#[derive(Debug)]
pub struct LineBuffer {
    limit: usize,
    /// The least room that is offered for a read.
    chunk: usize,
    buffer: Vec<u8>,
    /// Where the next line starts in `buffer`.
    start: usize,
    /// Up to where `buffer` holds bytes that were read; behind it there is only room.
    end: usize,
    /// Up to where no newline was found yet, so that a long line is not searched again with every chunk.
    searched: usize,
    /// Bytes of a line over the limit that were let go already. Its head and its end are kept aside.
    dropped: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    at_beginning: bool,
    /// Bytes of the lines that were handed out, their ends included.
    taken: u64,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl LineBuffer {
    /// A buffer that keeps lines of up to `limit` bytes whole.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            chunk: CHUNK,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            dropped: 0,
            head: Vec::new(),
            tail: Vec::new(),
            at_beginning: true,
            taken: 0,
        }
    }

    /// A buffer for bytes that start in the middle of a line; reading begins with the next line.
    pub fn midway(limit: usize) -> Self {
        Self {
            at_beginning: false,
            ..Self::with_limit(limit)
        }
    }

    /// The same, for reads of about `bytes`: for files that grow slowly, and for readers of which there are many.
    #[must_use]
    pub fn reading(self, bytes: usize) -> Self {
        Self {
            chunk: bytes,
            ..self
        }
    }

    /// Where the next line begins, counted in bytes from the first.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// An empty buffer in the memory of this one: a new one costs a chunk of zeros.
    #[must_use]
    pub fn emptied(self, limit: usize) -> Self {
        Self {
            buffer: self.buffer,
            chunk: self.chunk,
            ..Self::with_limit(limit)
        }
    }

    /// A buffer that takes over bytes which were read before.
    pub fn holding(bytes: Vec<u8>, limit: usize) -> Self {
        let end = bytes.len();
        Self {
            buffer: bytes,
            end,
            ..Self::with_limit(limit)
        }
    }

    /// Room to read into; tell [`LineBuffer::filled`] how much of it was used. Saves a copy over [`LineBuffer::push`].
    pub fn room(&mut self) -> &mut [u8] {
        // Half a chunk will do where there is a buffer: the rest of a line would otherwise make it grow with the second read.
        let wanted = if self.buffer.len() < self.chunk {
            self.chunk
        } else {
            self.chunk / 2
        };
        self.make_room(wanted);
        &mut self.buffer[self.end..]
    }

    /// Takes in the first `count` bytes of [`LineBuffer::room`].
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// Takes in bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// The next line that has ended. None until more bytes come.
    pub fn next_line(&mut self) -> Option<RawLine<'_>> {
        if !self.find_line() {
            return None;
        }
        let newline = self.searched;
        let line = self.start..newline;
        self.start = newline + 1;
        self.searched = self.start;
        self.taken += 1;
        Some(self.finish_line(line))
    }

    /// True if [`LineBuffer::next_line`] has one.
    pub fn find_line(&mut self) -> bool {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]);
        let Some(offset) = found else {
            self.searched = self.end;
            self.drop_overlong();
            return false;
        };
        self.searched += offset;
        true
    }

    /// Where the next line ends, its newline included, counted in bytes from the first. None until it has ended.
    pub fn next_end(&mut self) -> Option<u64> {
        let find_line = self.find_line();
        let length = self.dropped + (self.searched - self.start) as u64;
        find_line.then(|| self.taken + length + 1)
    }

    /// The last line when there will be no more bytes: one without its newline.
    pub fn last_line(&mut self) -> Option<RawLine<'_>> {
        if self.start == self.end && self.dropped == 0 {
            return None;
        }
        let line = self.start..self.end;
        self.start = self.end;
        self.searched = self.end;
        Some(self.finish_line(line))
    }

    fn finish_line(&mut self, line: std::ops::Range<usize>) -> RawLine<'_> {
        let length = self.dropped + line.len() as u64;
        self.taken += length;
        let is_first = std::mem::take(&mut self.at_beginning);
        if length > self.limit as u64 {
            self.keep_ends(line);
            self.dropped = 0;
            let (head, tail) = (&self.head, &self.tail);
            return RawLine::TooLong { head, tail, length };
        }
        let mut bytes = &self.buffer[line];
        if is_first {
            // A byte order mark is no part of the first line.
            bytes = without_mark(bytes);
        }
        RawLine::Whole(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// Keeps more of the head of a line over the limit, until the head is complete, and the end of the piece.
    fn keep_ends(&mut self, piece: std::ops::Range<usize>) {
        if self.dropped == 0 {
            self.head.clear();
            self.tail.clear();
        }
        let last = piece.start.max(piece.end.saturating_sub(KEPT_OF_END));
        self.tail.extend_from_slice(&self.buffer[last..piece.end]);
        let older = self.tail.len().saturating_sub(KEPT_OF_END);
        self.tail.drain(..older);
        let missing = KEPT_OF_TOO_LONG - self.head.len();
        let kept = piece.start..piece.end.min(piece.start + missing);
        self.head.extend_from_slice(&self.buffer[kept]);
    }

    /// Lets go of a line that is over the limit and has not ended.
    fn drop_overlong(&mut self) {
        let pending = self.end - self.start;
        if self.dropped == 0 && pending <= self.limit {
            return;
        }
        self.keep_ends(self.start..self.end);
        self.dropped += pending as u64;
        self.start = 0;
        self.end = 0;
        self.searched = 0;
    }

    /// Makes room behind `end`: first by moving pending bytes to the front, then by growing.
    fn make_room(&mut self, wanted: usize) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.searched = 0;
            if self.buffer.len() > 8 * self.chunk {
                self.buffer = Vec::new(); // A giant line has passed: give its memory back.
            }
        }
        if self.buffer.len() - self.end >= wanted {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        // By a quarter, not by doubling: a line of 60 MB shall not cost 120.
        let grown = self.end + wanted.max(self.end / 4);
        if self.buffer.is_empty() {
            // Zeroed by the system, page by page as they are read into: a stream of three lines shall not cost a chunk.
            self.buffer = vec![0; grown];
        } else if self.buffer.len() < self.end + wanted {
            self.buffer.reserve_exact(grown - self.buffer.len());
            self.buffer.resize(grown, 0);
        }
    }
}
