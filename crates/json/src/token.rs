//! One JSON value, as it stands in its text.

use std::borrow::Cow;

use crate::scan::{InvalidJson, Scanner};
use crate::string;

/// One valid JSON value, borrowed from the text it stands in, without white space around it.
///
/// A token is cheap to copy and says nothing about Rust types: ask it for a [`string`](Token::string), a
/// [`u64`](Token::u64) or its [`members`](Token::members) when they are needed.
///
/// ```
/// use lapidary_json::{Token, TokenKind};
/// let token = Token::parse(r#" {"n": 9007199254740993, "s": "caf\u00e9"} "#).unwrap();
/// assert_eq!(token.kind(), TokenKind::Object);
/// assert_eq!(token.get("n").unwrap().as_str(), "9007199254740993");
/// assert_eq!(token.get("s").unwrap().string().unwrap(), "café");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a>(&'a str);

/// What sort of value a [`Token`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON's own")]
pub enum TokenKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl TokenKind {
    /// The kind as a word for people, with its article.
    pub fn described(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl<'a> Token<'a> {
    /// Validates `text` as exactly one JSON value.
    pub fn parse(text: &'a str) -> Result<Self, InvalidJson> {
        let mut scanner = Scanner::untrusted(text);
        let token = scanner.value()?;
        scanner.expect_end()?;
        Ok(token)
    }

    #[inline]
    pub(crate) fn trusted(text: &'a str) -> Self {
        Self(text)
    }

    /// The value's text, exactly as it stands.
    #[inline]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// What sort of value this is.
    #[inline]
    pub fn kind(self) -> TokenKind {
        match self.0.as_bytes().first() {
            Some(b'"') => TokenKind::String,
            Some(b'{') => TokenKind::Object,
            Some(b'[') => TokenKind::Array,
            Some(b't' | b'f') => TokenKind::Bool,
            Some(b'n') => TokenKind::Null,
            _ => TokenKind::Number,
        }
    }

    /// True for `null`.
    pub fn is_null(self) -> bool {
        self.kind() == TokenKind::Null
    }

    /// This token, unless it is `null`.
    #[inline]
    pub fn non_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    /// JavaScript's idea of a value that counts, as in `a || b`: not `null`, `false`, `""` or a zero.
    pub fn is_truthy(self) -> bool {
        match self.kind() {
            TokenKind::Null => false,
            TokenKind::Bool => self.0 == "true",
            TokenKind::String => self.0 != "\"\"",
            TokenKind::Number => self.0.parse::<f64>().is_ok_and(|number| number != 0.0),
            TokenKind::Array | TokenKind::Object => true,
        }
    }

    /// This token, if it is of that kind.
    #[inline]
    pub fn if_kind(self, kind: TokenKind) -> Option<Self> {
        (self.kind() == kind).then_some(self)
    }

    /// The text of a string, its escapes resolved. A lone surrogate, which Rust's strings cannot hold, reads as U+FFFD; the
    /// token itself still has it.
    pub fn string(self) -> Option<Cow<'a, str>> {
        self.if_kind(TokenKind::String)
            .map(|token| string::unescape_string(token.inner()))
    }

    /// True if this is a string with half of a surrogate pair in it, so that [`Token::string`] does not say all of it.
    pub fn has_lone_surrogate(self) -> bool {
        self.kind() == TokenKind::String && string::has_lone_surrogate(self.inner())
    }

    /// True if this is a string that reads exactly `expected`.
    #[inline]
    pub fn is(self, expected: &str) -> bool {
        self.kind() == TokenKind::String && string::string_reads(self.inner(), expected)
    }

    /// The value of a boolean.
    #[inline]
    pub fn bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The value of a number that is a whole one within 64 bits.
    pub fn u64(self) -> Option<u64> {
        self.if_kind(TokenKind::Number)?.0.parse().ok()
    }

    /// The member called `key`. Where a key stands twice JavaScript takes the last, and so do we.
    pub fn get(self, key: &str) -> Option<Token<'a>> {
        self.members()
            .filter(|(name, _)| name.is(key))
            .last()
            .map(|(_, value)| value)
    }

    /// Several members in one pass, each as [`get`](Token::get) finds it.
    pub fn get_each<const N: usize>(self, keys: [&str; N]) -> [Option<Token<'a>>; N] {
        let mut values = [None; N];
        for (name, value) in self.members() {
            if let Some(place) = keys.iter().position(|key| name.is(key)) {
                values[place] = Some(value);
            }
        }
        values
    }

    /// The members of an object in order, duplicates included. Empty for any other kind.
    pub fn members(self) -> ObjectMembers<'a> {
        ObjectMembers(InnerTokens::new(self, TokenKind::Object))
    }

    /// The elements of an array. Empty for any other kind.
    pub fn elements(self) -> ArrayElements<'a> {
        ArrayElements(InnerTokens::new(self, TokenKind::Array))
    }

    /// The text between the quotes of a string.
    #[inline]
    pub(crate) fn inner(self) -> &'a str {
        &self.0[1..self.0.len() - 1]
    }
}

/// Iterates over the inside of a container that was found valid before.
#[derive(Debug, Clone)]
struct InnerTokens<'a> {
    scanner: Scanner<'a>,
    done: bool,
}

impl<'a> InnerTokens<'a> {
    fn new(token: Token<'a>, kind: TokenKind) -> Self {
        let mut scanner = Scanner::trusted(token.0);
        scanner.at = 1;
        scanner.skip_space();
        let empty = matches!(scanner.peek(), None | Some(b'}' | b']'));
        Self {
            scanner,
            done: empty || token.kind() != kind,
        }
    }

    /// Reads on with `read`, which returns nothing when the container is exhausted. It cannot be invalid, but if it were,
    /// iteration would end rather than panic.
    fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Scanner<'a>) -> Result<(T, bool), InvalidJson>,
    ) -> Option<T> {
        if self.done {
            return None;
        }
        let (item, another) = read(&mut self.scanner).ok()?;
        self.done = !another;
        Some(item)
    }
}

/// The members of an object: see [`Token::members`].
#[derive(Debug, Clone)]
pub struct ObjectMembers<'a>(InnerTokens<'a>);

impl<'a> Iterator for ObjectMembers<'a> {
    type Item = (Token<'a>, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|scanner| {
            let member = (scanner.key()?, scanner.value()?);
            Ok((member, scanner.another_member()?))
        })
    }
}

/// The elements of an array: see [`Token::elements`].
#[derive(Debug, Clone)]
pub struct ArrayElements<'a>(InnerTokens<'a>);

impl<'a> Iterator for ArrayElements<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0
            .next(|scanner| Ok((scanner.value()?, scanner.another_element()?)))
    }
}
