//! JSON with comments, as Gemini CLI takes it: comments go, trailing commas are still a mistake.

use serde_json::Value;

/// Reads JSON with comments. Line and column of an error are those of the text.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&without_comments(text))
}

/// The text with a blank for each letter of a comment, so that every place stays where it was.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = At::Json;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let (now, is_comment, takes_two) = at.step(letter, next);
        at = now;
        out.push(if is_comment { blank(letter) } else { letter });
        if takes_two && let Some(second) = letters.next() {
            out.push(if is_comment { blank(second) } else { second });
        }
    }
    out
}

#[derive(Clone, Copy)]
enum At {
    Json,
    Text,
    Line,
    Block,
}

impl At {
    /// Where we are after a letter, whether the letter belongs to a comment, and whether the one behind it goes with it.
    fn step(self, letter: char, next: Option<char>) -> (Self, bool, bool) {
        match (self, letter, next) {
            (Self::Json, '"', _) => (Self::Text, false, false),
            (Self::Json, '/', Some('/')) => (Self::Line, true, true),
            (Self::Json, '/', Some('*')) => (Self::Block, true, true),
            (Self::Text, '\\', Some(_)) => (Self::Text, false, true),
            (Self::Text, '"', _) | (Self::Line, '\n', _) => (Self::Json, false, false),
            (Self::Block, '*', Some('/')) => (Self::Json, true, true),
            (Self::Json | Self::Text, _, _) => (self, false, false),
            (Self::Line | Self::Block, _, _) => (self, true, false),
        }
    }
}

fn blank(letter: char) -> char {
    if letter.is_whitespace() { letter } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_go_and_everything_else_stays() {
        let check = |text: &str, expected: Option<Value>| {
            assert_eq!(parse(text).ok(), expected, "{text}");
        };
        check("{} // the end", Some(json!({})));
        check("/* a */ {/**/\"a\": 1 /* b\n */}", Some(json!({"a": 1})));
        check(r#"{"u": "http://x/*"}"#, Some(json!({"u": "http://x/*"})));
        check(
            r#"{"q": "\"//", "b": 2}"#,
            Some(json!({"q": "\"//", "b": 2})),
        );
        check("{\"a\": 1, // last\n}", None); // as in Gemini CLI
        check("{\"a\": 1} /* open", Some(json!({"a": 1})));
        check("/", None);
        check("", None);
    }

    #[test]
    fn a_mistake_is_where_it_stands() {
        let error = parse("// hello\n{ /* é */ x }").unwrap_err();
        assert_eq!((error.line(), error.column()), (2, 11));
    }
}
