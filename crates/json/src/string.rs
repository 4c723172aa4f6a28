//! The inside of JSON strings: resolving escapes.

use std::borrow::Cow;

/// Resolves the escapes of a valid string's inside. Borrowed when there is none.
pub(crate) fn unescape_string(inner: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else {
        return Cow::Borrowed(inner);
    };
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = &inner[first..];
    loop {
        rest = resolve_escape(rest, &mut out);
        let Some(next) = memchr::memchr(b'\\', rest.as_bytes()) else {
            out.push_str(rest);
            return Cow::Owned(out);
        };
        out.push_str(&rest[..next]);
        rest = &rest[next..];
    }
}

/// True if there is half of a surrogate pair in the inside of a valid string, which no Rust string and no UTF-8 can hold.
pub(crate) fn has_lone_surrogate(inner: &str) -> bool {
    let mut rest = inner;
    while let Some(next) = memchr::memchr(b'\\', rest.as_bytes()) {
        rest = &rest[next..];
        if !rest.starts_with("\\u") {
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let is_pair = (0xD800..0xDC00).contains(&code_unit(rest))
            && rest[6..].starts_with("\\u")
            && (0xDC00..0xE000).contains(&code_unit(&rest[6..]));
        if !is_pair && (0xD800..0xE000).contains(&code_unit(rest)) {
            return true;
        }
        rest = &rest[if is_pair { 12 } else { 6 }..];
    }
    false
}

/// True if the inside of a string reads `expected`. Keys are compared with this, and they hardly ever hold an escape.
#[inline]
pub(crate) fn string_reads(inner: &str, expected: &str) -> bool {
    // `\u0041` is the longest way to spell a byte, so a longer text cannot be equal.
    let may_be_escaped = inner.len() > expected.len() && inner.len() <= 6 * expected.len();
    inner == expected
        || (may_be_escaped && inner.contains('\\') && unescape_string(inner) == expected)
}

/// Resolves the escape that `text` begins with and returns the rest of the text.
fn resolve_escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let plain = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return resolve_unicode(text, out),
        Some(&byte) => char::from(byte),
        None => return "",
    };
    out.push(plain);
    &text[2..]
}

fn resolve_unicode<'a>(text: &'a str, out: &mut String) -> &'a str {
    let high = code_unit(text);
    let mut units = [high, 0];
    let mut len = 1;
    if (0xD800..0xDC00).contains(&high) && text[6..].starts_with("\\u") {
        let low = code_unit(&text[6..]);
        if (0xDC00..0xE000).contains(&low) {
            units[1] = low;
            len = 2;
        }
    }
    out.extend(
        char::decode_utf16(units[..len].iter().copied()).map(|unit| unit.unwrap_or('\u{FFFD}')),
    );
    &text[6 * len..]
}

/// The four digits of `\uXXXX`; the text was found valid before.
fn code_unit(text: &str) -> u16 {
    text.get(2..6)
        .and_then(|digits| u16::from_str_radix(digits, 16).ok())
        .unwrap_or(0xFFFD)
}
