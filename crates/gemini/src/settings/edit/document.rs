//! A settings file on its way to be changed.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{EditError, diff, value_kind};
use crate::file::{self, LONGEST_JSON, ReadError};
use crate::settings::value_at;

/// A settings file on its way to be changed. Variables in it stay as they are written.
#[derive(Debug)]
pub struct SettingsDocument {
    path: PathBuf,
    text: String,
    object: Map<String, Value>,
    /// How many bytes it may become: we must be able to read our own text.
    longest: u64,
}

impl SettingsDocument {
    /// The document that a text is. An empty one is an object without keys.
    pub(super) fn parse(path: &Path, text: Option<String>) -> Result<Self, ReadError> {
        let text = text.filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| "{}".to_owned());
        Ok(Self {
            path: path.to_owned(),
            object: file::parse(&text)?,
            text,
            longest: LONGEST_JSON,
        })
    }

    pub(super) fn document_text(&self) -> &str {
        &self.text
    }

    /// All of it.
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    /// The value at a path of keys.
    pub fn get(&self, keys: &[&str]) -> Option<&Value> {
        value_at(&self.object, keys)
    }

    /// Puts a value at a path of keys, over the existing one. Objects on the way are made. Of an object or a list only the
    /// differences are written, so that comments in it stay.
    pub fn set(&mut self, keys: &[&str], value: Value) -> Result<(), EditError> {
        let Some((last, way)) = keys.split_last() else {
            return Ok(());
        };
        let mut wanted = self.object.clone();
        let mut object = &mut wanted;
        for (depth, key) in way.iter().enumerate() {
            let step = object
                .entry(*key)
                .or_insert_with(|| Value::Object(Map::new()));
            let found = value_kind(step);
            let odd = || self.odd_value_error(&keys[..=depth], found, "an object");
            object = step.as_object_mut().ok_or_else(odd)?;
        }
        object.insert((*last).to_owned(), value);
        self.set_content(wanted)
    }

    /// Removes the value at a path of keys. False if there was none.
    pub fn remove(&mut self, keys: &[&str]) -> Result<bool, EditError> {
        let Some((last, way)) = keys.split_last() else {
            return Ok(false);
        };
        let mut wanted = self.object.clone();
        let object = way.iter().try_fold(&mut wanted, |object, key| {
            object.get_mut(*key)?.as_object_mut()
        });
        if object.is_none_or(|object| object.shift_remove(*last).is_none()) {
            return Ok(false);
        }
        self.set_content(wanted)?;
        Ok(true)
    }

    /// Adds a text to the list at a path of keys, unless it is there. The list is made if there is none. True if it was added.
    pub fn push(&mut self, keys: &[&str], text: &str) -> Result<bool, EditError> {
        let mut list = self.list_at(keys)?;
        if list.iter().any(|item| item == text) {
            return Ok(false);
        }
        list.push(text.into());
        self.set(keys, Value::Array(list))?;
        Ok(true)
    }

    /// Takes a text out of the list at a path of keys, as often as it is there. True if it was.
    pub fn pull(&mut self, keys: &[&str], text: &str) -> Result<bool, EditError> {
        let mut list = self.list_at(keys)?;
        let before = list.len();
        list.retain(|item| item != text);
        if list.len() == before {
            return Ok(false);
        }
        self.set(keys, Value::Array(list))?;
        Ok(true)
    }

    fn list_at(&self, keys: &[&str]) -> Result<Vec<Value>, EditError> {
        match self.get(keys) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list.clone()),
            Some(odd) => Err(self.odd_value_error(keys, value_kind(odd), "a list")),
        }
    }

    fn odd_value_error(
        &self,
        keys: &[&str],
        found: &'static str,
        expected: &'static str,
    ) -> EditError {
        EditError::OddValue {
            path: self.path.clone(),
            key: keys.join("."),
            found,
            expected,
        }
    }

    /// Changes the text until it has the wanted content.
    fn set_content(&mut self, wanted: Map<String, Value>) -> Result<(), EditError> {
        let (old, new) = (Value::Object(self.object.clone()), Value::Object(wanted));
        let text = diff::apply_diff(self.text.clone(), &old, &new);
        let object = if text.len() as u64 > self.longest {
            Err(ReadError::TooLong(self.longest))
        } else {
            file::parse(&text)
        };
        self.object = object.map_err(|source| EditError::Spoiled {
            path: self.path.clone(),
            source,
        })?;
        self.text = text;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_would_make_the_file_too_long_for_us_is_refused() {
        let text = r#"{"a": [1]}"#.to_owned();
        let mut document =
            SettingsDocument::parse(Path::new("s.json"), Some(text.clone())).unwrap();
        assert_eq!(document.longest, 64 * 1024 * 1024);
        document.longest = 1024 * 1024;
        let refused = document.set(&["a"], "x".repeat(1024 * 1024).into());
        assert_eq!(
            refused.unwrap_err().to_string(),
            "`s.json` is left as it is: after the change it is longer than 1 MiB"
        );
        assert_eq!(document.document_text(), text);
        assert_eq!(document.get(&["a"]), Some(&vec![1].into()));
        document.longest = text.len() as u64;
        document.set(&["a"], vec![2].into()).unwrap();
        assert!(document.push(&["b"], "x").is_err());
    }
}
