//! Values that pass through: text, numbers and whole JSON values that may still be the agent's own tokens.
//!
//! A token is written out as it stands. Nothing is unescaped and escaped again, a lone surrogate survives and 2^53+1 stays exact.
//! Call [`Text::to_str`] or [`Number::u64`] only where the decoded value is needed.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};

use lapidary_json::{JoinedString, SharedToken, Token, TokenKind};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

use crate::line;

/// Any JSON value, as text that is known to be valid and to stand on one line.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(SharedToken);

impl Json {
    /// Serialises a value of ours.
    pub fn from_value(value: &impl Serialize) -> Self {
        let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        Self(built_token(&text))
    }

    /// Builds an object from members that are values already.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        let mut text = String::from("{");
        for (key, value) in members {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&quoted_text(key));
            text.push(':');
            text.push_str(value.as_str());
        }
        text.push('}');
        Self(built_token(&text))
    }

    /// Builds an array from values.
    pub fn array(items: impl IntoIterator<Item = Json>) -> Self {
        let mut array = ArrayBuilder::default();
        for item in items {
            array.push(&item);
        }
        array.finish()
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self(built_token("{}"))
    }

    /// The value's JSON text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The value as a token to look into.
    pub fn token(&self) -> Token<'_> {
        self.0.token()
    }

    /// A copy that lets go of the line it was cut from.
    pub fn detached(&self) -> Self {
        Self(self.0.detached())
    }

    /// The value as text: see [`Text::from_token`].
    pub fn to_text(&self) -> Text {
        Text::from_token(self.0.clone())
    }

    /// The text of a string value, or the JSON text of any other.
    pub fn to_display(&self) -> Cow<'_, str> {
        self.token()
            .string()
            .unwrap_or(Cow::Borrowed(self.as_str()))
    }
}

/// A value that stands on one line, as everything does that was read from one.
impl From<SharedToken> for Json {
    fn from(token: SharedToken) -> Self {
        Self(token)
    }
}

impl From<&Text> for Json {
    fn from(text: &Text) -> Self {
        match &text.0 {
            Repr::Token(token) => Self(token.clone()),
            Repr::Static(text) => Self(built_token(&quoted_text(text))),
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text: the JSON string token of the wire, or a string of our own.
#[derive(Clone)]
pub struct Text(Repr);

/// Two variants that share a niche: a third would need a tag, and moving tagged texts about is what made events slow.
#[derive(Clone)]
enum Repr {
    Static(&'static str),
    /// Always a string.
    Token(SharedToken),
}

impl Text {
    /// A text that is a token of the wire. A string stays as it is; any other value reads as its JSON text.
    pub fn from_token(token: SharedToken) -> Self {
        match token.token().kind() {
            TokenKind::String => Self(Repr::Token(token)),
            _ => Self::from(token.as_str().to_owned()),
        }
    }

    /// Joins texts without unescaping them: the insides of JSON strings one after the other are a JSON string again, and
    /// surrogates that a sender split over two chunks even find each other.
    pub fn concat(parts: &[Text]) -> Self {
        if let [only] = parts {
            return only.clone();
        }
        let mut joined = TextBuilder::default();
        for part in parts {
            joined.push(part);
        }
        joined.to_text()
    }

    /// The text itself. A lone surrogate, which Rust's strings cannot hold, reads as U+FFFD.
    pub fn to_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Static(text) => Cow::Borrowed(text),
            Repr::Token(token) => token.token().string().unwrap_or_default(),
        }
    }

    /// How many bytes it takes, about: those of its token, or of the text itself.
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::Static(text) => text.len(),
            Repr::Token(token) => token.as_str().len(),
        }
    }

    /// True if there is no character in it.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Repr::Static(text) => text.is_empty(),
            Repr::Token(token) => token.as_str().len() <= 2,
        }
    }

    /// True if there is nothing in it but white space.
    pub fn is_blank(&self) -> bool {
        let text = match &self.0 {
            Repr::Static(text) => text,
            Repr::Token(token) => token.as_str().trim_matches('"'),
        };
        // The first letter decides, unless an escape spells it.
        match text.trim_start().chars().next() {
            Some('\\') => self.to_str().trim().is_empty(),
            first => first.is_none(),
        }
    }

    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.0 {
            Repr::Static(text) => line::write_string(out, text),
            Repr::Token(token) => out.write_all(token.as_str().as_bytes()),
        }
    }

    /// A copy that lets go of the line it was cut from.
    pub fn detached(&self) -> Self {
        match &self.0 {
            Repr::Token(token) => Self(Repr::Token(token.detached())),
            Repr::Static(_) => self.clone(),
        }
    }
}

/// Puts values one by one into an array.
#[derive(Debug, Clone, Default)]
pub struct ArrayBuilder {
    /// The array so far, without its closing bracket.
    text: String,
}

impl ArrayBuilder {
    /// Adds a value behind the others.
    pub fn push(&mut self, value: &Json) {
        self.text.push(if self.text.is_empty() { '[' } else { ',' });
        self.text.push_str(value.as_str());
    }

