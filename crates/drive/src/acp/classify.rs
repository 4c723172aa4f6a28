//! Telling a line's kind by its envelope: tolerantly, since an answer that is taken for noise leaves somebody waiting.

use std::sync::Arc;

use lapidary_json::{Kind, ScanError, SharedToken, Token, scan_object};
use lapidary_vocab::{Json, Text};

use super::error::Refusal;
use super::message::{Asked, Id, Line, Noise, What};

/// The members of an envelope. Where a key stands twice the last counts, as it does for JavaScript.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<Token<'a>>,
    id: Option<Token<'a>>,
    method: Option<Token<'a>>,
    params: Option<Token<'a>>,
    result: Option<Token<'a>>,
    error: Option<Token<'a>>,
}

impl<'a> Envelope<'a> {
    fn read(text: &'a str) -> Result<Self, Noise> {
        let mut envelope = Self::default();
        let scanned = scan_object(text, |key, value| {
            if let Some(place) = envelope.place(key) {
                *place = Some(value);
            }
        });
        match scanned {
            Ok(_) => Ok(envelope),
            Err(ScanError::NotAnObject(_)) => Err(Noise::NotAnObject),
            Err(ScanError::Invalid(_)) if text.trim_ascii().is_empty() => Err(Noise::Blank),
            Err(ScanError::Invalid(_)) => Err(Noise::NotJson),
        }
    }

    fn place(&mut self, key: Token<'_>) -> Option<&mut Option<Token<'a>>> {
        match key.string()?.as_ref() {
            "jsonrpc" => Some(&mut self.jsonrpc),
            "id" => Some(&mut self.id),
            "method" => Some(&mut self.method),
            "params" => Some(&mut self.params),
            "result" => Some(&mut self.result),
            "error" => Some(&mut self.error),
            _ => None,
        }
    }
}

/// What a line is. Whether an answer is awaited is for others to say; so far it is not.
pub(super) fn classify(line: &Line) -> What {
    let text = line.text();
    let envelope = match Envelope::read(text) {
        Ok(envelope) => envelope,
        Err(noise) => return What::Noise(noise),
    };
    let message = match envelope.method {
        Some(method) => call(text, method, &envelope),
        None => answer(text, &envelope),
    };
    message.unwrap_or(What::Noise(Noise::NotAMessage))
}

fn call(text: &Arc<str>, method: Token<'_>, envelope: &Envelope<'_>) -> Option<What> {
    let method = Text::from_token(SharedToken::of(text, method.of(Kind::String)?));
    let params = envelope.params.map(|params| json(text, params));
    Some(match envelope.id {
        Some(id) => What::Request {
            id: Id::read(id)?,
            method,
            params,
        },
        None => What::Notification { method, params },
    })
}

fn answer(text: &Arc<str>, envelope: &Envelope<'_>) -> Option<What> {
    let id = Id::read(envelope.id?)?;
    let error = envelope.error.and_then(Token::non_null);
    let outcome = match (error, envelope.result) {
        (Some(error), _) => Err(Refusal::read(text, error)),
        (None, Some(result)) => Ok(json(text, result)),
        // JavaScript leaves out a result that is `undefined`. Without the mark it could be anything that has an id.
        (None, None) => {
            envelope.jsonrpc?;
            Ok(Json::from_value(&()))
        }
    };
    Some(What::Answer {
        id,
        outcome,
        asked: Asked::Never,
    })
}

fn json(text: &Arc<str>, token: Token<'_>) -> Json {
    Json::from(SharedToken::of(text, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let seen = match classify(&Line::new(line.as_bytes())) {
            What::Request { id, method, params } => {
                format!("request {} {method} {params:?}", id.as_str())
            }
            What::Notification { method, params } => format!("notification {method} {params:?}"),
            What::Answer { id, outcome, .. } => match outcome {
                Ok(result) => format!("answer {} {result:?}", id.as_str()),
                Err(refusal) => format!("refusal {} {refusal}", id.as_str()),
            },
            What::Noise(noise) => format!("{noise:?}"),
        };
        assert_eq!(seen, expected, "{line}");
    }

    #[test]
    fn a_line_is_told_by_its_envelope() {
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
    fn what_is_no_message_is_noise() {
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
