//! A look at a file's bytes that excludes most files without a match, at the speed of memory.
//!
//! It may let through a file without a match; it never excludes one with a match. A word's letters stand in a JSON file as they
//! are, or as others that are compared as the same (`needle` looks for both), unless they are written as `\u0041`: a file with
//! such an escape of a letter of the word is let through. Control characters are always written so, and tools print many: the
//! digits that tell them apart are checked, too, before the escape is decoded.

mod columns;

use std::sync::LazyLock;

use fearless_simd::{Level, Simd, dispatch};
use memchr::memmem;

use self::columns::ByteColumns;
use super::letters::{self, LetterClass};
use super::needle::{BLOCK, Needle};
use super::query::{QueryTerm, SearchQuery};

/// The key whose value is a session's id.
const ID: &[u8] = b"\"sessionId\"";

/// How long an escape is: `\u0041`.
const ESCAPE: usize = 6;

/// The result of a look at a file's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SweepResult<'b> {
    /// Everything may be in it.
    Perhaps,
    /// At least one term is not in it. The id of its session, if the file names it once and plainly.
    Nothing(Option<&'b str>),
}

/// The needle that the bytes must contain.
#[derive(Debug)]
pub(super) struct Prefilter<'q> {
    /// The longest run of letters of the query. None if every file may match.
    needed: Option<&'q Needle>,
    id: memmem::Finder<'static>,
}

impl<'q> Prefilter<'q> {
    pub(super) fn new(query: &'q SearchQuery) -> Self {
        let needles = query.terms.iter().filter_map(QueryTerm::term_needle);
        Self {
            needed: needles.max_by_key(|needle| needle.len()),
            id: memmem::Finder::new(ID),
        }
    }

    /// Whether all of the query may be in these bytes, wherever the session's id stands. In JSON within JSON the backslash of an
    /// escape is escaped itself.
    pub(super) fn may_match(&self, bytes: &[u8], depth: JsonDepth) -> bool {
        let Some(needed) = self.needed else {
            return true;
        };
        dispatch!(Level::new(), simd => may_be_in_nested(simd, needed, bytes, depth))
    }

    /// False if every file may match.
    pub(super) fn is_selective(&self) -> bool {
        self.needed.is_some()
    }

    /// Looks at a file's bytes.
    pub(super) fn sweep_bytes<'b>(&self, bytes: &'b [u8]) -> SweepResult<'b> {
        let Some(needed) = self.needed else {
            return SweepResult::Perhaps;
        };
        let mut ids = IdPosition::None;
        if dispatch!(Level::new(), simd => self.may_be_in(simd, needed, bytes, &mut ids)) {
            return SweepResult::Perhaps;
        }
        SweepResult::Nothing(match ids {
            IdPosition::One(at) => id_behind(&bytes[at + ID.len()..]),
            IdPosition::None | IdPosition::Several => None,
        })
    }

    /// True if the needle is in these bytes, or may be because a letter is escaped; notes the places of ids on the way. All in
    /// one pass: fetching the bytes takes longer than comparing them.
    #[expect(
        clippy::inline_always,
        reason = "only then the widest registers are used"
    )]
    #[inline(always)]
    fn may_be_in<S: Simd>(
        &self,
        _: S,
        needed: &Needle,
        bytes: &[u8],
        ids: &mut IdPosition,
    ) -> bool {
        let columns = ByteColumns::new(bytes, needed);
        let mut next = 0;
        while let Some((place, marks)) = columns.next_marked(next) {
            next = place + 1;
            let from = place * BLOCK;
            if marks.may_match && columns.may_begin(place) && needed.begins_in(bytes, from, BLOCK)
                || marks.may_be_escaped
                    && columns.may_be_letter(place)
                    && is_escaped_in(bytes, from, BLOCK, |letter| needed.may_include(letter))
                || marks.is_other && needed.varies_in(bytes, from, BLOCK)
            {
                return true;
            }
            if marks.may_be_id {
                self.note_ids(bytes, from, BLOCK, ids);
            }
        }
        let rest = columns.escape[0].len() * BLOCK;
        let count = bytes.len() - rest;
        self.note_ids(bytes, rest, count, ids);
        needed.begins_in(bytes, rest, count)
            || needed.varies_in(bytes, rest, count)
            || is_escaped_in(bytes, rest, count, |letter| needed.may_include(letter))
    }

    /// Notes the keys that begin in this many bytes from here on.
    #[cold]
    fn note_ids(&self, bytes: &[u8], from: usize, count: usize, ids: &mut IdPosition) {
        let end = (from + count + ID.len() - 1).min(bytes.len());
        for at in self.id.find_iter(&bytes[from..end]) {
            *ids = match ids {
                IdPosition::None => IdPosition::One(from + at),
                IdPosition::One(_) | IdPosition::Several => IdPosition::Several,
            };
        }
    }
}