    /// The array.
    pub fn finish(mut self) -> Json {
        self.text
            .push_str(if self.text.is_empty() { "[]" } else { "]" });
        Json(built_token(&self.text))
    }
}

/// Joins texts one by one, without unescaping them, into one text.
#[derive(Debug, Clone, Default)]
pub struct TextBuilder {
    joined: JoinedString,
}

impl TextBuilder {
    /// Adds a text behind the others.
    pub fn push(&mut self, text: &Text) {
        match &text.0 {
            Repr::Token(token) => self.joined.push(token.token()),
            Repr::Static(text) => self.joined.push(built_token(&quoted_text(text)).token()),
        }
    }

    /// All of it so far.
    pub fn to_text(&self) -> Text {
        Text(Repr::Token(self.joined.to_shared()))
    }

    /// True if there is no character in it.
    pub fn is_empty(&self) -> bool {
        self.size() <= 2
    }

    /// How many bytes its token takes.
    pub fn size(&self) -> usize {
        self.joined.token().as_str().len()
    }

    /// The text. A lone surrogate reads as U+FFFD.
    pub fn to_str(&self) -> Cow<'_, str> {
        self.joined.token().string().unwrap_or_default()
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self(Repr::Static(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Repr::Token(built_token(&quoted_text(&text))))
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Repr::Static(""))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Token(ours), Repr::Token(theirs)) if ours == theirs => true,
            // Only escapes spell one text in two ways, and ids hardly ever hold one.
            (Repr::Token(ours), Repr::Token(theirs))
                if !ours.as_str().contains('\\') && !theirs.as_str().contains('\\') =>
            {
                false
            }
            _ => self.to_str() == other.to_str(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.to_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_str().cmp(&other.to_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

/// A number: the token of the wire, or a whole number of our own.
#[derive(Clone)]
pub struct Number(NumberRepr);

#[derive(Clone)]
enum NumberRepr {
    Whole(u64),
    Token(SharedToken),
}

impl Number {
    /// A number that is a token of the wire; none if it is another value.
    pub fn from_token(token: SharedToken) -> Option<Self> {
        let is_number = token.token().kind() == TokenKind::Number;
        is_number.then_some(Self(NumberRepr::Token(token)))
    }

    /// The value, if it is a whole number within 64 bits.
    pub fn u64(&self) -> Option<u64> {
        match &self.0 {
            NumberRepr::Whole(value) => Some(*value),
            NumberRepr::Token(token) => token.token().u64(),
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(NumberRepr::Whole(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            NumberRepr::Whole(value) => fmt::Display::fmt(value, f),
            NumberRepr::Token(token) => f.write_str(token.as_str()),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Number {}

/// Text that was put together from valid values.
fn built_token(text: &str) -> SharedToken {
    SharedToken::parse(text).expect("values and brackets make a value")
}

fn quoted_text(text: &str) -> String {
    serde_json::to_string(text).expect("a string always serialises")
}

/// The name by which `serde_json` recognises text that is JSON already: its own `RawValue` serialises through it.
///
/// A `RawValue` proper would be validated a second time (or built with `unsafe`), which costs more than all the rest of
/// writing an event. A test pins that this protocol still holds. See `docs/decisions/0002-tokens-pass-through.md`.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

fn serialize_token<S: Serializer>(token: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
    raw.serialize_field(RAW_VALUE, token)?;
    raw.end()
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_token(self.as_str(), serializer)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Static(text) => serializer.serialize_str(text),
            Repr::Token(token) => serialize_token(token.as_str(), serializer),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            NumberRepr::Whole(value) => serializer.serialize_u64(*value),
            NumberRepr::Token(token) => serialize_token(token.as_str(), serializer),
        }
    }
}

/// Reads a value whole. Works with `serde_json` only, which is the only thing these types are read from.
fn deserialize_token<'de, D: Deserializer<'de>>(
    deserializer: D,
    kind: Option<TokenKind>,
) -> Result<SharedToken, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let token = Token::parse(raw.get()).map_err(D::Error::custom)?;
    match kind {
        Some(kind) if token.kind() != kind => Err(D::Error::custom(format!(
            "expected {}, found {}",
            kind.described(),
            token.kind().described()
        ))),
        _ => Ok(SharedToken::from(token)),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_token(deserializer, None).map(Self)
    }
}

/// Reads a member that is there. A `null` is a value like any other then, not a member that is absent.
pub(crate) fn present_member<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_token(deserializer, Some(TokenKind::String))
            .map(|token| Self(Repr::Token(token)))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_token(deserializer, Some(TokenKind::Number))
            .map(|token| Self(NumberRepr::Token(token)))
    }
}

#[cfg(feature = "generate")]
macro_rules! inline_schema {
    ($type:ty, $name:literal, $schema:tt) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

#[cfg(feature = "generate")]
inline_schema!(Json, "Json", {});
#[cfg(feature = "generate")]
inline_schema!(Text, "Text", { "type": "string" });
#[cfg(feature = "generate")]
inline_schema!(Number, "Number", { "type": "number" });
