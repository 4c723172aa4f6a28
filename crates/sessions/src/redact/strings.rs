//! The strings of a file. The file need not be valid JSON: secrets are removed from torn lines and plain text as well.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use lapidary_json::Token;
use lapidary_wire::lines::without_mark;

use super::SecretHit;

/// A piece of a file: the inside of a string, or the bytes between two strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringPiece<'a> {
    file: &'a [u8],
    start: usize,
    end: usize,
    is_string: bool,
    /// The string that was the key, for one that is the value of a member.
    key: Option<(usize, usize)>,
}

/// The pieces of a file, in order, without gaps. A line that is no JSON is one piece, because the places of its strings are
/// unknown.
pub(super) fn string_pieces(file: &[u8]) -> impl Iterator<Item = StringPiece<'_>> {
    json_segments(file).flat_map(move |(segment, is_json)| {
        let whole = StringPiece {
            file,
            start: segment.start,
            end: segment.end,
            is_string: false,
            key: None,
        };
        let strings = JsonStrings {
            file: &file[..segment.end],
            at: segment.start,
            state: StringState::Outside,
            last_string: None,
            key: None,
        };
        let (whole, strings) = if is_json {
            (None, Some(strings))
        } else {
            (Some(whole), None)
        };
        whole.into_iter().chain(strings.into_iter().flatten())
    })
}

/// The document, or else the lines and, each for itself, their ends; and whether it is JSON.
fn json_segments(file: &[u8]) -> impl Iterator<Item = (Range<usize>, bool)> {
    let is_document = is_json(file);
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= file.len() {
            return None;
        }
        let start = at;
        at = match memchr::memchr(b'\n', &file[start..]) {
            Some(found) if !is_document => start + found.max(1),
            _ => file.len(),
        };
        let is_json = is_document || is_json(&file[start..at]);
        Some((start..at, is_json))
    })
}

fn is_json(bytes: &[u8]) -> bool {
    let text = simdutf8::basic::from_utf8(without_mark(bytes));
    text.is_ok_and(|text| Token::parse(text).is_ok())
}

/// The strings of a JSON text, and the bytes between them.
#[derive(Debug)]
struct JsonStrings<'a> {
    file: &'a [u8],
    at: usize,
    state: StringState,
    last_string: Option<(usize, usize)>,
    key: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringState {
    Outside,
    InString,
    /// The quote that ends the string comes next.
    BehindString,
}

impl<'a> Iterator for JsonStrings<'a> {
    type Item = StringPiece<'a>;

    fn next(&mut self) -> Option<StringPiece<'a>> {
        if self.at >= self.file.len() {
            return None;
        }
        let piece = match self.state {
            StringState::InString => self.next_string(),
            StringState::Outside => self.next_gap(self.at),
            StringState::BehindString => self.next_gap(self.at + 1),
        };
        self.at = piece.end;
        Some(piece)
    }
}

impl<'a> JsonStrings<'a> {
    fn next_string(&mut self) -> StringPiece<'a> {
        let mut end = self.at;
        while let Some(found) = memchr::memchr2(b'"', b'\\', &self.file[end..]) {
            end += found;
            if self.file[end] == b'"' {
                break;
            }
            end += 2;
        }
        self.last_string = Some((self.at, end));
        self.state = StringState::BehindString;
        self.piece_until(end, true)
    }

    /// The bytes up to and including the quote with which the next string begins; the quote is searched for from `from`.
    fn next_gap(&mut self, from: usize) -> StringPiece<'a> {
        let quote = memchr::memchr(b'"', &self.file[from..]).map(|found| from + found);
        let between = &self.file[from..quote.unwrap_or(from)];
        let piece = self.piece_until(quote.map_or(self.file.len(), |quote| quote + 1), false);
        self.key = self.last_string.filter(|_| between.trim_ascii() == b":");
        self.state = StringState::InString;
        piece
    }

    fn piece_until(&self, end: usize, is_string: bool) -> StringPiece<'a> {
        StringPiece {
            file: self.file,
            start: self.at,
            end,
            is_string,
            key: self.key.filter(|_| is_string),
        }
    }
}

impl<'a> StringPiece<'a> {
    pub(super) fn start(&self) -> usize {
        self.start
    }

    fn raw_bytes(&self) -> &'a [u8] {
        &self.file[self.start..self.end]
    }

    /// The key of the member whose value this is.
    pub(super) fn member_key(&self) -> Option<Cow<'a, [u8]>> {
        let (start, end) = self.key?;
        Some(resolve_escapes(&self.file[start..end]))
    }

    /// The decoded text: of a string with its escapes resolved.
    pub(super) fn decoded_text(&self) -> Cow<'a, [u8]> {
        if self.is_string {
            resolve_escapes(self.raw_bytes())
        } else {
            Cow::Borrowed(self.raw_bytes())
        }
    }

    /// Writes the raw bytes with each hit replaced by the result of `instead`, which needs no escape.
    pub(super) fn write_redacted(
        &self,
        hits: &[SecretHit],
        mut instead: impl FnMut(&SecretHit) -> String,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let raw = self.raw_bytes();
        let mut walk = StringWalk::new(raw, self.is_string);
        let mut written = 0;
        for hit in hits {
            let from = walk.raw_offset(hit.range.start);
            out.write_all(&raw[written..from])?;
            out.write_all(instead(hit).as_bytes())?;
            written = walk.raw_offset(hit.range.end);
        }
        out.write_all(&raw[written..])
    }
}

/// Walks a raw text and its decoded form together, to map offsets of the decoded form to the raw text.
struct StringWalk<'a> {
    raw: &'a [u8],
    is_string: bool,
    at: usize,
    said: usize,
}

impl<'a> StringWalk<'a> {
    fn new(raw: &'a [u8], is_string: bool) -> Self {
        Self {
            raw,
            is_string,
            at: 0,
            said: 0,
        }
    }

    /// The offset in the raw text of the byte at `said` in the decoded text. Must not go backwards.
    fn raw_offset(&mut self, said: usize) -> usize {
        while self.said < said && self.at < self.raw.len() {
            let rest = &self.raw[self.at..];
            let plain = if self.is_string {
                memchr::memchr(b'\\', rest).unwrap_or(rest.len())
            } else {
                rest.len()
            };
            let step = plain.min(said - self.said);
            self.at += step;
            self.said += step;
            if step == plain && self.said < said {
                let (raw, spoken) = first_escape(&self.raw[self.at..]);
                self.at += raw;
                self.said += spoken.len_utf8();
            }
        }
        self.at
    }
}

fn resolve_escapes(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(found) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..found]);
        let (length, char) = first_escape(&rest[found..]);
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[found + length..];
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}

/// The length of the escape with which a text begins, and its character: U+FFFD for one that is cut off or a lone surrogate.
fn first_escape(raw: &[u8]) -> (usize, char) {
    let plain = match raw.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode_escape(raw),
        Some(byte) if byte.is_ascii() => char::from(*byte),
        _ => return (1, '\\'),
    };
    (2, plain)
}

fn unicode_escape(raw: &[u8]) -> (usize, char) {
    let Some(high) = utf16_unit(raw) else {
        return (2, char::REPLACEMENT_CHARACTER);
    };
    if (0xD800..0xDC00).contains(&high)
        && let Some(low) = raw.get(6..).and_then(utf16_unit)
        && let Some(Ok(char)) = char::decode_utf16([high, low]).next()
    {
        return (12, char);
    }
    let char = char::from_u32(u32::from(high)).unwrap_or(char::REPLACEMENT_CHARACTER);
    (6, char)
}

fn utf16_unit(raw: &[u8]) -> Option<u16> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
