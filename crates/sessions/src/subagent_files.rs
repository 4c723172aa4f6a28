//! The session files of sub-agents: `chats/<id of the session>/<id of the agent>.jsonl`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lapidary_normalize::gemini::SubagentLogs;

/// The longest file of a sub-agent that is read with its session.
const LONGEST: u64 = 64 << 20;

/// The files of the sub-agents of one session.
#[derive(Debug)]
pub struct SubagentFiles {
    directory: Option<PathBuf>,
}

impl SubagentFiles {
    /// The files beside the file of a session.
    pub fn beside(session_file: &Path, session_id: &str) -> Self {
        let chats = session_file.parent();
        let directory = chats.filter(|_| is_plain_name(session_id));
        Self {
            directory: directory.map(|chats| chats.join(session_id)),
        }
    }
}

impl SubagentLogs for SubagentFiles {
    fn read(&self, agent_id: &str) -> Option<Vec<u8>> {
        let directory = self.directory.as_ref()?;
        let is_directory = directory.symlink_metadata().ok()?.is_dir();
        let path = directory.join(format!("{agent_id}.jsonl"));
        let is_file = is_plain_name(agent_id) && path.symlink_metadata().ok()?.is_file();
        let file = (is_directory && is_file).then(|| File::open(&path).ok())??;
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Ids come from files that other programs wrote: only a plain name is the name of a file here.
pub(crate) fn is_plain_name(id: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.#".contains(letter);
    !id.is_empty() && !id.starts_with('.') && id.chars().all(is_plain)
}