/// The look of [`Prefilter::may_match`].
#[expect(
    clippy::inline_always,
    reason = "only then the widest registers are used"
)]
#[inline(always)]
fn may_be_in_nested<S: Simd>(_: S, needed: &Needle, bytes: &[u8], depth: JsonDepth) -> bool {
    let columns = ByteColumns::new(bytes, needed);
    let is_escaped = |from, count| {
        is_escaped_at_depth(bytes, from, count, depth, |letter| {
            needed.may_include(letter)
        })
    };
    let mut next = 0;
    while let Some((place, marks)) = columns.next_marked_text(next) {
        next = place + 1;
        let from = place * BLOCK;
        if marks.may_match && columns.may_begin(place) && needed.begins_in(bytes, from, BLOCK)
            || marks.may_be_escaped && columns.may_be_letter(place) && is_escaped(from, BLOCK)
            || marks.is_other && needed.varies_in(bytes, from, BLOCK)
        {
            return true;
        }
    }
    let rest = columns.escape[0].len() * BLOCK;
    let count = bytes.len() - rest;
    needed.begins_in(bytes, rest, count)
        || needed.varies_in(bytes, rest, count)
        || is_escaped(rest, count)
}

/// Whether strings may be JSON themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonDepth {
    /// Strings are texts.
    Plain,
    /// Some are JSON.
    Nested,
}

/// Where the key of an id is.
#[derive(Debug)]
enum IdPosition {
    None,
    One(usize),
    Several,
}

/// The id that stands behind its key, if it stands there plainly.
fn id_behind(rest: &[u8]) -> Option<&str> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let id = std::str::from_utf8(&rest[..end]).ok()?;
    (rest[end] == b'"' && !id.is_empty()).then_some(id)
}

/// True if a letter, a digit or another part of a word is written as an escape.
pub(super) fn is_letter_escaped(bytes: &[u8]) -> bool {
    is_escaped_in(bytes, 0, bytes.len(), |_| true)
}

/// True if an escape of a character that matters begins in this many bytes from here on. A backslash that is escaped itself escapes nothing.
fn is_escaped_in(bytes: &[u8], from: usize, count: usize, matters: impl Fn(char) -> bool) -> bool {
    is_escaped_at_depth(bytes, from, count, JsonDepth::Plain, matters)
}

/// The same; in JSON within JSON a backslash that is escaped itself counts.
#[cold]
fn is_escaped_at_depth(
    bytes: &[u8],
    from: usize,
    count: usize,
    depth: JsonDepth,
    matters: impl Fn(char) -> bool,
) -> bool {
    static ESCAPES: LazyLock<memmem::Finder<'static>> =
        LazyLock::new(|| memmem::Finder::new(b"\\u"));
    let to = (from + count + ESCAPE - 1).min(bytes.len());
    ESCAPES.find_iter(&bytes[from..to]).any(|at| {
        let at = from + at;
        let is_letter = match code_at(bytes, at) {
            Some(high @ 0xd800..=0xdbff) => {
                let low = code_at(bytes, at + ESCAPE);
                let pair = low.map(|low| char::decode_utf16([high, low]).next());
                matches!(pair, Some(Some(Ok(letter))) if is_word(letter) && matters(letter))
            }
            Some(code) => {
                char::from_u32(code.into()).is_some_and(|letter| is_word(letter) && matters(letter))
            }
            None => false,
        };
        is_letter
            && (depth == JsonDepth::Nested || {
                let before = bytes[..at].iter().rev();
                before.take_while(|byte| **byte == b'\\').count() % 2 == 0
            })
    })
}

/// True for a character that may be part of a term.
fn is_word(letter: char) -> bool {
    letters::letter_class(letter) != LetterClass::Separator
}

