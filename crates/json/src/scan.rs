//! The scanner: one pass, no recursion, no allocation for ordinary lines.
//!
//! Why not `serde_json`? It is our JSON library everywhere else, and the oracle of this module's tests. But it looks at every
//! byte of every string one table lookup at a time, and it hands out either raw text or typed values in one pass, not both.
//! Here strings are skipped with `memchr`, so passing text through is cheaper than reading it.

use std::fmt;

use crate::Token;
use crate::quotes::{self, StringScan};

/// Why a text is not one valid JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidJson {
    /// Byte offset at which the text stops making sense.
    pub at: usize,
    /// The problem at that place, as a short phrase.
    pub problem: &'static str,
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.problem, self.at)
    }
}

impl std::error::Error for InvalidJson {}

/// Why [`scan_object`] found no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanError<'a> {
    /// The text is not JSON.
    Invalid(InvalidJson),
    /// The text is valid JSON, but another kind of value.
    NotAnObject(Token<'a>),
}

/// Validates `text` as one JSON object, hands each member, key and value, to `visit` in the order they stand, and returns the
/// object.
///
/// Members are handed out before the rest of the text is known to be valid: drop the collected members when this returns an error.
///
/// ```
/// use lapidary_json::scan_object;
/// let mut keys = Vec::new();
/// scan_object(r#"{"type":"init","n":1.10}"#, |key, value| keys.push((key.as_str(), value.as_str()))).unwrap();
/// assert_eq!(keys, [("\"type\"", "\"init\""), ("\"n\"", "1.10")]);
/// ```
pub fn scan_object<'a>(
    text: &'a str,
    visit: impl FnMut(Token<'a>, Token<'a>),
) -> Result<Token<'a>, ScanError<'a>> {
    scan_object_with(text, None, |_| (), visit)
}

/// The same, and each element of the array that is called `list` is handed to `element`, before the array itself is to `visit`: for
/// documents that are one long list with a few words around it.
///
/// ```
/// use lapidary_json::scan_object_and_list;
/// let mut numbers = Vec::new();
/// scan_object_and_list(r#"{"n":[1,[2]],"m":[3]}"#, "n", |element| numbers.push(element.as_str()), |_, _| ()).unwrap();
/// assert_eq!(numbers, ["1", "[2]"]);
/// ```
pub fn scan_object_and_list<'a>(
    text: &'a str,
    list: &str,
    element: impl FnMut(Token<'a>),
    visit: impl FnMut(Token<'a>, Token<'a>),
) -> Result<Token<'a>, ScanError<'a>> {
    scan_object_with(text, Some(list), element, visit)
}

#[inline]
fn scan_object_with<'a>(
    text: &'a str,
    list: Option<&str>,
    element: impl FnMut(Token<'a>),
    visit: impl FnMut(Token<'a>, Token<'a>),
) -> Result<Token<'a>, ScanError<'a>> {
    let mut scanner = Scanner::untrusted(text);
    scanner.skip_space();
    if scanner.peek() != Some(b'{') {
        return match Token::parse(text) {
            Ok(other) => Err(ScanError::NotAnObject(other)),
            Err(invalid) => Err(ScanError::Invalid(invalid)),
        };
    }
    scan_members(&mut scanner, list, element, visit).map_err(ScanError::Invalid)
}

#[inline]
fn scan_members<'a>(
    scanner: &mut Scanner<'a>,
    list: Option<&str>,
    mut element: impl FnMut(Token<'a>),
    mut visit: impl FnMut(Token<'a>, Token<'a>),
) -> Result<Token<'a>, InvalidJson> {
    let start = scanner.at;
    scanner.at += 1;
    scanner.skip_space();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
    } else {
        loop {
            let key = scanner.key()?;
            let value = match list {
                Some(list) if key.is(list) => scanner.list(&mut element)?,
                _ => scanner.value()?,
            };
            visit(key, value);
            if !scanner.another_member()? {
                break;
            }
        }
    }
    let object = Token::trusted(&scanner.text[start..scanner.at]);
    scanner.expect_end()?;
    Ok(object)
}

