//! A line over the limit, of which only the beginning and the end are kept: the request that it is or answers, as far as they show
//! that.

use lapidary_json::Token;
use lapidary_wire::lines::RawLine;

use super::message::RequestId;

/// The members of a message.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The envelope of a message, as far as its beginning shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TruncatedEnvelope {
    /// The agent waits for an answer to this.
    Request(RequestId),
    /// We wait for this.
    Answer(RequestId),
    /// A method, which is a notification unless an id follows in the part that was cut off.
    Method(String),
    /// A message whose kind its beginning does not show.
    Message,
    /// No message.
    Noise,
}

impl TruncatedEnvelope {
    /// `id_at_end` is the id that the end of the line shows. It counts if the beginning shows none.
    pub(super) fn parse(head: &str, id_at_end: Option<RequestId>) -> Self {
        let Some(rest) = head.trim_start().strip_prefix('{') else {
            return Self::Noise;
        };
        let mut members = PartialMembers(rest);
        let (mut id, mut method, mut is_answer, mut is_request) = (None, None, false, false);
        let mut is_message = false;
        while let Some((name, value)) = members.next() {
            is_message |= ENVELOPE.contains(&name.as_str());
            match name.as_str() {
                "id" => id = value.and_then(RequestId::read_id),
                "method" => method = value.and_then(Token::string),
                "result" | "error" => is_answer = true,
                "params" => is_request = true,
                _ => {}
            }
        }
        match (id.or(id_at_end), method) {
            (Some(id), None) if is_answer => Self::Answer(id),
            (Some(id), method) if method.is_some() || is_request => Self::Request(id),
            (None, Some(method)) => Self::Method(method.into_owned()),
            _ if is_message => Self::Message,
            _ => Self::Noise, // some other object, such as a line of a log
        }
    }
}

/// The id of a message over the limit whose last member it is: some libraries write it there.
///
/// The brace at the end of the line closes the message. A scalar before it is a member of the message, not of a value in it; and text
/// within a string has a backslash before each quote.
pub(super) fn last_id(line: RawLine<'_>) -> Option<RequestId> {
    let RawLine::TooLong { tail, .. } = line else {
        return None;
    };
    let members = tail.trim_ascii_end().strip_suffix(b"}")?;
    let name = members.windows(4).rposition(|four| four == b"\"id\"")?;
    let (before, member) = members.split_at(name);
    if !before.trim_ascii_end().ends_with(b",") || member.contains(&b'\\') {
        return None;
    }
    let value = member[4..].trim_ascii_start().strip_prefix(b":")?;
    let value = std::str::from_utf8(value.trim_ascii()).ok()?;
    RequestId::read_id(Token::parse(value).ok()?)
}

/// The members of an object that breaks off. The last one may have no value, and ends it.
struct PartialMembers<'a>(&'a str);

impl<'a> PartialMembers<'a> {
    fn next(&mut self) -> Option<(String, Option<Token<'a>>)> {
        let text = self.0.trim_start_matches([',', ' ', '\t', '\r']);
        let name = leading_scalar(text)?;
        let after = text[name.as_str().len()..].trim_start();
        let value = after.strip_prefix(':')?.trim_start();
        let found = leading_scalar(value);
        // A value that is no scalar, or breaks off, is the last one that is read: only the members before it are certain.
        self.0 = found.map_or("", |found| &value[found.as_str().len()..]);
        Some((name.string()?.into_owned(), found))
    }
}

/// The text, number or word that a text begins with, if it ends before the text does.
fn leading_scalar(text: &str) -> Option<Token<'_>> {
    let length = if text.starts_with('"') {
        let mut is_escaped = false;
        let end = text.bytes().skip(1).position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        })?;
        end + 2
    } else {
        text.find([',', '}', ' '])?
    };
    Token::parse(&text[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: &str) {
        let seen = match TruncatedEnvelope::parse(head, None) {
            TruncatedEnvelope::Request(id) => format!("request {}", id.as_str()),
            TruncatedEnvelope::Answer(id) => format!("answer {}", id.as_str()),
            TruncatedEnvelope::Method(method) => format!("method {method}"),
            other => format!("{other:?}"),
        };
        assert_eq!(seen, expected, "{head}");
    }

    #[test]
    fn a_truncated_line_is_classified_by_its_beginning() {
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"yyy"#,
            "request 7",
        );
        check(r#"{"id" : "a\"b" , "params": ["#, r#"request "a\"b""#);
        check(r#"{"method":"a","id":null,"params":{"#, "request null");
        check(
            r#"{"jsonrpc":"2.0","id":0,"result":{"sessions":["#,
            "answer 0",
        );
        check(r#"{"id":0,"error":{"message":"xxx"#, "answer 0");
        check(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"#,
            "method session/update",
        );
        check(
            r#"{"jsonrpc":"2.0","params":{"id":1,"method":"x"#,
            "Message",
        );
        check(r#"{"id":12"#, "Message");
        check(r#"{"result":"xxxx"#, "Message");
        check(r#"{"level":"info","text":"xxxx"#, "Noise");
        check("xxxx", "Noise");
        check("[1,2", "Noise");
        check("", "Noise");
    }

    #[track_caller]
    fn check_end(tail: &str, expected: Option<&str>) {
        let line = RawLine::TooLong {
            head: b"{",
            tail: tail.as_bytes(),
            length: 9000,
        };
        let id = last_id(line);
        assert_eq!(id.as_ref().map(RequestId::as_str), expected, "{tail}");
    }

    #[test]
    fn an_id_that_is_the_last_member_of_a_truncated_line_is_found() {
        check_end(r#"xxx"},"jsonrpc":"2.0","id":7}"#, Some("7"));
        check_end("xxx\"}, \"id\" : \"a-1\" }\r", Some("\"a-1\""));
        check_end(r#"xxx","id":null}"#, Some("null"));
        check_end(r#"xxx","params":{"name":"a","id":7}}"#, None);
        check_end(r#"xxx,\"id\":7}"}"#, None);
        check_end(r#"xxx,"id":"a\"b"}"#, None);
        check_end(r#"xxx"id":7}"#, None);
        check_end(r#"xxx,"id":7"#, None);
        check_end(r#"xxx,"id":{}}"#, None);
        check_end("}", None);
    }

    #[test]
    fn the_end_of_a_truncated_line_has_the_request_id_that_its_beginning_lacks() {
        let id = || {
            last_id(RawLine::TooLong {
                head: b"",
                tail: br#"x},"id":7}"#,
                length: 9000,
            })
        };
        let head = r#"{"method":"tools/call","params":{"x":"yyy"#;
        let seven = RequestId::from_token(7);
        assert_eq!(
            TruncatedEnvelope::parse(head, id()),
            TruncatedEnvelope::Request(seven.clone())
        );
        let head = r#"{"jsonrpc":"2.0","result":{"x":"yyy"#;
        assert_eq!(
            TruncatedEnvelope::parse(head, id()),
            TruncatedEnvelope::Answer(seven)
        );
        assert_eq!(
            TruncatedEnvelope::parse("[1,2", id()),
            TruncatedEnvelope::Noise
        );
    }
}
