//! Taking the white space out of a pretty-printed document.

use std::borrow::Cow;

use crate::Token;

/// The token's text on one line: white space between tokens goes if the text spans lines, everything else stays as it is.
///
/// ```
/// use lapidary_json::{Token, compact};
/// let token = Token::parse("{\n  \"a b\": 1.10\n}").unwrap();
/// assert_eq!(compact(token), r#"{"a b":1.10}"#);
/// ```
pub fn compact(token: Token<'_>) -> Cow<'_, str> {
    let text = token.as_str();
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for piece in text.split_inclusive(['"', '\\', ' ', '\n', '\r', '\t']) {
        let (body, mark) = piece.split_at(piece.len() - 1);
        if in_string {
            out.push_str(piece);
            // An escape's backslash and the escaped character may stand in two pieces.
            let after_escape = escaped && body.is_empty();
            escaped = mark == "\\" && !after_escape;
            in_string = mark != "\"" || after_escape;
        } else {
            out.push_str(body);
            match mark {
                " " | "\n" | "\r" | "\t" => {}
                _ => out.push_str(mark),
            }
            in_string = mark == "\"";
            escaped = false;
        }
    }
    Cow::Owned(out)
}