/// The valid JSON value that `text` begins with, after white space, and the text behind it.
///
/// For finding a document in the middle of other text, such as the error report that Gemini CLI prints amid its stderr.
pub fn scan_prefix(text: &str) -> Result<(Token<'_>, &str), InvalidJson> {
    // The caller may ask again for each document in a long text: looking at the rest each time would be quadratic.
    let mut scanner = Scanner {
        no_controls: false,
        ..Scanner::trusted(text)
    };
    let token = scanner.value()?;
    Ok((token, &text[scanner.at..]))
}

/// Reads a text that is expected to look exactly like `pieces`, with one JSON string between each two of them.
///
/// A program that writes the same few shapes a million times is best read by comparing, not by parsing. The pieces must make
/// valid JSON together with any strings; that is the caller's part of the bargain. Returns the whole and the strings.
///
/// ```
/// use lapidary_json::scan_template;
/// let text = r#"{"a":"x","b":"y"}"#;
/// let (_, [a, b]) = scan_template(text, ["{\"a\":", ",\"b\":", "}"]).unwrap();
/// assert!(a.is("x") && b.is("y"));
/// assert!(scan_template::<1, 2>(text, ["{\"a\":", "}"]).is_none());
/// ```
#[inline]
pub fn scan_template<'a, const STRINGS: usize, const PIECES: usize>(
    text: &'a str,
    pieces: [&str; PIECES],
) -> Option<(Token<'a>, [Token<'a>; STRINGS])> {
    const { assert!(PIECES == STRINGS + 1, "a string between each two pieces") }
    let rest = text.strip_prefix(pieces[0])?;
    let mut scanner = Scanner::untrusted(text);
    scanner.at = text.len() - rest.len();
    let mut strings = [Token::trusted("\"\""); STRINGS];
    for (string, piece) in strings.iter_mut().zip(&pieces[1..]) {
        let start = scanner.at;
        if scanner.peek() != Some(b'"') {
            return None;
        }
        scanner.string().ok()?;
        *string = Token::trusted(&text[start..scanner.at]);
        if !text.as_bytes()[scanner.at..].starts_with(piece.as_bytes()) {
            return None;
        }
        scanner.at += piece.len();
    }
    if scanner.at != text.len() {
        return None;
    }
    debug_assert!(Token::parse(text).is_ok(), "the pieces make no JSON");
    Some((Token::trusted(text), strings))
}