/// The code unit of the escape at this place.
fn code_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefilter_passes_bytes_unless_no_match_can_be_in_them() {
        let lets = |query: &str, bytes: &str| {
            let query = SearchQuery::words(query).unwrap();
            Prefilter::new(&query).sweep_bytes(bytes.as_bytes()) == SweepResult::Perhaps
        };
        assert!(lets("word", r#"a "sWOrdfish""#));
        assert!(!lets("word", r#"a "wor d" \u001b[0m \ud83d"#));
        assert!(lets("word", r"\u0077ord"));
        assert!(!lets("word", r"\u003c \\u0077ord"));
        assert!(lets("word", r" \\\u0077ord"));
        assert!(lets("été", "\u{c9}T\u{c9}"));
        assert!(lets("ete", "l'\u{c9}T\u{c9}"));
        assert!(lets("ete", r"\u00e9t\u00e9"));
        assert!(lets("дом", "ДОМ"));
        assert!(!lets("дом", "anything"));
        assert!(lets("日本", r"\u65e5\u672c") && lets("😀", r"\ud83d\ude00"));
        assert!(!lets("日本", r"\u3001 \u2014 \u001b"));
        assert!(!lets("a \"of words\"", "a word of yours"));
        assert!(!lets("word", ""));
    }

    #[test]
    fn the_prefilter_finds_a_word_at_every_offset() {
        for word in ["w", "word", "awordthatislongerthantheothers"] {
            let query = SearchQuery::words(word).unwrap();
            for at in 0..3 * BLOCK {
                let mut bytes = " ".repeat(at);
                assert!(
                    Prefilter::new(&query).sweep_bytes(bytes.as_bytes()) != SweepResult::Perhaps
                );
                bytes += &word.to_uppercase();
                bytes += &" ".repeat(at % 50);
                let swept = Prefilter::new(&query).sweep_bytes(bytes.as_bytes());
                assert_eq!(swept, SweepResult::Perhaps, "{word} at {at}");
            }
        }
    }

    #[test]
    fn an_escape_is_seen_wherever_it_is() {
        for at in 0..3 * BLOCK {
            for (text, is_letter, is_of_word) in [
                (r"\u0077", true, true),
                (r"\u001b", false, false),
                (r"\u003a", false, false),
                (r"\u65e5", true, false),
                (r"\u5012", true, false),
                (r"\u00d3", true, true),
                (r"\u0301", true, true),
                (r"\u2014", false, false),
                (r"\u006F", true, true),
                (r"\uFF37", true, true),
                (r"\user\\", false, false),
                (r"\ud83d", false, false),
                (r"\ud83d\ude00", true, false),
            ] {
                let bytes = " ".repeat(at) + text + &" ".repeat(at % 50);
                let query = SearchQuery::words("word").unwrap();
                let is_let_through =
                    Prefilter::new(&query).sweep_bytes(bytes.as_bytes()) == SweepResult::Perhaps;
                assert_eq!(is_let_through, is_of_word, "{text} at {at}");
                assert_eq!(
                    is_letter_escaped(bytes.as_bytes()),
                    is_letter,
                    "{text} at {at}"
                );
            }
        }
    }

    #[test]
    fn an_id_is_found_wherever_it_is_and_so_is_another() {
        let query = SearchQuery::words("word").unwrap();
        let sweep = |bytes: &str| match Prefilter::new(&query).sweep_bytes(bytes.as_bytes()) {
            SweepResult::Nothing(id) => id.map(ToOwned::to_owned),
            SweepResult::Perhaps => panic!("nothing of it is in {bytes}"),
        };
        let id = r#""sessionId":"abc""#;
        for at in 0..3 * BLOCK {
            let before = " ".repeat(at) + id;
            assert_eq!(sweep(&before).as_deref(), Some("abc"), "at {at}");
            assert_eq!(
                sweep(&(before + &" ".repeat(at % 50) + id)),
                None,
                "twice at {at}"
            );
        }
    }

    #[test]
    fn a_session_id_is_read_only_where_it_is_beyond_doubt() {
        let id = |bytes: &str| {
            let query = SearchQuery::words("word").unwrap();
            match Prefilter::new(&query).sweep_bytes(bytes.as_bytes()) {
                SweepResult::Nothing(id) => id.map(ToOwned::to_owned),
                SweepResult::Perhaps => panic!("nothing of it is in {bytes}"),
            }
        };
        assert_eq!(id(r#"{"sessionId" : "abc","x":1}"#).as_deref(), Some("abc"));
        assert_eq!(
            id(r#"{"sessionId":"abc"} {"$set":{"sessionId":"d"}}"#),
            None
        );
        assert_eq!(id(r#"{"sessionId":"a\"c"}"#), None);
        assert_eq!(id(r#"{"sessionId":3}"#), None);
        assert_eq!(id(r#"{"text":"\"sessionId\": \"abc\""}"#), None);
        assert_eq!(id(r#"{"sessionId":"abc"#), None);
    }
}
