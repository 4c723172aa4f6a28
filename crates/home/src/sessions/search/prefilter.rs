//! A look at a file's bytes that tells most files in which nothing can be found, at the speed of memory.
//!
//! It may let through what has nothing in it; it never holds back what has. A word's letters stand in a JSON file as they are,
//! unless somebody wrote them as `\u0041`: a file with such an escape is let through.

use memchr::memmem;

use super::query::{Query, Term};

/// The key whose value is a session's id.
const ID: &[u8] = b"\"sessionId\"";

/// What has to be in the bytes.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// The longest run of ASCII letters of what is looked for. None if anything may be a hit.
    needed: Option<Needle>,
    escape: memmem::Finder<'static>,
    id: memmem::Finder<'static>,
}

impl Prefilter {
    pub(super) fn of(query: &Query) -> Self {
        let longest = query
            .terms
            .iter()
            .flat_map(runs)
            .max_by_key(|run| run.len());
        Self {
            needed: longest.map(Needle::of),
            escape: memmem::Finder::new(b"\\u00"),
            id: memmem::Finder::new(ID),
        }
    }

    /// False if nothing can be found in a file of these bytes.
    pub(super) fn lets_through(&self, bytes: &[u8]) -> bool {
        self.needed
            .as_ref()
            .is_none_or(|needed| needed.is_in(bytes) || self.is_letter_escaped(bytes))
    }

    /// True if an ASCII letter or digit is written as an escape. Control characters always are.
    fn is_letter_escaped(&self, bytes: &[u8]) -> bool {
        let mut escapes = self.escape.find_iter(bytes);
        escapes.any(|at| matches!(bytes.get(at + 4), Some(b'3'..=b'7')))
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

/// How many bytes are looked at in one go.
const BLOCK: usize = 128;

/// A run of ASCII letters and digits, looked for in any case.
///
/// Two of its bytes, the rarest, are compared at their distance, a block at a time, in a loop that compilers turn into vector
/// instructions: three times as fast as the automaton of a regular expression, and all but free beside reading the file.
#[derive(Debug)]
struct Needle {
    run: Vec<u8>,
    /// Where in the run its two rarest bytes are; twice the same if there is only one.
    first: usize,
    second: usize,
}

impl Needle {
    fn of(run: &str) -> Self {
        let run = run.to_ascii_lowercase().into_bytes();
        let mut places: Vec<usize> = (0..run.len()).collect();
        places.sort_by_key(|&place| commonness(run[place]));
        let first = places.first().copied().unwrap_or(0);
        let second = places.get(1).copied().unwrap_or(first);
        Self { run, first, second }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let Some(starts) = (bytes.len() + 1).checked_sub(self.run.len()) else {
            return false;
        };
        let one = &bytes[self.first..self.first + starts];
        let other = &bytes[self.second..self.second + starts];
        let (wanted, other_wanted) = (self.run[self.first], self.run[self.second]);
        let (blocks, _) = one.as_chunks::<BLOCK>();
        let (other_blocks, _) = other.as_chunks::<BLOCK>();
        let pairs = blocks.iter().zip(other_blocks);
        let is_in_block = |(place, (one, other)): (usize, (&[u8; BLOCK], &[u8; BLOCK]))| {
            let mut may_be = 0u8;
            for (one, other) in one.iter().zip(other) {
                // Small letters; what else this makes equal is sorted out below.
                may_be |= u8::from(one | 0x20 == wanted) & u8::from(other | 0x20 == other_wanted);
            }
            may_be != 0 && self.is_among(bytes, place * BLOCK)
        };
        let rest = blocks.len() * BLOCK;
        pairs.enumerate().any(is_in_block) || self.is_among(bytes, rest)
    }

    /// True if it begins in the block that begins here.
    #[cold]
    fn is_among(&self, bytes: &[u8], from: usize) -> bool {
        let to = (from + BLOCK + self.run.len() - 1).min(bytes.len());
        let mut places = bytes[from..to].windows(self.run.len());
        places.any(|here| here.eq_ignore_ascii_case(&self.run))
    }
}

/// How common a letter is, roughly, in what people and programs write.
fn commonness(byte: u8) -> usize {
    const RAREST_FIRST: &[u8] = b"qzjx9786543kvywbg20hfpmu1dclnsoriate";
    let place = RAREST_FIRST.iter().position(|letter| *letter == byte);
    place.unwrap_or(RAREST_FIRST.len())
}

/// The runs of ASCII letters and digits in a term's words.
fn runs(term: &Term) -> Vec<&str> {
    match term {
        Term::Words { words, .. } => words
            .iter()
            .flat_map(|word| word.split(|letter: char| !letter.is_ascii()))
            .filter(|run| !run.is_empty())
            .collect(),
        Term::Regex(_) => Vec::new(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops where it stands")]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_let_through_unless_nothing_can_be_in_them() {
        let lets = |query: &str, bytes: &str| {
            Prefilter::of(&Query::words(query).unwrap()).lets_through(bytes.as_bytes())
        };
        assert!(lets("word", r#"a "sWOrdfish""#));
        assert!(!lets("word", r#"a "wor d" \u001b[0m \ud83d"#));
        assert!(lets("word", r#"\u0077ord"#));
        assert!(lets("été", "\u{c9}T\u{c9}"));
        assert!(lets("дом", "anything"));
        assert!(!lets("a \"of words\"", "a word of yours"));
    }

    #[test]
    fn a_needle_is_found_wherever_it_is() {
        for word in ["x", "no", "needle", "2024", "aaaaaaaaaab"] {
            let needle = Needle::of(word);
            for length in 0..3 * BLOCK {
                let mut bytes = vec![b'a'; length];
                assert!(!needle.is_in(&bytes), "{word} in nothing of {length}");
                bytes.extend(word.to_ascii_uppercase().bytes());
                assert!(needle.is_in(&bytes), "{word} behind {length}");
                bytes.extend(b"and more".repeat(length % 40));
                assert!(needle.is_in(&bytes), "{word} behind {length}, and more");
            }
        }
    }

    #[test]
    fn an_id_is_told_only_where_it_is_beyond_doubt() {
        let id = |bytes: &str| {
            let filter = Prefilter::of(&Query::words("x").unwrap());
            filter.only_id(bytes.as_bytes()).map(ToOwned::to_owned)
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
