//! Files for the agent: read in part, written whole.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};

use lapidary_vocab::Json;
use lapidary_vocab::event::ToolKind;

use super::params::{RequestParams, bad_params};
use super::roots::place_in;
use super::{MissingFile, NOT_FOUND, READ, ServicesInner, WRITE};
use crate::acp::RpcError;
use crate::policy::{RootedPlace, ToolAction, confined_files};

/// A file to read.
pub(super) struct ReadFile {
    place: RootedPlace,
    /// The first line that is wanted, from 1.
    line: u64,
    /// How many lines are wanted.
    limit: Option<u64>,
    missing: MissingFile,
    max: usize,
}

impl ReadFile {
    pub(super) fn parse(
        inner: &ServicesInner,
        params: &RequestParams<'_>,
    ) -> Result<Self, RpcError> {
        Ok(Self {
            place: file_in(inner, params)?,
            line: params.optional_count("line")?.unwrap_or(1).max(1),
            limit: params.optional_count("limit")?,
            missing: inner.missing,
            max: inner.limits.file_bytes,
        })
    }

    pub(super) fn tool_action(&self) -> ToolAction {
        file_action(ToolKind::Read, READ, &self.place)
    }

    pub(super) fn read_content(self) -> Result<Json, RpcError> {
        let content = match confined_files::open(&self.place.path) {
            Ok(file) => self.text_of(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.of_nothing()?,
            Err(error) => return Err(file_error("read", &self.place, &error)),
        };
        let content = Json::from_value(&content);
        Ok(Json::object([("content", content)]))
    }

    fn of_nothing(&self) -> Result<String, RpcError> {
        match self.missing {
            MissingFile::Empty => Ok(String::new()),
            MissingFile::Refused => {
                let words = format!("`{}` does not exist", self.place.path.display());
                Err(RpcError::new(NOT_FOUND, words))
            }
        }
    }

    fn text_of(&self, file: File) -> Result<String, RpcError> {
        let bytes = file_excerpt(file, self.line, self.limit, self.max);
        let bytes = bytes.map_err(|error| file_error("read", &self.place, &error))?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let path = self.place.path.display();
            RpcError::new(
                RpcError::INTERNAL,
                format!("`{path}` is not text in UTF-8: see byte {at} of what was asked for"),
            )
        })
    }
}

/// The lines from `line` on, `limit` of them, each with its end: parts that are read one after the other add up to the whole
/// file. Skipped lines count towards `max`.
fn file_excerpt(file: File, line: u64, limit: Option<u64>, max: usize) -> io::Result<Vec<u8>> {
    let bound = u64::try_from(max).unwrap_or(u64::MAX);
    let mut file = BufReader::new(file.take(bound.saturating_add(1)));
    let mut skipped = 0;
    for _ in 1..line {
        match file.skip_until(b'\n')? {
            0 => break,
            count => skipped += count,
        }
    }
    let mut wanted = Vec::new();
    match limit {
        None => {
            file.read_to_end(&mut wanted)?;
        }
        Some(limit) => {
            for _ in 0..limit {
                if file.read_until(b'\n', &mut wanted)? == 0 {
                    break;
                }
            }
        }
    }
    if skipped + wanted.len() > max {
        let words = format!("it is too large: more than {max} bytes would have to be read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(wanted)
}

/// A file to write.
pub(super) struct WriteFile {
    place: RootedPlace,
    content: String,
}

impl WriteFile {
    pub(super) fn parse(
        inner: &ServicesInner,
        params: &RequestParams<'_>,
    ) -> Result<Self, RpcError> {
        let place = file_in(inner, params)?;
        let content = params.required_text("content")?;
        let max = inner.limits.file_bytes;
        if content.len() > max {
            return Err(bad_params(format!("`content` is longer than {max} bytes")));
        }
        let content = content.into_owned();
        Ok(Self { place, content })
    }

    pub(super) fn tool_action(&self) -> ToolAction {
        file_action(ToolKind::Edit, WRITE, &self.place)
    }

    pub(super) fn write_content(self) -> Result<Json, RpcError> {
        let RootedPlace { path, root_parts } = &self.place;
        let written = confined_files::replace(path, *root_parts, self.content.as_bytes());
        written.map_err(|error| file_error("write", &self.place, &error))?;
        Ok(Json::empty_object())
    }
}

fn file_in(inner: &ServicesInner, params: &RequestParams<'_>) -> Result<RootedPlace, RpcError> {
    let place = place_in(&inner.roots, params, "path")?;
    if params.required_text("path")?.ends_with('/') {
        let path = place.path.display();
        return Err(bad_params(format!(
            "`{path}/` names a directory, not a file"
        )));
    }
    Ok(place)
}

fn file_action(kind: ToolKind, tool: &str, place: &RootedPlace) -> ToolAction {
    ToolAction {
        tool: Some(tool.to_owned()),
        paths: vec![place.path.clone()],
        ..ToolAction::new(kind)
    }
}

fn file_error(verb: &str, place: &RootedPlace, error: &io::Error) -> RpcError {
    let words = format!("cannot {verb} `{}`: {error}", place.path.display());
    RpcError::new(RpcError::INTERNAL, words)
}
