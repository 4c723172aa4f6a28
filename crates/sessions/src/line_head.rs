//! The first members of a record, read without parsing the record: most lines of a session file are results of tools, of which
//! lists and counts need no more than that.

/// The text up to a quotation mark, and the text behind it. None if it has an escape in it.
pub(crate) fn quoted_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', text).filter(|end| text[*end] == b'"')?;
    Some((&text[..end], &text[end + 1..]))
}

/// The value of a member that stands here and is a text, and what is behind it. `member` is all that is before the text:
/// `,"type":"`.
pub(crate) fn leading_member<'l>(line: &'l [u8], member: &str) -> Option<(&'l [u8], &'l [u8])> {
    quoted_word(line.strip_prefix(member.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_read_where_it_stands_and_not_with_an_escape() {
        let line = br#"{"a":"b","c":"d\"e"}"#;
        let (value, rest) = leading_member(line, "{\"a\":\"").unwrap();
        assert_eq!(value, b"b");
        assert_eq!(leading_member(rest, ",\"c\":\""), None);
        assert_eq!(leading_member(line, "{\"c\":\""), None);
        assert_eq!(leading_member(b"{\"a\":\"b", "{\"a\":\""), None);
    }
}
