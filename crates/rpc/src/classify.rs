//! The kind of a line, by its envelope: tolerantly, since an answer that is taken for noise leaves a caller waiting.

use std::sync::Arc;

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::{Json, Text};
use lapidary_wire::acp::envelope::{self, Envelope, RpcMessage};
use lapidary_wire::lines;

use super::error::RpcError;
use super::message::{
    AnswerExpectation, LineNoise, MessageContent, ReceivedLine, ReceivedMessage, RequestId,
};

/// A line of the agent and its kind. The caller sets whether an answer is awaited; here it never is.
pub(super) fn classify_line(line: lines::RawLine<'_>) -> ReceivedMessage {
    match line {
        lines::RawLine::Whole(bytes) => {
            let line = ReceivedLine::new(bytes);
            let what = message_content(&line);
            ReceivedMessage { line, what }
        }
        lines::RawLine::TooLong { head, length, .. } => ReceivedMessage {
            line: ReceivedLine::new(head),
            what: MessageContent::Noise(LineNoise::TooLong(length)),
        },
    }
}

fn message_content(line: &ReceivedLine) -> MessageContent {
    let text = line.text();
    match envelope::parse(text) {
        Envelope::Object { message, .. } => known_message(text, message),
        Envelope::NotAnObject(_) => MessageContent::Noise(LineNoise::NotAnObject),
        Envelope::NotJson(_) if text.trim_ascii().is_empty() => {
            MessageContent::Noise(LineNoise::Blank)
        }
        Envelope::NotJson(_) => MessageContent::Noise(LineNoise::NotJson),
    }
}

fn known_message(text: &Arc<str>, message: RpcMessage<'_>) -> MessageContent {
    match message {
        RpcMessage::Request { id, method, params } => MessageContent::Request {
            id: RequestId::of_wire(id),
            method: Text::from_token(SharedToken::new(text, method)),
            params: params.map(|params| token_json(text, params)),
        },
        RpcMessage::Notification { method, params } => MessageContent::Notification {
            method: Text::from_token(SharedToken::new(text, method)),
            params: params.map(|params| token_json(text, params)),
        },
        RpcMessage::Result { id, result } => MessageContent::Answer {
            id: RequestId::of_wire(id),
            outcome: Ok(token_json(text, result)),
            asked: AnswerExpectation::Never,
        },
        RpcMessage::Error { id, error } => MessageContent::Answer {
            id: RequestId::of_wire(id),
            outcome: Err(RpcError::from_token(text, error)),
            asked: AnswerExpectation::Never,
        },
        RpcMessage::Unknown => MessageContent::Noise(LineNoise::NotAMessage),
    }
}

fn token_json(text: &Arc<str>, token: Token<'_>) -> Json {
    Json::from(SharedToken::new(text, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let seen = match message_content(&ReceivedLine::new(line.as_bytes())) {
            MessageContent::Request { id, method, params } => {
                format!("request {} {method} {params:?}", id.as_str())
            }
            MessageContent::Notification { method, params } => {
                format!("notification {method} {params:?}")
            }
            MessageContent::Answer { id, outcome, .. } => match outcome {
                Ok(result) => format!("answer {} {result:?}", id.as_str()),
                Err(refusal) => format!("refusal {} {refusal}", id.as_str()),
            },
            MessageContent::Noise(noise) => format!("{noise:?}"),
        };
        assert_eq!(seen, expected, "{line}");
    }

    #[test]
    fn a_line_is_classified_by_its_envelope() {
        check(
            r#"{"id":1,"method":"a/b","params":{"n":1.10}}"#,
            r#"request 1 a/b Some({"n":1.10})"#,
        );
        check(r#"{"id":null,"method":"a"}"#, "request null a None");
        check(
            r#"{"id":"x\u0041","method":"a"}"#,
            r#"request "x\u0041" a None"#,
        );
        check(
            r#"{"method":"a\/b","params":[]}"#,
            "notification a/b Some([])",
        );
        check(r#"{"id":1,"result":null}"#, "answer 1 null");
        check(r#"{"id":1,"result":1,"error":null}"#, "answer 1 1");
        check(r#"{"jsonrpc":"2.0","id":1}"#, "answer 1 null");
        check(
            r#"{"id":1,"result":null,"error":{"code":-32000,"message":"log in"}}"#,
            "refusal 1 log in (-32000)",
        );
        check(r#"{"id":1,"error":"no"}"#, "refusal 1 no (0)");
        check(r#"{"id":1,"id":2,"result":1}"#, "answer 2 1");
    }

    #[test]
    fn a_line_that_is_not_a_message_is_noise() {
        check("", "Blank");
        check(" \t", "Blank");
        check("Welcome!", "NotJson");
        check(r#"{"id":1,"resu"#, "NotJson");
        check("17", "NotAnObject");
        check("[]", "NotAnObject");
        check(r#"[{"id":1,"method":"a"}]"#, "NotAnObject");
        check("{}", "NotAMessage");
        check(r#"{"id":5,"level":"info"}"#, "NotAMessage");
        check(r#"{"id":{},"method":"a"}"#, "NotAMessage");
        check(r#"{"id":true,"result":1}"#, "NotAMessage");
        check(r#"{"method":7}"#, "NotAMessage");
    }
}
