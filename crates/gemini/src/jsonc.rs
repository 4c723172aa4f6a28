//! JSON with comments, as Gemini CLI takes it: comments go, trailing commas are still a mistake.

mod bounds;
mod lines;
mod tree;

use std::fmt;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::notice::TextPosition;
use bounds::ExcessKind;

pub(crate) use bounds::{DEEPEST, MOST};
pub(crate) use lines::LineIndex;
pub(crate) use tree::{JsoncChild, JsoncNode, JsoncTree};

/// Reads JSON with comments.
pub(crate) fn parse(text: &str) -> Result<Value, JsoncRefusal> {
    read_value(&BlankedText::new(text).text, text)
}

/// Reads JSON without any.
pub(crate) fn parse_strict(text: &str) -> Result<Value, JsoncRefusal> {
    read_value(text, text)
}

fn read_value(plain: &str, text: &str) -> Result<Value, JsoncRefusal> {
    // This keeps nothing and does not call itself: no text is too much for it.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(plain) {
        return Err(JsoncRefusal::Syntax(SyntaxError::from_json(
            &error, plain, text,
        )));
    }
    match bounds::check(plain) {
        Err(ExcessKind::Levels(byte)) => {
            return Err(JsoncRefusal::TooDeep(
                LineIndex::new(text).byte_position(byte),
            ));
        }
        Err(ExcessKind::Values) => return Err(JsoncRefusal::TooMany),
        Ok(()) => {}
    }
    // It refuses numbers that JavaScript calls infinite, halves of surrogate pairs, and values deeper than 128 levels.
    let usual = serde_json::from_str(plain);
    let odd = || JsoncTree::parse(plain).map(|tree| tree.to_value());
    // A text that is valid and within the bounds has a tree.
    Ok(usual.ok().or_else(odd).unwrap_or_default())
}

/// Why a text is not taken.
#[derive(Debug)]
pub(crate) enum JsoncRefusal {
    /// It is not JSON.
    Syntax(SyntaxError),
    /// It is, but deeper than [`DEEPEST`] levels from here on.
    TooDeep(TextPosition),
    /// It is, but of more than [`MOST`] values.
    TooMany,
}

/// The problem of a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The problem.
    pub problem: String,
    /// Where.
    pub place: TextPosition,
}

impl SyntaxError {
    fn from_json(error: &serde_json::Error, plain: &str, text: &str) -> Self {
        let told = error.to_string();
        let (problem, _) = told.rsplit_once(" at line ").unwrap_or((&told, ""));
        // It counts bytes.
        let lines = LineIndex::new(text);
        let byte = lines.line_start(error.line()) + error.column().saturating_sub(1);
        let problem = match plain.split_at_checked(byte) {
            Some((before, rest)) if is_trailing(before, rest) => "trailing comma",
            _ => problem,
        };
        Self {
            problem: problem.to_owned(),
            place: lines.byte_position(byte),
        }
    }
}

/// Whether a list or an object ends where one more value should have come.
fn is_trailing(before: &str, rest: &str) -> bool {
    rest.starts_with(['}', ']']) && before.trim_end().ends_with(',')
}

impl std::error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextPosition { line, column } = self.place;
        write!(f, "{} at line {line} column {column}", self.problem)
    }
}

/// A text with a blank for each byte of a comment, so that every place stays where it was.
pub(crate) struct BlankedText {
    pub(crate) text: String,
    /// Where the comments were.
    pub(crate) comments: Vec<Range<usize>>,
}

