//! A JavaScript regular expression that is searched line by line, without regard to capital letters.
//!
//! Most patterns are ones of the `regex` crate, which sweeps a whole file at once; a line that it points at is then tested alone. A
//! pattern that looks around or back is tested on every line by `fancy-regex`, with a limit on its steps.

use lapidary_gemini::js::regex::{PatternError, translate};
use regex::bytes;

/// A line that needs more steps back does not match.
const MOST_STEPS: usize = 100_000;
/// The compiled form of a pattern.
const MOST_BYTES: usize = 10 * 1024 * 1024;

/// Whether a carriage return before a line feed belongs to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// It ends the line with the line feed: `$` matches before it.
    CrLf,
    /// It is the last letter of the line, as for `git grep`: `$` does not match before it.
    Lf,
}

/// A pattern for lines.
#[derive(Debug)]
pub(super) enum LinePattern {
    /// Finds lines in a text, and tests one line.
    Swept {
        text: bytes::Regex,
        line: bytes::Regex,
    },
    /// Tests one line.
    Stepped(Box<fancy_regex::Regex>),
}

impl LinePattern {
    /// Reads a pattern for lines of text that end so.
    ///
    /// # Errors
    /// It is no regular expression: V8's sentence.
    pub(super) fn new(pattern: &str, line_end: LineEnd) -> Result<Self, String> {
        let translated = translate(pattern).map_err(|error| {
            let why = match error {
                PatternError::Invalid(why) => why,
                PatternError::TooLarge => "Regular expression too large".to_owned(),
                PatternError::Foreign => "the pattern uses what only JavaScript has".to_owned(),
            };
            format!("Invalid regular expression: /{pattern}/: {why}")
        })?;
        let build = |is_multi_line: bool| {
            bytes::RegexBuilder::new(&translated.lines)
                .case_insensitive(true)
                .multi_line(is_multi_line)
                .crlf(is_multi_line && line_end == LineEnd::CrLf)
                .size_limit(MOST_BYTES)
                .build()
        };
        if let (Ok(text), Ok(line)) = (build(true), build(false)) {
            return Ok(Self::Swept { text, line });
        }
        let mut stepped = fancy_regex::RegexBuilder::new(&translated.fancy);
        let compiled = stepped
            .case_insensitive(true)
            .backtrack_limit(MOST_STEPS)
            .delegate_size_limit(MOST_BYTES)
            .build();
        match compiled {
            Ok(regex) => Ok(Self::Stepped(Box::new(regex))),
            Err(_) => Err(format!(
                "Invalid regular expression: /{pattern}/: Regular expression too large"
            )),
        }
    }

    /// Whether a line without its end matches.
    pub(super) fn matches_line(&self, line: &[u8]) -> bool {
        match self {
            Self::Swept { line: regex, .. } => regex.is_match(line),
            Self::Stepped(regex) => regex
                .is_match(&String::from_utf8_lossy(line))
                .unwrap_or(false),
        }
    }

    /// Where a line may match, from a place that begins a line. None if none behind it does.
    pub(super) fn next_candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Swept { text: regex, .. } => regex.find_at(text, from).map(|found| found.start()),
            Self::Stepped(_) => (from < text.len()).then_some(from),
        }
    }
}
