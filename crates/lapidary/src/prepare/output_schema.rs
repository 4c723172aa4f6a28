//! The schema of an answer, from a file of the user or from a program.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lapidary_gemini::json_schema::{JsonSchema, LARGEST_SCHEMA, SchemaError};

/// Where the schema of an answer comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputSchemaSource {
    /// A file.
    File(PathBuf),
    /// The schema itself.
    Schema(JsonSchema),
}

/// Why the schema of an answer cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputSchemaError {
    /// The file cannot be read.
    #[error("cannot read the output schema `{}`", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It is a directory, a pipe or a device.
    #[error("the output schema `{}` is not a regular file", file.display())]
    NotAFile {
        /// The path.
        file: PathBuf,
    },
    /// Answers could not be checked exactly.
    #[error("the output schema `{}` cannot be used", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: SchemaError,
    },
}

impl OutputSchemaError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("the path counts from the current directory".to_owned())
            }
            Self::Unreadable { .. } | Self::NotAFile { .. } => None,
            Self::Unusable { source, .. } => source.hint(),
        }
    }
}

impl OutputSchemaSource {
    /// The schema. A file is looked for from `here`.
    pub(super) fn read_schema(&self, here: &Path) -> Result<JsonSchema, OutputSchemaError> {
        let file = match self {
            Self::Schema(schema) => return Ok(schema.clone()),
            Self::File(file) => file,
        };
        let text = read_text(&here.join(file), file)?;
        JsonSchema::parse(&text).map_err(|source| OutputSchemaError::Unusable {
            file: file.clone(),
            source,
        })
    }
}

/// Reads no more than shows that the schema is too large.
fn read_text(path: &Path, named: &Path) -> Result<String, OutputSchemaError> {
    let unreadable = |source| OutputSchemaError::Unreadable {
        file: named.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(OutputSchemaError::NotAFile {
            file: named.to_owned(),
        });
    }
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut bounded = file.take(LARGEST_SCHEMA as u64 + 1);
    bounded.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
