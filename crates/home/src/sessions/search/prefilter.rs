//! A look at a file's bytes that tells most files in which nothing can be found, at the speed of memory.
//!
//! It may let through what has nothing in it; it never holds back what has. A word's letters stand in a JSON file as they are,
//! unless somebody wrote them as `\u0041`: a file with such an escape is let through.

use memchr::memmem;

use super::needle::{BLOCK, Needle};
use super::query::{Query, Term};

/// The key whose value is a session's id.
const ID: &[u8] = b"\"sessionId\"";

/// How long an escape is: `\u0041`.
const ESCAPE: usize = 6;

/// What a look at a file's bytes tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Swept<'b> {
    /// Everything may be in it.
    Perhaps,
    /// Something is not in it; and this is the id that it gives its session, if it says so once and plainly.
    Nothing(Option<&'b str>),
}

/// What has to be in the bytes.
#[derive(Debug)]
pub(super) struct Prefilter<'q> {
    /// The longest run of ASCII letters of what is looked for. None if anything may be a hit.
    needed: Option<&'q Needle>,
    id: memmem::Finder<'static>,
}

impl<'q> Prefilter<'q> {
    pub(super) fn of(query: &'q Query) -> Self {
        let needles = query.terms.iter().filter_map(Term::needle);
        Self {
            needed: needles.max_by_key(|needle| needle.len()),
            id: memmem::Finder::new(ID),
        }
    }

    /// Looks at a file's bytes.
    pub(super) fn sweep<'b>(&self, bytes: &'b [u8]) -> Swept<'b> {
        let Some(needed) = self.needed else {
            return Swept::Perhaps;
        };
        if needed.is_in(bytes) || is_letter_escaped(bytes) {
            return Swept::Perhaps;
        }
        let mut ids = self.id.find_iter(bytes);
        match (ids.next(), ids.next()) {
            (Some(at), None) => Swept::Nothing(id_behind(&bytes[at + ID.len()..])),
            _ => Swept::Nothing(None),
        }
    }
}

/// The id that stands behind its key, if it stands there plainly.
fn id_behind(rest: &[u8]) -> Option<&str> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let id = std::str::from_utf8(&rest[..end]).ok()?;
    (rest[end] == b'"' && !id.is_empty()).then_some(id)
}

/// True if an ASCII letter or digit is written as an escape. Control characters always are, and tools print many: so the first digit
/// that tells them apart is looked at, too, a block at a time.
pub(super) fn is_letter_escaped(bytes: &[u8]) -> bool {
    let Some(starts) = (bytes.len() + 1).checked_sub(ESCAPE) else {
        return false;
    };
    let blocks = |place: usize| bytes[place..place + starts].as_chunks::<BLOCK>().0;
    let (backslashes, letters, digits) = (blocks(0), blocks(1), blocks(4));
    let triples = backslashes.iter().zip(letters).zip(digits);
    for (place, ((backslashes, letters), digits)) in triples.enumerate() {
        let mut may_be = 0u8;
        for ((backslash, letter), digit) in backslashes.iter().zip(letters).zip(digits) {
            // The last part leaves nothing of `3` to `7`, and of three signs that are sorted out below.
            let differs = (backslash ^ b'\\') | (letter ^ b'u') | (digit.wrapping_sub(b'3') & 0xf8);
            may_be |= u8::from(differs == 0);
        }
        if may_be != 0 && is_escaped_among(bytes, place * BLOCK) {
            return true;
        }
    }
    is_escaped_among(bytes, backslashes.len() * BLOCK)
}

/// True if such an escape begins in the block that begins here. A backslash that is escaped itself escapes nothing.
#[cold]
fn is_escaped_among(bytes: &[u8], from: usize) -> bool {
    let to = (from + BLOCK + ESCAPE - 1).min(bytes.len());
    let mut places = bytes[from..to].windows(ESCAPE).enumerate();
    places.any(|(at, here)| {
        let [b'\\', b'u', b'0', b'0', digits @ ..] = here else {
            return false;
        };
        let digits = std::str::from_utf8(digits).ok();
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let before = bytes[..from + at].iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        code.is_some_and(|code| code.is_ascii_alphanumeric()) && backslashes % 2 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_let_through_unless_nothing_can_be_in_them() {
        let lets = |query: &str, bytes: &str| {
            let query = Query::words(query).unwrap();
            Prefilter::of(&query).sweep(bytes.as_bytes()) == Swept::Perhaps
        };
        assert!(lets("word", r#"a "sWOrdfish""#));
        assert!(!lets("word", r#"a "wor d" \u001b[0m \ud83d"#));
        assert!(lets("word", r"\u0077ord"));
        assert!(!lets("word", r"\u003c \\u0077ord"));
        assert!(lets("word", r" \\\u0077ord"));
        assert!(lets("été", "\u{c9}T\u{c9}"));
        assert!(lets("дом", "anything"));
        assert!(!lets("a \"of words\"", "a word of yours"));
        assert!(!lets("word", ""));
    }

    #[test]
    fn an_escape_is_seen_wherever_it_is() {
        for at in 0..3 * BLOCK {
            for (text, is_letter) in [(r"\u0077", true), (r"\u001b", false), (r"\u003a", false)] {
                let bytes = " ".repeat(at) + text + &" ".repeat(at % 50);
                assert_eq!(
                    is_letter_escaped(bytes.as_bytes()),
                    is_letter,
                    "{text} at {at}"
                );
            }
        }
    }

    #[test]
    fn an_id_is_told_only_where_it_is_beyond_doubt() {
        let id = |bytes: &str| {
            let query = Query::words("word").unwrap();
            match Prefilter::of(&query).sweep(bytes.as_bytes()) {
                Swept::Nothing(id) => id.map(ToOwned::to_owned),
                Swept::Perhaps => panic!("nothing of it is in {bytes}"),
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
