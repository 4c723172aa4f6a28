//! Server-sent events: bytes of a `text/event-stream` into the data of its events.
//!
//! Lines end with `\r`, `\n` or `\r\n`, a byte order mark at the beginning is no part of the first line, lines that begin with a colon
//! are comments. Data stays bytes: a model's thought signature must go back as it came.

use crate::lines::without_mark;

/// The largest event that is kept, unless the caller says otherwise.
pub const DEFAULT_EVENT_LIMIT: usize = 16 * 1024 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// The data: the `data` lines, joined by `\n`.
    pub data: Vec<u8>,
    /// The event's name, if it has one.
    pub name: Option<Vec<u8>>,
    /// The id that it sets, if it sets one.
    pub id: Option<Vec<u8>>,
    /// How many milliseconds to wait before connecting again, if it says so.
    pub retry_ms: Option<u64>,
}

/// An event over the limit. Nothing behind it can be read: its end was not looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Collects bytes and hands out events. Memory is bounded by the limit and the bytes that are pushed at once.
///
/// ```
/// use lapidary_wire::sse::EventBuffer;
/// let mut events = EventBuffer::default();
/// events.push(b"data: {\"a\":1}\r\n\r\ndata: 2");
/// assert_eq!(events.next_event().unwrap().unwrap().data, b"{\"a\":1}");
/// assert_eq!(events.next_event(), Ok(None));
/// assert_eq!(events.unfinished().unwrap().data, b"2");
/// ```
#[derive(Debug)]
pub struct EventBuffer {
    limit: usize,
    /// Bytes that are not read yet.
    bytes: Vec<u8>,
    /// Where the next line starts in `bytes`.
    start: usize,
    /// Up to where no line end was found yet.
    searched: usize,
    /// The event whose blank line has not come yet.
    open: ServerEvent,
    has_data: bool,
    is_at_beginning: bool,
}

impl Default for EventBuffer {
    fn default() -> Self {
        Self::with_limit(DEFAULT_EVENT_LIMIT)
    }
}

impl EventBuffer {
    /// A buffer that keeps events of up to `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            open: ServerEvent::default(),
            has_data: false,
            is_at_beginning: true,
        }
    }

    /// Takes up bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole event that has data; none until more bytes come.
    pub fn next_event(&mut self) -> Result<Option<ServerEvent>, EventTooLarge> {
        while let Some(line) = self.next_line() {
            self.check_size(line.len())?;
            let line = &self.bytes[line];
            if line.is_empty() {
                if let Some(event) = self.close() {
                    return Ok(Some(event));
                }
                continue;
            }
            let (field, value) = split_field(line);
            take_field(&mut self.open, &mut self.has_data, field, value);
            self.check_size(self.open.data.len())?;
        }
        let waiting = &self.bytes[self.start..self.searched];
        let waiting = if self.is_at_beginning {
            without_mark(waiting)
        } else {
            waiting
        };
        self.check_size(waiting.len())?;
        Ok(None)
    }

    /// The event that has no blank line behind it, once the stream is over. The standard discards it; servers that forget the blank
    /// line at the end do exist, and its data shows whether it is whole.
    pub fn unfinished(mut self) -> Option<ServerEvent> {
        let last = self.bytes.split_off(self.start);
        let last = last.strip_suffix(b"\r").unwrap_or(&last);
        let last = if self.is_at_beginning {
            without_mark(last)
        } else {
            last
        };
        if !last.is_empty() {
            let (field, value) = split_field(last);
            take_field(&mut self.open, &mut self.has_data, field, value);
        }
        self.close()
    }

    /// A line and an event's data have the same limit, so that it does not matter in which pieces the bytes came.
    fn check_size(&self, size: usize) -> Result<(), EventTooLarge> {
        if size > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Where the next line stands, without its end. A `\r` at the very end waits for the byte behind it, which may be its `\n`.
    fn next_line(&mut self) -> Option<std::ops::Range<usize>> {
        let found = memchr::memchr2(b'\r', b'\n', &self.bytes[self.searched..]);
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.bytes.len();
            return None;
        };
        let length = match (self.bytes[end], self.bytes.get(end + 1)) {
            (b'\r', None) => {
                self.searched = end;
                return None;
            }
            (b'\r', Some(b'\n')) => 2,
            _ => 1,
        };
        let mut line = self.start..end;
        if self.is_at_beginning {
            self.is_at_beginning = false;
            line.start = end - without_mark(&self.bytes[line.clone()]).len();
        }
        self.start = end + length;
        self.searched = self.start;
        Some(line)
    }

    /// Ends the open event. One without data is none.
    fn close(&mut self) -> Option<ServerEvent> {
        let event = std::mem::take(&mut self.open);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

/// A line as its field and its value. A comment has an empty field.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        None => (line, b""),
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

fn take_field(event: &mut ServerEvent, has_data: &mut bool, field: &[u8], value: &[u8]) {
    match field {
        b"data" => {
            if *has_data {
                event.data.push(b'\n');
            }
            *has_data = true;
            event.data.extend_from_slice(value);
        }
        b"event" => event.name = Some(value.to_vec()),
        b"id" if !value.contains(&0) => event.id = Some(value.to_vec()),
        b"retry" => {
            let digits = std::str::from_utf8(value).ok();
            event.retry_ms = digits.and_then(|digits| digits.parse().ok());
        }
        _ => {}
    }
}
