//! Small files that people and programs write by hand: bounded, regular, with the place of a mistake.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::jsonc::{self, SyntaxError};
use crate::notice::Place;

/// No settings are longer, and what is longer is none.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system does not let us read it.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A pipe, a directory or a device: it could be waited for without end.
    #[error("is not a regular file")]
    NotAFile,
    /// Nobody writes so much by hand.
    #[error("is longer than 4 MiB")]
    TooLong,
    /// Some editors put it there; JSON has none.
    #[error("begins with a byte order mark, which is not valid JSON")]
    ByteOrderMark,
    /// It is not JSON, comments aside.
    #[error("is not valid JSON: {0}")]
    Json(#[from] SyntaxError),
    /// It is JSON, but no object.
    #[error("does not hold a JSON object")]
    NotAnObject,
}

impl ReadError {
    /// Where the mistake is, if it is at a place.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Json(error) => Some(error.place),
            Self::ByteOrderMark | Self::NotAnObject => Some(Place { line: 1, column: 1 }),
            Self::Io(_) | Self::NotAFile | Self::TooLong => None,
        }
    }
}

/// The text of a file, or none if there is no file.
pub(crate) fn text(path: &Path) -> Result<Option<String>, ReadError> {
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !about.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(ReadError::TooLong);
    }
    // Node reads it the same way.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The object in a file of JSON with comments, or none if there is no file.
pub(crate) fn object(path: &Path) -> Result<Option<Map<String, Value>>, ReadError> {
    let text = text(path)?;
    text.map(|text| parse(&text)).transpose()
}

/// The object in a file of JSON without any comments, or none if there is no file.
pub(crate) fn strict_object(path: &Path) -> Result<Option<Map<String, Value>>, ReadError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    let value = serde_json::from_str(&text);
    match value.map_err(|error| SyntaxError::of(&error, &text))? {
        Value::Object(object) => Ok(Some(object)),
        _ => Err(ReadError::NotAnObject),
    }
}

/// The object in a text of JSON with comments.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, ReadError> {
    if text.starts_with('\u{feff}') {
        return Err(ReadError::ByteOrderMark);
    }
    match jsonc::parse(text)? {
        Value::Object(object) => Ok(object),
        _ => Err(ReadError::NotAnObject),
    }
}

/// A file where a directory was expected means that there is nothing behind it either.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
