//! Request keys: a client that repeats a request finds the run that it started, also after a restart of the server.
//!
//! The file has a line for each key, which is written before the run starts. A run that then did not start leaves no recording: its
//! key is free again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary::engine::recording::private_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How many request keys are remembered. The oldest is forgotten first.
const MOST_KEYS: usize = 4096;

/// The longest request key, in bytes.
pub(crate) const LONGEST_KEY: usize = 256;

const FILE: &str = "request-keys";

/// The keys of requests, and the runs that they started.
#[derive(Debug)]
pub(crate) struct RequestKeys {
    state: Mutex<KeyTable>,
}

#[derive(Debug)]
struct KeyTable {
    keys: BTreeMap<String, KeyedRun>,
    /// The oldest is first.
    order: VecDeque<String>,
    file: File,
}

#[derive(Debug, Clone)]
struct KeyedRun {
    body: String,
    run: String,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct KeyLine {
    key: String,
    body: String,
    run: String,
}

/// The meaning of a request key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// No known request has this key.
    Fresh,
    /// The same request has started this run.
    Started(String),
    /// A request with another body has this key.
    Taken(String),
}

impl RequestKeys {
    /// Reads the keys of earlier servers in this directory.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A line that was cut off by a full disk or a kill belongs to a run that did not start.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<KeyLine> = lines.collect();
        let kept = &lines[lines.len().saturating_sub(MOST_KEYS)..];
        let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
        for line in kept {
            writeln!(fresh, "{}", serde_json::to_string(line)?)?;
        }
        fresh.persist(&path)?;
        let mut table = KeyTable {
            keys: BTreeMap::new(),
            order: VecDeque::new(),
            file: private_file(&path)?,
        };
        for line in kept {
            table.put(&line.key, line.body.clone(), line.run.clone());
        }
        let state = Mutex::new(table);
        Ok(Self { state })
    }

    /// Looks a key up, for a request with this body.
    pub(crate) fn key_use(&self, key: &str, body: &[u8]) -> KeyUse {
        match self.lock_state().keys.get(key) {
            None => KeyUse::Fresh,
            Some(known) if known.body == body_digest(body) => KeyUse::Started(known.run.clone()),
            Some(known) => KeyUse::Taken(known.run.clone()),
        }
    }

    /// Keeps a key, before its run starts.
    pub(crate) fn remember(&self, key: &str, body: &[u8], run: &str) -> io::Result<()> {
        let mut state = self.lock_state();
        let line = KeyLine {
            key: key.to_owned(),
            body: body_digest(body),
            run: run.to_owned(),
        };
        let text = format!("{}\n", serde_json::to_string(&line)?);
        state.file.write_all(text.as_bytes())?;
        state.put(key, line.body, line.run);
        Ok(())
    }

    /// Frees a key whose run did not start.
    pub(crate) fn forget(&self, key: &str) {
        let mut state = self.lock_state();
        state.keys.remove(key);
        state.order.retain(|other| other != key);
    }

    fn lock_state(&self) -> MutexGuard<'_, KeyTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyTable {
    fn put(&mut self, key: &str, body: String, run: String) {
        let keyed = KeyedRun { body, run };
        if self.keys.insert(key.to_owned(), keyed).is_none() {
            self.order.push_back(key.to_owned());
        }
        while self.order.len() > MOST_KEYS {
            if let Some(oldest) = self.order.pop_front() {
                self.keys.remove(&oldest);
            }
        }
    }
}

fn body_digest(body: &[u8]) -> String {
    let bytes = Sha256::digest(body);
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a text does not fail
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let keys = RequestKeys::open(directory.path()).unwrap();
        assert_eq!(keys.key_use("k", b"one"), KeyUse::Fresh);
        keys.remember("k", b"one", "r1").unwrap();
        drop(keys);
        let keys = RequestKeys::open(directory.path()).unwrap();
        assert_eq!(keys.key_use("k", b"one"), KeyUse::Started("r1".to_owned()));
        assert_eq!(keys.key_use("k", b"two"), KeyUse::Taken("r1".to_owned()));
        keys.forget("k");
        assert_eq!(keys.key_use("k", b"one"), KeyUse::Fresh);
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let keys = RequestKeys::open(directory.path()).unwrap();
        keys.remember("k", b"one", "r1").unwrap();
        let path = directory.path().join(FILE);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"key\":\"half");
        fs::write(&path, text).unwrap();
        let keys = RequestKeys::open(directory.path()).unwrap();
        assert_eq!(keys.key_use("half", b""), KeyUse::Fresh);
        keys.remember("next", b"two", "r2").unwrap();
        let keys = RequestKeys::open(directory.path()).unwrap();
        assert_eq!(
            keys.key_use("next", b"two"),
            KeyUse::Started("r2".to_owned())
        );
    }

    #[test]
    fn the_oldest_keys_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let keys = RequestKeys::open(directory.path()).unwrap();
        for number in 0..=MOST_KEYS {
            keys.remember(&format!("k{number}"), b"", "r").unwrap();
        }
        for keys in [keys, RequestKeys::open(directory.path()).unwrap()] {
            assert_eq!(keys.key_use("k0", b""), KeyUse::Fresh);
            assert_eq!(keys.key_use("k1", b""), KeyUse::Started("r".to_owned()));
        }
    }
}
