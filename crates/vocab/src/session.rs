//! Recorded sessions: what `lapidary sessions` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Provider;
use crate::open_enum::open_enum;

/// The version that a list carries in `schema`.
pub const LIST_SCHEMA: &str = "lapidary.sessions/1";

/// What `lapidary sessions list` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// The vocabulary and its version, `lapidary.sessions/1`. Derived.
    pub schema: String,
    /// The sessions: project by project, within a project the oldest first. Derived.
    pub sessions: Vec<SessionInfo>,
    /// How many files are not among them. Derived.
    pub hidden_count: u64,
    /// These files, if they were asked for. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenFile>,
    /// How many files of each agent were read and skipped; agents without any are left out. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentFileCounts>,
    /// Other problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How many files of an agent were read and skipped for a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentFileCounts {
    /// Whose files: an agent, or `recordings`. Derived.
    pub provider: String,
    /// Files, or rows of a database, with a session in the list's projects, before `--agent`, `--since`, `--until` and `--last`. Derived.
    pub read: u64,
    /// Files that are not listed. Derived.
    pub skipped: u64,
    /// The skipped files by their reasons. Derived.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, u64>,
}

/// A session that could be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run.
    pub id: String,
    /// The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived.
    #[serde(default = "default_provider")]
    pub provider: Provider,
    /// The newest recorded run, if the session is in recordings only. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The file's name without `.json` or `.jsonl`. Upstream.
    pub file: String,
    /// The file's name. Upstream.
    pub file_name: String,
    /// Where the file is, or the directory of the recording. Derived.
    pub path: String,
    /// When it began; where the file does not say, when it was listed. Upstream.
    pub start_time: String,
    /// When the session was last updated; where the file does not say, when it was listed. Upstream.
    pub last_updated: String,
    /// How many records of messages the file has since its last checkpoint, as Gemini CLI counts for a list. 0 for a recording,
    /// which is not read for a list. Derived.
    pub message_count: u64,
    /// How many messages of the user's among them, each counted once. Derived.
    pub user_message_count: u64,
    /// What to call it: the summary, or else the first message on one line, in its own letters. Derived.
    pub display_name: String,
    /// The first message of the user's that has content, on one line, as Gemini CLI shows it: ASCII only. Derived.
    pub first_user_message: String,
    /// True for the session that this was asked in: inside a hook `$GEMINI_SESSION_ID` names it. Derived.
    pub is_current_session: bool,
    /// Its number in the project's list, from 1, the oldest first: what `--resume N` takes. Sessions that Gemini CLI does not list
    /// come after its own; sessions in the vault or in recordings only have no number, which is 0. Derived.
    pub index: u64,
    /// Where it is, if Gemini CLI does not list it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<UnlistedPlace>,
    /// The title that a model gave it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The project's directory, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The name of the project's directory in `.gemini/tmp`; empty where Gemini CLI has none. Upstream.
    pub project_id: String,
    /// The size of the file, or of the recorded agent's output, in bytes. Derived.
    pub size: u64,
    /// The name of a file without content for which Gemini CLI's next start deletes this session, if its retention is on. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endangered_by: Option<String>,
}

open_enum! {
    /// Where a session is that Gemini CLI does not list.
    pub enum UnlistedPlace {
        /// In the vault only: its file is gone. `lapidary sessions recover` brings it back.
        Vault = "vault",
        /// In the directory of an older version, beside the one that the CLI uses. `lapidary sessions resume` copies it there.
        OlderDirectory = "older_directory",
        /// In a recording of ours: the agent left no session file that Lapidary knows. `lapidary runs show` shows the run.
        Recording = "recording",
    }
}

/// Lists of earlier versions have sessions of Gemini CLI only.
fn default_provider() -> Provider {
    Provider::Gemini
}

/// The version that the result of a search carries in `schema`.
pub const SEARCH_SCHEMA: &str = "lapidary.search/1";

/// What `lapidary sessions search` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The vocabulary and its version, `lapidary.search/1`. Derived.
    pub schema: String,
    /// How many sessions were found, shown or not. Derived.
    pub total: u64,
    /// The sessions, the best first. Derived.
    pub hits: Vec<SearchHit>,
    /// Other problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A session in which everything was found that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run.
    pub id: String,
    /// The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived.
    #[serde(default = "default_provider")]
    pub provider: Provider,
    /// The newest recorded run, if the session is in recordings only. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What to call it: the summary, or else the first message on one line, in its own letters. Derived.
    pub display_name: String,
    /// The file's name. Upstream.
    pub file_name: String,
    /// Where the file is. Derived.
    pub path: String,
    /// When it began; where the file does not say, when it was looked for. Upstream.
    pub start_time: String,
    /// When the session was last updated; where the file does not say, when it was looked for. Upstream.
    pub last_updated: String,
    /// How many records of messages the file has since its last checkpoint. Derived.
    pub message_count: u64,
    /// The project's directory, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The name of the project's directory in `.gemini/tmp`. Upstream.
    pub project_id: String,
    /// Where it is, if Gemini CLI does not list it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<UnlistedPlace>,
    /// True if everything is in the title. Derived.
    pub is_in_title: bool,
    /// How many texts of the session match: prompts, answers, thoughts, inputs and outputs of tools. Derived.
    pub matching_texts: u64,
    /// Some of the places. Derived.
    pub match_snippets: Vec<TextMatch>,
}

/// A place where a search matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextMatch {
    /// The text before the match. Upstream.
    pub before: String,
    /// The match. Upstream.
    #[serde(rename = "match")]
    pub matched: String,
    /// The text after the match. Upstream.
    pub after: String,
    /// Who said it: `user`, `assistant`, `tool`, `notice` (Gemini CLI itself), or `title`. Derived.
    pub role: String,
    /// The tool, where it is a tool's input or output. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The number of the message in the session, from 1; absent for the title. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u64>,
}

/// A file among the sessions that is not in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HiddenFile {
    /// Where it is. Derived.
    pub path: String,
    /// The name of the project's directory in `.gemini/tmp`. Upstream.
    pub project_id: String,
    /// Why it is not in the list. Derived.
    pub reason: HiddenReason,
    /// The same in a sentence. Derived.
    pub explanation: String,
    /// The id that it names, if it does. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its size in bytes. Derived.
    pub size: u64,
}

open_enum! {
    /// Why a file is not in the list of sessions.
    pub enum HiddenReason {
        /// It cannot be read.
        Unreadable = "unreadable",
        /// It is empty.
        Empty = "empty",
        /// It names no session.
        NotASession = "not_a_session",
        /// It has no message that could be resumed.
        NoContent = "no_content",
        /// A sub-agent wrote it.
        Subagent = "subagent",
        /// Another file of the same session is newer.
        Duplicate = "duplicate",
        /// It is a directory, a pipe or a device.
        NotAFile = "not_a_file",
        /// It is a link to a place outside.
        LinkOutside = "link_outside",
        /// It is too large to be read.
        TooLarge = "too_large",
    }
}
