//! Homes with sessions in them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_gemini::GeminiHome;
use lapidary_sessions::{SessionProject, SessionStore};

/// A home of one project.
pub(crate) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(home.chats()).unwrap();
        fs::write(home.chats().with_file_name(".project_root"), "/work").unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn chats(&self) -> PathBuf {
        self.path().join(".gemini/tmp/work/chats")
    }

    pub(crate) fn projects(&self) -> Vec<SessionProject> {
        SessionStore::new(GeminiHome::at(self.path())).projects()
    }

    /// A log with these records behind its header.
    pub(crate) fn session(&self, id: &str, time: &str, records: &[&str]) -> PathBuf {
        let mut text = header(id, time);
        for record in records {
            text.push('\n');
            text.push_str(record);
        }
        let stamp = &time[..16].replace(':', "-");
        self.file(&format!("session-{stamp}-{id}.jsonl"), text.as_bytes())
    }

    /// A file that was written a while ago.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.chats().join(name);
        fs::write(&path, bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let then = SystemTime::now() - Duration::from_hours(1);
        file.set_modified(then).unwrap();
        path
    }
}

pub(crate) fn header(id: &str, time: &str) -> String {
    format!(
        r#"{{"sessionId":"{id}","projectHash":"ab","startTime":"{time}","lastUpdated":"{time}","kind":"main"}}"#
    )
}
