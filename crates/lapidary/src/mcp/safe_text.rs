//! Text of past sessions, for another model: without secrets and without control characters.

use std::path::PathBuf;
use std::sync::OnceLock;

use lapidary_render::plain::sanitize;
use lapidary_sessions::redact::{Redactor, SessionOwner};
use serde_json::Value;

/// Removes secrets as `sessions export --redact` does. Its patterns are made when they are first needed.
#[derive(Debug)]
pub(super) struct SafeText {
    home: Option<PathBuf>,
    redactor: OnceLock<Redactor>,
}

impl SafeText {
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self {
            home,
            redactor: OnceLock::new(),
        }
    }

    /// JSON without secrets: any lines of JSON.
    pub(super) fn redacted_json(&self, json: &[u8]) -> Vec<u8> {
        let redactor = self.redactor.get_or_init(|| {
            let home = self.home.clone();
            Redactor::new(&SessionOwner { home })
        });
        let mut redacted = Vec::with_capacity(json.len());
        match redactor.file(json, &mut redacted) {
            Ok(_) => redacted,
            Err(_) => Vec::new(), // a vector takes everything
        }
    }

    /// A value as text, without secrets.
    pub(super) fn redacted_value(&self, value: &Value) -> String {
        let redacted = self.redacted_json(value.to_string().as_bytes());
        String::from_utf8_lossy(&redacted).into_owned()
    }
}

/// A text without escape sequences, on one line.
pub(super) fn one_line(text: &str) -> String {
    let clean = sanitize(text);
    let words: Vec<_> = clean.split_whitespace().collect();
    words.join(" ")
}
