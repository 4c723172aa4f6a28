//! A look at a file's bytes that tells most files in which nothing can be found, at the speed of memory.
//!
//! It may let through what has nothing in it; it never holds back what has. A word's letters stand in a JSON file as they are,
//! unless somebody wrote them as `\u0041`: a file with such an escape is let through.

use memchr::memmem;

use super::needle::Needle;
use super::query::{Query, Term};

/// The key whose value is a session's id.
const ID: &[u8] = b"\"sessionId\"";

/// What has to be in the bytes.
#[derive(Debug)]
pub(super) struct Prefilter<'q> {
    /// The longest run of ASCII letters of what is looked for. None if anything may be a hit.
    needed: Option<&'q Needle>,
    escape: memmem::Finder<'static>,
    id: memmem::Finder<'static>,
}

impl<'q> Prefilter<'q> {
    pub(super) fn of(query: &'q Query) -> Self {
        let needles = query.terms.iter().filter_map(Term::needle);
        Self {
            needed: needles.max_by_key(|needle| needle.len()),
            escape: memmem::Finder::new(b"\\u00"),
            id: memmem::Finder::new(ID),
        }
    }

    /// False if nothing can be found in a file of these bytes.
    pub(super) fn lets_through(&self, bytes: &[u8]) -> bool {
        self.needed
            .is_none_or(|needed| needed.is_in(bytes) || self.is_letter_escaped(bytes))
    }

    /// True if an ASCII letter or digit is written as an escape. Control characters always are; and a backslash that is escaped
    /// itself escapes nothing.
    fn is_letter_escaped(&self, bytes: &[u8]) -> bool {
        let mut escapes = self.escape.find_iter(bytes);
        escapes.any(|at| {
            let digits = bytes.get(at + 4..at + 6);
            let code = digits
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let before = &bytes[..at];
            let backslashes = before
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count();
            code.is_some_and(|code| code.is_ascii_alphanumeric()) && backslashes % 2 == 0
        })
    }

    /// The id that a file gives its session, if it says so once and plainly.
    pub(super) fn only_id<'b>(&self, bytes: &'b [u8]) -> Option<&'b str> {
        let at = self.id.find(bytes)? + ID.len();
        let rest = &bytes[at..];
        if self.id.find(rest).is_some() {
            return None;
        }
        let rest = rest.trim_ascii_start().strip_prefix(b":")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr2(b'"', b'\\', rest)?;
        let id = std::str::from_utf8(&rest[..end]).ok()?;
        (rest[end] == b'"' && !id.is_empty()).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_let_through_unless_nothing_can_be_in_them() {
        let lets = |query: &str, bytes: &str| {
            Prefilter::of(&Query::words(query).unwrap()).lets_through(bytes.as_bytes())
        };
        assert!(lets("word", r#"a "sWOrdfish""#));
        assert!(!lets("word", r#"a "wor d" \u001b[0m \ud83d"#));
        assert!(lets("word", r"\u0077ord"));
        assert!(!lets("word", r"\u003c \\u0077ord"));
        assert!(lets("word", r"\\\u0077ord"));
        assert!(lets("été", "\u{c9}T\u{c9}"));
        assert!(lets("дом", "anything"));
        assert!(!lets("a \"of words\"", "a word of yours"));
    }

    #[test]
    fn an_id_is_told_only_where_it_is_beyond_doubt() {
        let id = |bytes: &str| {
            let query = Query::words("x").unwrap();
            Prefilter::of(&query)
                .only_id(bytes.as_bytes())
                .map(ToOwned::to_owned)
        };
        assert_eq!(id(r#"{"sessionId" : "abc","x":1}"#).as_deref(), Some("abc"));
        assert_eq!(
            id(r#"{"sessionId":"abc"} {"$set":{"sessionId":"d"}}"#),
            None
        );
        assert_eq!(id(r#"{"sessionId":"a\u0062c"}"#), None);
        assert_eq!(id(r#"{"sessionId":3}"#), None);
        assert_eq!(id(r#"{"text":"\"sessionId\": \"abc\""}"#), None);
        assert_eq!(id(r#"{"sessionId":"abc"#), None);
    }
}
