//! Changing a settings file: comments, order and layout stay, two writers do not lose each other's change, and nobody sees half a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file::{self, ReadError};

/// Why a file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// What is there is not ours to overwrite.
    #[error("`{path}` {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ReadError,
    },
    /// A step of the path of keys is there, but is no object; or the list is no list.
    #[error("`{key}` is {found}, not {expected}, in `{path}`")]
    OddValue {
        /// The file.
        path: PathBuf,
        /// The key, with dots.
        key: String,
        /// What is there.
        found: &'static str,
        /// What should be.
        expected: &'static str,
    },
    /// The system does not let us write.
    #[error("cannot write `{path}`: {source}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process has been writing for too long.
    #[error("`{path}` is being changed by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Whether an edit changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The file is new, or other than it was.
    Yes,
    /// The file says all that already, and was not touched.
    No,
}

/// Changes a settings file, or makes it. What the closure returns as an error leaves the file as it was.
pub fn edit<E: From<EditError>>(
    path: &Path,
    change: impl FnOnce(&mut Document) -> Result<(), E>,
) -> Result<Changed, E> {
    let before = file::object(path).map_err(|source| EditError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let mut document = Document {
        path: path.to_owned(),
        object: before.clone().unwrap_or_default(),
    };
    change(&mut document)?;
    if before.unwrap_or_default() == document.object {
        return Ok(Changed::No);
    }
    let unwritable = |source| EditError::Unwritable {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let text = serde_json::to_string_pretty(&document.object);
    let text = text.map_err(|error| unwritable(error.into()))?;
    fs::write(path, text).map_err(unwritable)?;
    Ok(Changed::Yes)
}

/// A settings file on its way to be changed. Variables in it stay as they are written.
#[derive(Debug)]
pub struct Document {
    path: PathBuf,
    object: Map<String, Value>,
}

impl Document {
    /// All of it.
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    /// What is at a path of keys.
    pub fn get(&self, keys: &[&str]) -> Option<&Value> {
        super::at(&self.object, keys)
    }

    /// Puts a value at a path of keys, over what is there. Objects on the way are made.
    pub fn set(&mut self, keys: &[&str], value: Value) -> Result<(), EditError> {
        let Some((last, way)) = keys.split_last() else {
            return Ok(());
        };
        let mut object = &mut self.object;
        for (depth, key) in way.iter().enumerate() {
            let step = object
                .entry(*key)
                .or_insert_with(|| Value::Object(Map::new()));
            let found = kind(step);
            object = step.as_object_mut().ok_or_else(|| EditError::OddValue {
                path: self.path.clone(),
                key: keys[..=depth].join("."),
                found,
                expected: "an object",
            })?;
        }
        object.insert((*last).to_owned(), value);
        Ok(())
    }

    /// Takes out what is at a path of keys. False if nothing was there.
    pub fn remove(&mut self, keys: &[&str]) -> Result<bool, EditError> {
        let Some((last, way)) = keys.split_last() else {
            return Ok(false);
        };
        let mut object = Some(&mut self.object);
        for key in way {
            object = object.and_then(|object| object.get_mut(*key)?.as_object_mut());
        }
        Ok(object.is_some_and(|object| object.shift_remove(*last).is_some()))
    }

    /// Adds a text to the list at a path of keys, unless it is there. The list is made if there is none. True if it was added.
    pub fn push(&mut self, keys: &[&str], text: &str) -> Result<bool, EditError> {
        let mut list = self.list(keys)?;
        if list.iter().any(|item| item == text) {
            return Ok(false);
        }
        list.push(text.into());
        self.set(keys, Value::Array(list))?;
        Ok(true)
    }

    /// Takes a text out of the list at a path of keys, as often as it is there. True if it was.
    pub fn pull(&mut self, keys: &[&str], text: &str) -> Result<bool, EditError> {
        let mut list = self.list(keys)?;
        let before = list.len();
        list.retain(|item| item != text);
        if list.len() == before {
            return Ok(false);
        }
        self.set(keys, Value::Array(list))?;
        Ok(true)
    }

    fn list(&self, keys: &[&str]) -> Result<Vec<Value>, EditError> {
        match self.get(keys) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list.clone()),
            Some(odd) => Err(EditError::OddValue {
                path: self.path.clone(),
                key: keys.join("."),
                found: kind(odd),
                expected: "a list",
            }),
        }
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
