//! Small files that people and programs write by hand: bounded, regular, with the place of a mistake.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::jsonc;

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
    /// It is not JSON, comments aside.
    #[error("is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON, but no object.
    #[error("does not hold a JSON object")]
    NotAnObject,
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
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    match jsonc::parse(&text)? {
        Value::Object(object) => Ok(Some(object)),
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
