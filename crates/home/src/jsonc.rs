//! JSON with comments, as Gemini CLI takes it: comments go, trailing commas are still a mistake.

mod tree;

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use crate::notice::Place;

pub(crate) use tree::{Child, Node, Tree};

/// Reads JSON with comments.
pub(crate) fn parse(text: &str) -> Result<Value, SyntaxError> {
    let plain = Plain::of(text);
    serde_json::from_str(&plain.text).map_err(|error| SyntaxError::of(&error, text))
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub problem: String,
    /// Where.
    pub place: Place,
}

impl SyntaxError {
    pub(crate) fn of(error: &serde_json::Error, text: &str) -> Self {
        let told = error.to_string();
        let (problem, _) = told.rsplit_once(" at line ").unwrap_or((&told, ""));
        let line = text.split('\n').nth(error.line().saturating_sub(1));
        // It counts bytes.
        let before = error.column().saturating_sub(1);
        let before = line.map_or(0, |line| letters_before(line, before));
        Self {
            problem: problem.to_owned(),
            place: Place {
                line: error.line(),
                column: before + 1,
            },
        }
    }
}

impl std::error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{} at line {line} column {column}", self.problem)
    }
}

/// How many letters begin before a byte.
fn letters_before(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}

/// Where a byte of a text is.
pub(crate) fn place(text: &str, byte: usize) -> Place {
    let before = text.get(..byte).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}

/// A text with a blank for each byte of a comment, so that every place stays where it was.
pub(crate) struct Plain {
    pub(crate) text: String,
    /// Where the comments were.
    pub(crate) comments: Vec<Range<usize>>,
}

impl Plain {
    pub(crate) fn of(text: &str) -> Self {
        let mut plain = Self {
            text: String::with_capacity(text.len()),
            comments: Vec::new(),
        };
        let mut at = At::Json;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            let (now, is_comment, takes_two) = at.step(letter, next);
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
        check("/", None);
        check("", None);
    }

    #[test]
    fn a_mistake_is_where_it_stands() {
        let error = parse("// hello\n{ /* é */ x }").unwrap_err();
        assert_eq!(
            error.to_string(),
            "key must be a string at line 2 column 11"
        );
        let error = parse("{\"é\": ü}").unwrap_err();
        assert_eq!(error.place, Place { line: 1, column: 7 });
        let error = parse("{\"a\": 1").unwrap_err();
        assert_eq!(error.place.line, 1);
    }
}