/// A position in a text that is being scanned. Every method leaves `at` behind the bytes it has read.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    pub(crate) at: usize,
    /// No byte of the text is a control character, so strings need not be searched for one. A single vectorised look at the
    /// whole text is much cheaper than a look at each string.
    no_controls: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn untrusted(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            no_controls: smallest_byte(text.as_bytes()) >= 0x20,
        }
    }

    /// For text that was found valid before.
    #[inline]
    pub(crate) fn trusted(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            no_controls: true,
        }
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    pub(crate) fn expect_end(&mut self) -> Result<(), InvalidJson> {
        self.skip_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            self.fail("trailing characters")
        }
    }

    fn fail<T>(&self, problem: &'static str) -> Result<T, InvalidJson> {
        let at = self.at.min(self.text.len());
        Err(InvalidJson { at, problem })
    }

    fn expected<T>(&self, problem: &'static str) -> Result<T, InvalidJson> {
        let ended = self.at >= self.text.len();
        self.fail(if ended { "unexpected end" } else { problem })
    }

    /// Reads `"key" :` and leaves the scanner before the value.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Token<'a>, InvalidJson> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return self.expected("expected a key");
        }
        let start = self.at;
        self.string()?;
        let key = Token::trusted(&self.text[start..self.at]);
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.expected("expected `:`");
        }
        self.at += 1;
        Ok(key)
    }

    /// After a member's value: true when another member follows, false when the object has just ended.
    #[inline]
    pub(crate) fn another_member(&mut self) -> Result<bool, InvalidJson> {
        self.another(b'}', "expected `,` or `}`")
    }

    /// After an element: true when another follows, false when the array has just ended.
    #[inline]
    pub(crate) fn another_element(&mut self) -> Result<bool, InvalidJson> {
        self.another(b']', "expected `,` or `]`")
    }

    #[inline]
    fn another(&mut self, close: u8, problem: &'static str) -> Result<bool, InvalidJson> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => self.expected(problem),
        }
    }

    /// Reads one value of any kind and depth.
    pub(crate) fn value(&mut self) -> Result<Token<'a>, InvalidJson> {
        self.skip_space();
        let start = self.at;
        let mut open = NestingStack::default();
        loop {
            self.skip_space();
            if let Some(container) = self.scalar_or_open()? {
                open.push(container);
                if container == ContainerKind::Object {
                    self.key()?;
                }
                continue;
            }
            if self.close_finished(&mut open)? {
                return Ok(Token::trusted(&self.text[start..self.at]));
            }
        }
    }

    /// Reads one value of any kind and, if it is an array, hands out its elements.
    fn list(&mut self, element: &mut impl FnMut(Token<'a>)) -> Result<Token<'a>, InvalidJson> {
        self.skip_space();
        let start = self.at;
        if self.peek() != Some(b'[') || self.open(b']', ContainerKind::Array).is_none() {
            self.at = start;
            return self.value();
        }
        loop {
            element(self.value()?);
            if !self.another_element()? {
                return Ok(Token::trusted(&self.text[start..self.at]));
            }
        }
    }

    /// Reads a scalar or an empty container whole; of any other container only the opening bracket, and says which.
    fn scalar_or_open(&mut self) -> Result<Option<ContainerKind>, InvalidJson> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'{') => return Ok(self.open(b'}', ContainerKind::Object)),
            Some(b'[') => return Ok(self.open(b']', ContainerKind::Array)),
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return self.expected("expected a value"),
        }
        Ok(None)
    }

    fn open(&mut self, close: u8, container: ContainerKind) -> Option<ContainerKind> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(close) {
            self.at += 1;
            return None;
        }
        Some(container)
    }

    /// After a value: closes every container that ends here. True when none is left open.
    fn close_finished(&mut self, open: &mut NestingStack) -> Result<bool, InvalidJson> {
        loop {
            let another = match open.top() {
                None => return Ok(true),
                Some(ContainerKind::Array) => self.another_element()?,
                Some(ContainerKind::Object) => {
                    let another = self.another_member()?;
                    if another {
                        self.key()?;
                    }
                    another
                }
            };
            if another {
                return Ok(false);
            }
            open.pop();
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), InvalidJson> {
        if !self.text[self.at..].starts_with(word) {
            return self.fail("expected a value");
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), InvalidJson> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.expected("expected a digit");
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), InvalidJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1; // JSON allows no further digit after a leading zero.
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads a string, from its opening to behind its closing quote.
    #[inline]
    fn string(&mut self) -> Result<(), InvalidJson> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        self.at = start;
        // Short strings end soon, and setting up for long ones would cost more.
        if let Some(end) = find_near_quote(bytes, start) {
            self.at = end;
        } else if let StringScan::End(end) = self.skip_blocks(bytes) {
            self.at = end;
        } else {
            self.find_end_of_string(bytes)?;
        }
        if !self.no_controls && smallest_byte(&bytes[start..self.at]) < 0x20 {
            let bad = bytes[start..].iter().position(|&byte| byte < 0x20);
            self.at = start + bad.unwrap_or_default();
            return self.fail("control character in a string");
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn skip_blocks(&mut self, bytes: &[u8]) -> StringScan {
        let found = quotes::find_end(bytes, self.at);
        if let StringScan::Unknown(at) = found {
            self.at = at;
        }
        found
    }

    /// The plain way: from escape to escape.
    fn find_end_of_string(&mut self, bytes: &[u8]) -> Result<(), InvalidJson> {
        loop {
            let Some(found) = find_quote_or_escape(bytes, self.at) else {
                self.at = bytes.len();
                return self.fail("unexpected end");
            };
            self.at = found;
            if bytes[found] == b'"' {
                return Ok(());
            }
            match bytes.get(found + 1) {
                Some(&byte) if SHORT_ESCAPES[usize::from(byte)] => self.at += 2,
                _ => {
                    self.unicode_escape()?;
                    // The text behind it can be scanned in blocks again.
                    if let StringScan::End(end) = self.skip_blocks(bytes) {
                        self.at = end;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads `\uXXXX`. Surrogates need not pair up: JavaScript writes lone ones, and we pass them on.
    fn unicode_escape(&mut self) -> Result<(), InvalidJson> {
        let escape = self.text.as_bytes()[self.at + 1..].first_chunk::<5>();
        match escape {
            Some([b'u', digits @ ..]) if digits.iter().all(u8::is_ascii_hexdigit) => {
                self.at += 6;
                Ok(())
            }
            _ => self.fail("invalid escape"),
        }
    }
}

/// The smallest byte, not `any`: without an early exit the loop vectorises.
#[inline]
fn smallest_byte(bytes: &[u8]) -> u8 {
    bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte))
}

/// What may stand behind a backslash, `u` aside. A table, because escapes come in no order that a branch could learn.
const SHORT_ESCAPES: [bool; 256] = {
    let mut table = [false; 256];
    let mut index = 0;
    let escapes = b"\"\\/bfnrt";
    while index < escapes.len() {
        table[escapes[index] as usize] = true;
        index += 1;
    }
    table
};

/// Where the next quote or backslash is, from `at` on.
///
/// Most strings of a line are keys and short words, and most pieces between two escapes are short too: for these, setting up a
/// vector search costs more than the search. So the first bytes are looked at eight at a time in a plain register, and only
/// longer strings go to `memchr`.
#[inline]
fn find_quote_or_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    let near = at + 64;
    while at < near
        && let Some(word) = bytes[at..].first_chunk::<8>()
    {
        let word = u64::from_le_bytes(*word);
        let hits = bytes_equal(word, b'"') | bytes_equal(word, b'\\');
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found)
}

/// Where a quote is among the next bytes, unless a backslash comes before it.
#[inline]
fn find_near_quote(bytes: &[u8], at: usize) -> Option<usize> {
    let mut near = at;
    while near < at + 16 {
        let word = u64::from_le_bytes(*bytes[near..].first_chunk::<8>()?);
        let hits = bytes_equal(word, b'"') | bytes_equal(word, b'\\');
        if hits != 0 {
            let found = near + hits.trailing_zeros() as usize / 8;
            return (bytes[found] == b'"').then_some(found);
        }
        near += 8;
    }
    None
}

/// True if a byte of the text must be escaped in a JSON string: a quote, a backslash or a control character.
#[inline]
pub fn needs_escape(text: &str) -> bool {
    const BLOCK: usize = 16;
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without branches the compiler looks at sixteen bytes at once"
    )]
    let is_special = |byte: u8| (byte == b'"') | (byte == b'\\') | (byte < 0x20);
    let any = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
    };
    let bytes = text.as_bytes();
    // Compilers compare a block at a time. The last one overlaps the one before it, so that no byte is left over.
    match bytes.last_chunk::<BLOCK>() {
        Some(last) => any(last) || bytes.as_chunks::<BLOCK>().0.iter().any(|block| any(block)),
        None => any(bytes),
    }
}

