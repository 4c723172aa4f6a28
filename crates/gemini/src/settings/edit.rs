//! Changing a settings file: comments, order and layout stay, two writers do not lose each other's change, and no reader sees
//! half a file.

mod diff;
mod document;
mod layout;
mod leftovers;
mod place;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file::ReadError;

pub use document::SettingsDocument;
use write::EditTarget;

/// Why a file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The existing file is not ours to overwrite.
    #[error("`{path}` {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: ReadError,
    },
    /// The changed file would be unreadable, for Gemini CLI or for us.
    #[error("`{path}` is left as it is: after the change it {source}")]
    Spoiled {
        /// The file.
        path: PathBuf,
        /// What would be wrong with it.
        source: ReadError,
    },
    /// A step of the path of keys is there, but is no object; or the list is no list.
    #[error("`{key}` is {found}, not {expected}, in `{path}`")]
    OddValue {
        /// The file.
        path: PathBuf,
        /// The key, with dots.
        key: String,
        /// The existing value.
        found: &'static str,
        /// What should be.
        expected: &'static str,
    },
    /// It is a link to where nothing is.
    #[error("`{path}` is a link to `{to}`, where nothing is: nothing is made there")]
    LeadsNowhere {
        /// The link.
        path: PathBuf,
        /// The link's target.
        to: PathBuf,
    },
    /// A link leads out of the directory that it should be in.
    #[error("`{path}` points to `{real}`, outside `{root}`: nothing is changed there")]
    LeadsOut {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        real: PathBuf,
        /// The directory that it leads out of.
        root: PathBuf,
    },
    /// The system does not let us write.
    #[error("cannot write `{path}`: {source}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has been writing for too long.
    #[error("`{path}` is being changed by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Whether an edit changed the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    /// The file is new, or other than it was.
    Yes,
    /// The file says all that already, and was not touched.
    No,
}

/// Changes a settings file, or makes it. An error of the closure leaves the file as it was. No other file of its
/// directory can be changed meanwhile, so the closure should neither take long nor call this again.
///
/// ```
/// use lapidary_gemini::settings::{EditError, EditOutcome, edit};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("settings.json");
/// std::fs::write(&path, "{\n  // mine\n  \"skills\": {}\n}\n")?;
/// let changed = edit(&path, |settings| -> Result<(), EditError> {
///     settings.push(&["skills", "disabled"], "pdf")?;
///     Ok(())
/// })?;
/// assert_eq!(changed, EditOutcome::Yes);
/// assert_eq!(
///     std::fs::read_to_string(&path)?,
///     "{\n  // mine\n  \"skills\": {\n    \"disabled\": [\n      \"pdf\"\n    ]\n  }\n}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn edit<E: From<EditError>>(
    path: &Path,
    change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
) -> Result<EditOutcome, E> {
    EditTarget::open(path)?.edit_document(change)
}

/// The same for a file in another author's directory: if a link leads out of it, nothing is changed.
pub fn edit_within<E: From<EditError>>(
    root: &Path,
    path: &Path,
    change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
) -> Result<EditOutcome, E> {
    EditTarget::open_within(path, root)?.edit_document(change)
}

/// The same as [`edit`], but a file that is made can be read by its owner only.
pub(crate) fn edit_private<E: From<EditError>>(
    path: &Path,
    change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
) -> Result<EditOutcome, E> {
    EditTarget::open_private(path)?.edit_document(change)
}

/// The kind of a value, in words.
pub(crate) fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
