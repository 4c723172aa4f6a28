//! A line over the limit, of which only the beginning is kept: the request that it is or answers, as far as it shows that.

use lapidary_json::Token;

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
    pub(super) fn parse(head: &str) -> Self {
        let Some(rest) = head.trim_start().strip_prefix('{') else {
            return Self::Noise;
        };
        let mut members = PartialMembers(rest);
        let (mut id, mut method, mut is_answer, mut is_request) = (None, None, false, false);
        let mut is_message = false;
        while let Some((name, value)) = members.next() {
            is_message |= ENVELOPE.contains(&name.as_str());
            match name.as_str() {
                "id" => id = value.and_then(RequestId::read),
                "method" => method = value.and_then(Token::string),
                "result" | "error" => is_answer = true,
                "params" => is_request = true,
                _ => {}
            }
        }
        match (id, method) {
            (Some(id), None) if is_answer => Self::Answer(id),
            (Some(id), method) if method.is_some() || is_request => Self::Request(id),
            (None, Some(method)) => Self::Method(method.into_owned()),
            _ if is_message => Self::Message,
            _ => Self::Noise, // some other object, such as a line of a log
        }
    }
}

/// The members of an object that breaks off. The last one may have no value, and ends it.
struct PartialMembers<'a>(&'a str);

impl<'a> PartialMembers<'a> {
    fn next(&mut self) -> Option<(String, Option<Token<'a>>)> {
        let text = self.0.trim_start_matches([',', ' ', '\t', '\r']);
        let name = scalar(text)?;
        let after = text[name.as_str().len()..].trim_start();
        let value = after.strip_prefix(':')?.trim_start();
        let found = scalar(value);
        // A value that is no scalar, or breaks off, is the last one that is read: only the members before it are certain.
        self.0 = found.map_or("", |found| &value[found.as_str().len()..]);
        Some((name.string()?.into_owned(), found))
    }
}

/// The text, number or word that a text begins with, if it ends before the text does.
fn scalar(text: &str) -> Option<Token<'_>> {
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
        let seen = match TruncatedEnvelope::parse(head) {
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
}