/// The high bit of each byte of `word` that equals `byte`. Bytes behind the first hit may be marked wrongly, those before it not.
#[inline]
fn bytes_equal(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & HIGHS
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContainerKind {
    Array,
    Object,
}

/// The containers that are open, one bit each. The innermost 64 are in `bits`, so ordinary lines allocate nothing, and no
/// depth overflows a call stack.
#[derive(Debug, Default)]
struct NestingStack {
    depth: usize,
    bits: u64,
    outer: Vec<u64>,
}

impl NestingStack {
    fn push(&mut self, container: ContainerKind) {
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = (self.bits << 1) | u64::from(container == ContainerKind::Object);
        self.depth += 1;
    }

    fn top(&self) -> Option<ContainerKind> {
        match (self.depth, self.bits & 1) {
            (0, _) => None,
            (_, 0) => Some(ContainerKind::Array),
            _ => Some(ContainerKind::Object),
        }
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_needs_an_escape_is_found_at_every_place() {
        for length in 0..40 {
            let plain = "é~".repeat(length);
            assert!(!needs_escape(&plain), "{length}");
            for special in ["\"", "\\", "\u{1f}", "\0"] {
                for at in (0..=plain.len()).filter(|at| plain.is_char_boundary(*at)) {
                    let mut text = plain.clone();
                    text.insert_str(at, special);
                    assert!(needs_escape(&text), "{text:?}");
                }
            }
        }
    }
}
