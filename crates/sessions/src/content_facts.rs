//! Facts of a session file, as Gemini CLI reads it.

use lapidary_json::Token;
use lapidary_wire::gemini::session::{MessagePart, MessageRecord, ReplayedLog};
use serde::{Deserialize, Serialize};

use crate::message_text;

/// The facts that a file states about its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentFacts {
    /// The session's full id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// True if the CLI lists it: it has an id and a message to resume, and is no subagent's.
    pub listed: bool,
    /// True for a subagent's file.
    pub subagent: bool,
    /// When it was last written to, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}

impl ContentFacts {
    /// Reads them from a whole file.
    pub fn read(bytes: &[u8]) -> Self {
        let log = ReplayedLog::read(bytes);
        let text = |name: &str| log.get(name).and_then(Token::string).map(String::from);
        let session_id = text("sessionId").filter(|id| !id.is_empty());
        // Without both the CLI reads the file as one document, which needs no `projectHash`.
        let is_read = text("projectHash").is_some_and(|hash| !hash.is_empty()) || is_one(bytes);
        let subagent = text("kind").as_deref() == Some("subagent");
        let has_content = log.messages().any(is_resumable);
        Self {
            listed: session_id.is_some() && is_read && has_content && !subagent,
            session_id: session_id.filter(|_| is_read),
            subagent,
            last_updated: text("lastUpdated").or_else(|| text("startTime")),
        }
    }
}

fn is_one(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| Token::parse(text).is_ok())
}

/// True if a message makes its session resumable: the CLI hides, and deletes, sessions without such a message.
pub(crate) fn is_resumable(record: Token<'_>) -> bool {
    let message = MessageRecord::from_token(record);
    let kind = message.kind.and_then(Token::string);
    message_text::is_resumable(
        kind.as_deref(),
        message.content,
        message.tool_calls,
        message.thoughts,
    )
}

/// The text of a message's parts, one after the other.
pub(crate) fn text_of(message: &MessageRecord<'_>) -> String {
    let parts = message.parts().into_iter();
    let texts = parts.filter_map(|part| match part {
        MessagePart::Text(text) | MessagePart::Thought(text) => text.string(),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &str, expected: bool) {
        let record = Token::parse(record).unwrap();
        assert_eq!(is_resumable(record), expected, "{}", record.as_str());
    }

    #[test]
    fn a_message_is_resumable_as_in_gemini_cli() {
        check(
            r#"{"id":"a","type":"user","content":[{"text":"hi"}]}"#,
            true,
        );
        check(r#"{"id":"a","type":"user","content":"hi"}"#, true);
        for ignored in [
            "",
            "  ",
            "/help",
            "?",
            " <session_context>x",
            "<hook_context>",
        ] {
            check(
                &format!(r#"{{"id":"a","type":"user","content":[{{"text":"{ignored}"}}]}}"#),
                false,
            );
        }
        check(r#"{"id":"a","type":"gemini","content":" "}"#, false);
        check(
            r#"{"id":"a","type":"gemini","content":"","thoughts":[]}"#,
            false,
        );
        check(
            r#"{"id":"a","type":"gemini","content":"","thoughts":[{}]}"#,
            true,
        );
        check(r#"{"id":"a","type":"gemini","toolCalls":[{}]}"#, true);
        check(r#"{"id":"a","type":"info","content":"hello"}"#, false);
    }

    #[test]
    fn a_file_without_content_or_id_is_not_listed() {
        let header = r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#;
        let user = r#"{"id":"a","type":"user","content":"hi"}"#;
        let listed = |text: &str| ContentFacts::read(text.as_bytes()).listed;
        assert!(listed(&format!("{header}\n{user}\n")));
        assert!(!listed(header));
        assert!(!listed(user));
        assert!(!listed(&format!(
            "{header}\n{user}\n{{\"$set\":{{\"messages\":[]}}}}\n"
        )));
        assert!(!listed(&format!(
            "{}\n{user}",
            header.replace("main", "subagent")
        )));
        assert!(listed(&format!(
            r#"{{"sessionId":"s","messages":[{user}]}}"#
        )));
        assert!(!listed(&format!(
            "{{\"$set\":{{\"sessionId\":\"s\"}}}}\n{user}\n"
        )));
    }
}
