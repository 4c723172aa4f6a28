//! The file that hooks get as `transcript_path`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lapidary_sessions::{SessionStore, session_file};

/// How many sessions are remembered with their files. Files of further sessions are looked for each time.
const MOST_KNOWN: usize = 256;

/// Finds the file that tells a session so far: Gemini CLI's session file as soon as there is one, else the recording.
#[derive(Debug)]
pub(super) struct TranscriptFinder {
    store: Option<SessionStore>,
    /// The agent's stdout in the recording. The file exists before the agent starts and as long as it runs, even if the run is
    /// not to be recorded.
    recorded: PathBuf,
    /// The session files that were found.
    known: Mutex<BTreeMap<String, PathBuf>>,
}

impl TranscriptFinder {
    pub(super) fn new(store: Option<SessionStore>, recorded: PathBuf) -> Self {
        Self {
            store,
            recorded,
            known: Mutex::default(),
        }
    }

    /// The file of a session that works in a directory.
    pub(super) fn transcript_path(&self, session: &str, cwd: &Path) -> String {
        let path = self.session_file(session, cwd);
        let path = path.unwrap_or_else(|| self.recorded.clone());
        path.to_string_lossy().into_owned()
    }

    fn session_file(&self, session: &str, cwd: &Path) -> Option<PathBuf> {
        let store = self.store.as_ref()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known.get(session).filter(|file| file.is_file()) {
            return Some(file.clone());
        }
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let file = session_file(&store.project(&cwd), session)?;
        if known.len() < MOST_KNOWN {
            known.insert(session.to_owned(), file.clone());
        }
        Some(file)
    }
}
