//! The files of a session's sub-agents, one for each: of Claude Code in `<session>/subagents`, or beside the session (2.0); of Qwen
//! Code in `subagents/<session>` beside the directory of the session.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lapidary_json::Token;
use lapidary_normalize::SubagentTranscripts;

use crate::subagent_files::is_plain_name;

/// The longest file of a sub-agent that is read with its session.
const LONGEST: u64 = 64 << 20;

/// The longest note about a sub-agent; real ones have 200 bytes.
const LONGEST_NOTE: u64 = 1 << 20;

/// The files of the sub-agents of one session.
#[derive(Debug)]
pub struct AgentTranscriptFiles {
    /// The directory that has those of this session only; none if it is not there, or is a link to a place outside.
    own: Option<PathBuf>,
    /// A directory that has those of other sessions, too.
    shared: Option<PathBuf>,
}

impl AgentTranscriptFiles {
    /// The transcript files that belong to a session file of Claude Code.
    pub fn of_claude(session_file: &Path) -> Self {
        let shared = session_file.parent().unwrap_or(Path::new(""));
        Self {
            own: inside(shared, session_file.with_extension("").join("subagents")),
            shared: Some(shared.to_owned()),
        }
    }

    /// The transcript files that belong to a session file of Qwen Code: `<project>/chats/<session>.jsonl`, or `chats/archive`.
    pub fn of_qwen(session_file: &Path) -> Self {
        let is_archived = |it: &&Path| it.file_name().is_some_and(|name| name == "archive");
        let chats = session_file.parent();
        let chats = chats.filter(is_archived).and_then(Path::parent).or(chats);
        let project = chats.and_then(Path::parent).unwrap_or(Path::new(""));
        let session = session_file.file_stem().unwrap_or_default();
        Self {
            own: inside(project, project.join("subagents").join(session)),
            shared: None,
        }
    }

    fn own_files(&self) -> Vec<(String, PathBuf)> {
        let entries = self.own.iter().filter_map(|own| fs::read_dir(own).ok());
        let entries = entries.flatten().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
            .collect();
        files.sort();
        files
    }
}

impl SubagentTranscripts for AgentTranscriptFiles {
    fn agent_of_call(&self, call_id: &str) -> Option<String> {
        self.own_files().into_iter().find_map(|(name, path)| {
            let agent = agent_in(&name, ".meta.json")?;
            let note = read_plain_file(&path, LONGEST_NOTE)?;
            let note = String::from_utf8(note).ok()?;
            let call = Token::parse(&note).ok()?.get("toolUseId")?;
            call.is(call_id).then(|| agent.to_owned())
        })
    }

    fn read(&self, agent_id: &str) -> Option<Vec<u8>> {
        if !is_plain_name(agent_id) {
            return None;
        }
        let name = format!("agent-{agent_id}.jsonl");
        let directories = [&self.own, &self.shared].into_iter().flatten();
        let mut files = directories.map(|it| read_plain_file(&it.join(&name), LONGEST));
        files.find_map(|bytes| bytes)
    }

    fn ids(&self) -> Vec<String> {
        let files = self.own_files().into_iter();
        files
            .filter_map(|(name, _)| Some(agent_in(&name, ".jsonl")?.to_owned()))
            .collect()
    }
}

/// A directory, unless a link leads out of that of the project.
fn inside(project: &Path, directory: PathBuf) -> Option<PathBuf> {
    let real = directory.canonicalize().ok()?;
    let here = project.as_os_str().is_empty().then_some(Path::new("."));
    let project = here.unwrap_or(project).canonicalize().ok()?;
    real.starts_with(project).then_some(directory)
}

fn agent_in<'n>(name: &'n str, ending: &str) -> Option<&'n str> {
    name.strip_prefix("agent-")?.strip_suffix(ending)
}

/// The bytes of a file that is no link.
fn read_plain_file(path: &Path, most: u64) -> Option<Vec<u8>> {
    let is_file = path.symlink_metadata().ok()?.is_file();
    let file = is_file.then(|| File::open(path).ok())??;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
