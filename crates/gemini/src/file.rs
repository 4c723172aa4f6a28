//! Small files that people and programs write by hand: bounded, regular, with the place of a mistake.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::jsonc::{self, DEEPEST, JsoncRefusal, LineIndex, MOST, SyntaxError};
use crate::notice::TextPosition;

const MIB: u64 = 1024 * 1024;

/// No text that is written by hand is longer.
const LONGEST: u64 = 4 * MIB;

/// Programs write JSON too, and may write more.
pub(crate) const LONGEST_JSON: u64 = 64 * MIB;

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
    /// A file of the system's that has no data yet, or one that another process holds.
    #[error("is a pipe or a device")]
    Blocks,
    /// The way to it is barred, or a link leads in a circle: whether it is there is unknown.
    #[error("cannot be reached: {0}")]
    Unreachable(io::Error),
    /// It is a link, or lies behind one, whose target is missing. The link was made on purpose, so this is no missing file.
    #[error("cannot be reached: a link to it is dangling")]
    LeadsNowhere,
    /// It is longer than so many bytes.
    #[error("is longer than {} MiB", .0 / MIB)]
    TooLong(u64),
    /// It is JSON, but has values in values in values, from this place on more than we can walk.
    #[error("has more than {DEEPEST} levels")]
    TooDeep(TextPosition),
    /// It is JSON, but of more values than we have room for.
    #[error("has more than {MOST} values")]
    TooMany,
    /// Some bytes are no text, the first of them here. It can be read, but nothing of it could be written as it was.
    #[error("is not UTF-8 at line {} column {}", .0.line, .0.column)]
    NotUtf8(TextPosition),
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

/// What Gemini CLI 0.61 makes of a file of settings that we cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamReaction {
    /// It does not start.
    Refuses,
    /// It may read it all the same.
    MayRead,
    /// It looks no further, and takes it for missing.
    Misses,
}

impl fmt::Display for UpstreamReaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuses => "Gemini CLI does not start with it",
            Self::MayRead => "Lapidary does not read it, Gemini CLI may",
            Self::Misses => "Gemini CLI takes it for missing",
        })
    }
}

impl ReadError {
    /// Where the mistake is, if it is at a place.
    pub fn place(&self) -> Option<TextPosition> {
        match self {
            Self::Json(error) => Some(error.place),
            Self::TooDeep(place) | Self::NotUtf8(place) => Some(*place),
            Self::ByteOrderMark | Self::NotAnObject => Some(TextPosition { line: 1, column: 1 }),
            Self::Io(_)
            | Self::Unreachable(_)
            | Self::LeadsNowhere
            | Self::NotAFile
            | Self::Blocks
            | Self::TooLong(_)
            | Self::TooMany => None,
        }
    }

    /// The problem, without the place.
    pub(crate) fn problem_text(&self) -> String {
        match self {
            Self::Json(error) => format!("is not valid JSON: {}", error.problem),
            error => error.to_string(),
        }
    }

    /// What Gemini CLI makes of the file at a path that has this flaw.
    pub fn verdict(&self, path: &Path) -> UpstreamReaction {
        match self {
            Self::Unreachable(_) | Self::LeadsNowhere => UpstreamReaction::Misses,
            // A pipe may still deliver data.
            Self::NotAFile if !path.is_dir() => UpstreamReaction::MayRead,
            Self::Blocks
            | Self::TooLong(_)
            | Self::TooDeep(_)
            | Self::TooMany
            | Self::NotUtf8(_) => UpstreamReaction::MayRead,
            Self::Io(_)
            | Self::NotAFile
            | Self::ByteOrderMark
            | Self::Json(_)
            | Self::NotAnObject => UpstreamReaction::Refuses,
        }
    }
}

impl From<JsoncRefusal> for ReadError {
    fn from(refusal: JsoncRefusal) -> Self {
        match refusal {
            JsoncRefusal::Syntax(error) => Self::Json(error),
            JsoncRefusal::TooDeep(place) => Self::TooDeep(place),
            JsoncRefusal::TooMany => Self::TooMany,
        }
    }
}

/// The text of a file, or none if there is no file.
pub fn text(path: &Path) -> Result<Option<String>, ReadError> {
    Ok(read_bytes(path, LONGEST)?.map(lossy_text))
}

/// The text of a file of JSON, or none if there is no file.
pub(crate) fn json_text(path: &Path) -> Result<Option<String>, ReadError> {
    Ok(read_bytes(path, LONGEST_JSON)?.map(lossy_text))
}

/// The same for a caller that writes it again: the text is exactly the file's.
pub(crate) fn exact_json_text(path: &Path) -> Result<Option<String>, ReadError> {
    let text = read_bytes(path, LONGEST_JSON)?.map(String::from_utf8);
    text.transpose().map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = lossy_text(error.into_bytes());
        ReadError::NotUtf8(LineIndex::new(&text).byte_position(valid))
    })
}

fn read_bytes(path: &Path, longest: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) if is_absence(&error) && leads_nowhere(path) => {
            return Err(ReadError::LeadsNowhere);
        }
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(ReadError::Unreachable(error)),
    };
    if !about.is_file() {
        return Err(ReadError::NotAFile);
    }
    if about.len() > longest {
        return Err(ReadError::TooLong(longest));
    }
    let blocks = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => ReadError::Blocks,
        _ => ReadError::Io(error),
    };
    let file = open_regular(path).map_err(blocks)?;
    let file = file.ok_or(ReadError::NotAFile)?;
    // It may grow while we read.
    let mut bytes = Vec::new();
    let read = file.take(longest + 1).read_to_end(&mut bytes);
    read.map_err(blocks)?;
    if bytes.len() as u64 > longest {
        return Err(ReadError::TooLong(longest));
    }
    Ok(Some(bytes))
}

/// Opens a regular file without blocking: it may have been replaced since it was looked at, and some files of the system block
/// like pipes. Reading such a file gives [`io::ErrorKind::WouldBlock`].
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    let is_file = file.metadata()?.is_file();
    Ok(is_file.then_some(file))
}

/// The first bytes of a regular file. Other files are not opened, or not waited for: a pipe may never deliver data.
pub(crate) fn first_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let is_file = path.metadata().ok()?.is_file();
    let file = is_file.then(|| open_regular(path))?.ok()??;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Node reads it the same way.
fn lossy_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned())
}

/// The object in a file of JSON with comments, or none if there is no file.
pub fn object(path: &Path) -> Result<Option<Map<String, Value>>, ReadError> {
    let text = json_text(path)?;
    text.map(|text| parse(&text)).transpose()
}

/// The object in a file of JSON without any comments, or none if there is no file.
pub(crate) fn strict_object(path: &Path) -> Result<Option<Map<String, Value>>, ReadError> {
    let text = json_text(path)?;
    text.map(|text| as_object(jsonc::parse_strict(&text)?))
        .transpose()
}

/// The object in a text of JSON with comments.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, ReadError> {
    if text.starts_with('\u{feff}') {
        return Err(ReadError::ByteOrderMark);
    }
    as_object(jsonc::parse(text)?)
}

fn as_object(value: Value) -> Result<Map<String, Value>, ReadError> {
    match value {
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

/// Whether a link on the way has no end.
fn leads_nowhere(path: &Path) -> bool {
    let mut ancestors = path.ancestors();
    let nearest = ancestors.find_map(|it| Some((it, it.symlink_metadata().ok()?)));
    nearest.is_some_and(|(it, about)| about.is_symlink() && it.metadata().is_err())
}
