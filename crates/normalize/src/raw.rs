//! A line as it came: the text its tokens point into, or its bytes when it is not text.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_json::{SharedToken, Token, compact};
use lapidary_vocab::{Base, Json};

use crate::own;

/// A line's text. A carriage return between the tokens of JSON goes, here and so from all that is cut out of the line: some
/// readers break lines there. So does a newline, which a line can have only inside a transcript.
pub(crate) fn on_one_line(text: &str) -> Arc<str> {
    if memchr::memchr2(b'\r', b'\n', text.as_bytes()).is_some()
        && let Ok(token) = Token::parse(text)
    {
        return Arc::from(compact(token).as_ref());
    }
    Arc::from(text)
}

/// The message about a line over the limit, of which only the beginning is kept.
pub(crate) fn too_long_message(head: &[u8], length: u64) -> String {
    let kept = head.len();
    format!("a line of {length} bytes is over the limit; its first {kept} bytes were kept")
}

/// The content of an event's `raw`.
#[derive(Debug, Clone)]
pub(crate) enum RawContent {
    /// Valid JSON, verbatim.
    Json(Json),
    /// A line that is not JSON, read lossily; with its bytes if reading lost any.
    Text { text: Json, bytes: Option<String> },
}

impl RawContent {
    /// A line that is JSON: its one value, shared with the line.
    pub(crate) fn from_json_line(text: &Arc<str>, whole: Token<'_>) -> Self {
        Self::Json(Json::from(SharedToken::new(text, whole)))
    }

    /// A value that was found to be JSON, on one line.
    pub(crate) fn from_json_token(token: Token<'_>) -> Self {
        Self::Json(own::owned_json(token))
    }

    /// Bytes that are not JSON.
    pub(crate) fn from_other_bytes(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lossless = matches!(text, std::borrow::Cow::Borrowed(_));
        Self::Text {
            text: Json::from_value(&text),
            bytes: (!lossless).then(|| STANDARD.encode(bytes)),
        }
    }

    /// Several lines in one.
    pub(crate) fn from_joined_lines(json: Json) -> Self {
        Self::Json(json)
    }

    /// The line as a value among others.
    pub(crate) fn into_json(self) -> Json {
        match self {
            Self::Json(json) | Self::Text { text: json, .. } => json,
        }
    }

    pub(crate) fn put_into(self, base: &mut Base) {
        match self {
            Self::Json(json) => base.raw = Some(json),
            Self::Text { text, bytes } => {
                base.raw = Some(text);
                base.raw_is_text = true;
                base.raw_base64 = bytes;
            }
        }
    }
}
