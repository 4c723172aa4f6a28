//! JSON laid out for reading, its tokens as they came.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Json;

/// Deeper values are written on one line. A hostile value could otherwise nest until the stack ends.
const DEEPEST: usize = 24;

/// A string as its text, any other value as indented JSON.
pub(crate) fn readable_text(token: Token<'_>) -> String {
    match token.string() {
        Some(text) => text.into_owned(),
        None => pretty_json(token),
    }
}

/// The result of a tool, as text. Gemini wraps it: `{"output": "…"}`, or `{"error": "…"}`.
pub(crate) fn output_text(json: &Json) -> String {
    let token = json.token();
    let mut members = token.members();
    match (members.next(), members.next()) {
        (Some((key, value)), None) if key.is("output") || key.is("error") => readable_text(value),
        _ => readable_text(token),
    }
}

/// Indented JSON.
pub(crate) fn pretty_json(token: Token<'_>) -> String {
    let mut text = String::new();
    write_value(token, 0, &mut text);
    text
}

fn write_value(token: Token<'_>, depth: usize, text: &mut String) {
    let is_empty = token.members().next().is_none() && token.elements().next().is_none();
    match token.kind() {
        TokenKind::Object if depth < DEEPEST && !is_empty => {
            let members = token.members().map(|(key, value)| (Some(key), value));
            write_inside(['{', '}'], members, depth, text);
        }
        TokenKind::Array if depth < DEEPEST && !is_empty => {
            let elements = token.elements().map(|value| (None, value));
            write_inside(['[', ']'], elements, depth, text);
        }
        _ => text.push_str(token.as_str()),
    }
}

fn write_inside<'a>(
    [open, close]: [char; 2],
    values: impl Iterator<Item = (Option<Token<'a>>, Token<'a>)>,
    depth: usize,
    text: &mut String,
) {
    text.push(open);
    for (i, (key, value)) in values.enumerate() {
        text.push_str(if i == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            text.push_str(key.as_str());
            text.push_str(": ");
        }
        write_value(value, depth + 1, text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_laid_out_and_tokens_kept() {
        let token = Token::parse(r#"{"a":[1.10,{"b":"x\ny"}],"c":{},"d":[]}"#).unwrap();
        assert_eq!(
            pretty_json(token),
            "{\n  \"a\": [\n    1.10,\n    {\n      \"b\": \"x\\ny\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}"
        );
    }

    #[test]
    fn a_deep_value_ends_on_one_line() {
        let deep = "[".repeat(60) + &"]".repeat(60);
        assert!(pretty_json(Token::parse(&deep).unwrap()).lines().count() < 60);
    }

    #[test]
    fn a_wrapped_output_is_unwrapped() {
        let text = |json: &str| output_text(&serde(json));
        assert_eq!(text(r#""plain""#), "plain");
        assert_eq!(text(r#"{"output":"a\nb"}"#), "a\nb");
        assert_eq!(
            text(r#"{"output":"a","n":1}"#),
            "{\n  \"output\": \"a\",\n  \"n\": 1\n}"
        );
    }

    fn serde(json: &str) -> Json {
        Json::from(lapidary_vocab::SharedToken::parse(json).unwrap())
    }
}