impl BlankedText {
    pub(crate) fn new(text: &str) -> Self {
        let mut plain = Self {
            text: String::with_capacity(text.len()),
            comments: Vec::new(),
        };
        let mut at = ScanPosition::Json;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            let (now, is_comment, takes_two) = at.after_letter(letter, next);
            at = now;
            plain.push(letter, is_comment);
            if takes_two && let Some(second) = letters.next() {
                plain.push(second, is_comment);
            }
        }
        plain
    }

    fn push(&mut self, letter: char, is_comment: bool) {
        if !is_comment {
            self.text.push(letter);
            return;
        }
        let start = self.text.len();
        if is_space(letter) {
            self.text.push(letter);
        } else {
            (0..letter.len_utf8()).for_each(|_| self.text.push(' '));
        }
        match self.comments.last_mut() {
            // A comment behind another one needs no line of its own.
            Some(last) if last.end == start => last.end = self.text.len(),
            _ => self.comments.push(start..self.text.len()),
        }
    }
}

#[derive(Clone, Copy)]
enum ScanPosition {
    Json,
    Text,
    Line,
    Block,
}

impl ScanPosition {
    /// Where we are after a letter, whether the letter belongs to a comment, and whether the one behind it goes with it.
    fn after_letter(self, letter: char, next: Option<char>) -> (Self, bool, bool) {
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

/// What JavaScript calls white space. In a comment it stays, and JSON then does not like the less usual kinds.
fn is_space(letter: char) -> bool {
    letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}'
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
        check("{} // caf\u{e9}\u{85}", Some(json!({})));
        check("{} // hard\u{a0}space", None); // as in Gemini CLI
        check("{} // \u{feff}", None); // as in Gemini CLI
        check("/", None);
        check("[1,\n]", None);
        check("", None);
    }

    #[test]
    fn a_mistake_is_where_it_stands() {
        for (text, expected) in [
            (
                "// hello\n{ /* é */ x }",
                "key must be a string at line 2 column 11",
            ),
            ("{\"é\": ü}", "expected value at line 1 column 7"),
            (
                "{\"a\": 1",
                "EOF while parsing an object at line 1 column 7",
            ),
            ("{\"a\": [1, // é\n]}", "trailing comma at line 2 column 1"),
            ("{\"a\": 1, }", "trailing comma at line 1 column 10"),
            ("{,}", "key must be a string at line 1 column 2"),
            // What is too deep as well is not JSON in the first place.
            (
                &"[".repeat(100_000),
                "EOF while parsing a list at line 1 column 100000",
            ),
        ] {
            let Err(JsoncRefusal::Syntax(error)) = parse(text) else {
                panic!("{text} is no JSON");
            };
            assert_eq!(error.to_string(), expected);
        }
    }

    fn nested(levels: usize) -> String {
        format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
    }

    /// Every answer here is that of Gemini CLI 0.61, which starts with all of these.
    #[test]
    fn json_that_javascript_reads_is_read() {
        let check = |text: &str, expected: Value| assert_eq!(parse(text).unwrap(), expected);
        // There is no infinity in JSON: the largest number behaves as one.
        check(
            "[1e400, -1e400, /**/ 1e-400]",
            json!([f64::MAX, f64::MIN, 0.0]),
        );
        check(
            r#"{"\ud800": "a\udc00b", "p": "\ud83d\ude00"}"#,
            json!({"\u{fffd}": "a\u{fffd}b", "p": "\u{1f600}"}),
        );
        check(
            r#"{"a": 1e400, "b": [true, null], "a": 2}"#,
            json!({"a": 2, "b": [true, null]}),
        );
        let mut value = parse(&nested(DEEPEST)).unwrap();
        for _ in 0..DEEPEST {
            value = value["a"].take();
        }
        assert_eq!(value, 1);
    }

    #[test]
    fn a_text_nested_too_deep_is_refused_with_its_place() {
        let text = format!("\n{}", nested(DEEPEST + 1));
        let refused = parse(&text);
        let place = TextPosition {
            line: 2,
            column: 5 * DEEPEST + 1,
        };
        assert!(matches!(refused, Err(JsoncRefusal::TooDeep(at)) if at == place));
        assert!(matches!(
            parse_strict(&nested(1_000_000)),
            Err(JsoncRefusal::TooDeep(_))
        ));
        let many = format!("[1{}]", ",1".repeat(MOST));
        assert!(matches!(parse(&many), Err(JsoncRefusal::TooMany)));
    }
}
