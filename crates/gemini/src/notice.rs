//! Notices about a file that was read: where, which key, and a sentence.

use std::fmt;
use std::path::PathBuf;

/// A remark about a file. Nothing fails because of it. Paths, keys and words of the file are in it as they are: who shows it on a
/// terminal filters it first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNotice {
    /// The file.
    pub path: PathBuf,
    /// Where in it, if the place is known.
    pub place: Option<TextPosition>,
    /// The key, with dots between the steps, if it is about one.
    pub key: Option<String>,
    /// What there is to know, as a sentence without the place.
    pub sentence: String,
}

/// A place in a text, both counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The letter in it.
    pub column: usize,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for FileNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": `{key}`")?;
        }
        write!(f, ": {}", self.sentence)
    }
}
