//! The vault, and sessions that can be recovered: the output of `lapidary sessions vault` and `lapidary sessions recover`.

use serde::{Deserialize, Serialize};

use crate::event::Provider;
use crate::open_enum::open_enum;

/// The version that a report on the vault carries in `schema`.
pub const VAULT_SCHEMA: &str = "lapidary.vault/1";

/// The version that a report on recovering carries in `schema`.
pub const RECOVER_SCHEMA: &str = "lapidary.recover/1";

/// What each command of `lapidary sessions vault` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultReport {
    /// The vocabulary and its version, `lapidary.vault/1`. Derived.
    pub schema: String,
    /// Where the vault is. Derived.
    pub vault: String,
    /// `add`, `log`, `verify`, `restore` or `prune`. Derived.
    pub verb: String,
    /// False if this only says what would be done. Derived.
    pub applied: bool,
    /// The snapshots that were asked for, or taken, the oldest first. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<VaultSnapshot>,
    /// Sessions of which no file is left, for `log`. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_in_vault: Vec<VaultSession>,
    /// The restored files, or with a dry run the files to be restored. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<RestoredFile>,
    /// How sound it is, for `verify`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soundness: Option<Soundness>,
    /// What was removed, or would be, for `prune`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<PrunedContents>,
    /// What else was done, or was wrong, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A session that is in the vault only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultSession {
    /// Its whole id. Upstream.
    pub session_id: String,
    /// What to call it: the summary, or else the first message. Derived.
    pub display_name: String,
    /// When the session was last updated. Upstream.
    pub last_updated: String,
    /// The name of the project's directory in `.gemini/tmp`; empty for another agent. Upstream.
    pub project_id: String,
    /// The agent, if it is not Gemini CLI. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// Where its file was. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When the last snapshot that has it was taken. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// When the first snapshot was taken that does not have it any more. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<String>,
}

/// Session files of one project at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultSnapshot {
    /// The session's title. Derived.
    pub id: String,
    /// When it was taken. Derived.
    pub time: String,
    /// What for. Derived.
    pub reason: String,
    /// The directory that the paths start from. Derived.
    pub project: String,
    /// The files, by path. Derived.
    pub files: Vec<VaultFile>,
}

/// A file in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VaultFile {
    /// Where it lay, from the project's directory on. Derived.
    pub path: String,
    /// Its size in bytes. Derived.
    pub size: u64,
    /// When it was last changed. Upstream.
    pub mtime: String,
    /// The SHA-256 of its content. Derived.
    pub sha256: String,
    /// The session's whole id, if it says one. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// True if Gemini CLI would have listed it. Derived.
    pub listed: bool,
}

/// A file that was brought back, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// Where it is now. Derived.
    pub path: String,
    /// How it was restored. Derived.
    pub how: RestoredHow,
    /// The file in the vault. Derived.
    pub file: VaultFile,
}

open_enum! {
    /// Ways in which a file is restored.
    pub enum RestoredHow {
        /// It was gone, and is back under its name.
        Written = "written",
        /// It had never gone.
        AlreadyThere = "already_there",
        /// Another content has its name now: it lies next to it.
        Beside = "beside",
    }
}

/// Whether the vault's contents are as its list says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Soundness {
    /// True if everything that a snapshot names can be brought back. Derived.
    pub sound: bool,
    /// How many snapshots can be read. Derived.
    pub snapshots: u64,
    /// How many contents are sound. Derived.
    pub contents: u64,
    /// Their bytes in all. Derived.
    pub bytes: u64,
    /// Contents that changed or are missing. Derived.
    pub damaged: Vec<DamagedContent>,
    /// Snapshots that cannot be read. Derived.
    pub unreadable: Vec<String>,
    /// How many contents no snapshot names. Derived.
    pub unreferenced: u64,
}

/// A content that cannot be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DamagedContent {
    /// Its SHA-256. Derived.
    pub sha256: String,
    /// True if it is not there at all. Derived.
    pub missing: bool,
    /// The files that had it, by where they lay. Derived.
    pub files: Vec<String>,
    /// Their sessions. Derived.
    pub session_ids: Vec<String>,
}

/// What was removed from the vault, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PrunedContents {
    /// Contents that a newer one of the same session begins with: they can still be brought back. Derived.
    pub contained: u64,
    /// Contents that were too old or too many. Derived.
    pub dropped: u64,
    /// Contents that no snapshot named. Derived.
    pub unreferenced: u64,
    /// Snapshots of which nothing was left. Derived.
    pub snapshots: u64,
    /// Bytes that are free then. Derived.
    pub freed: u64,
    /// Bytes that are left. Derived.
    pub left: u64,
}

/// What `lapidary sessions recover` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecoverReport {
    /// The vocabulary and its version, `lapidary.recover/1`. Derived.
    pub schema: String,
    /// False if this only says what would come back. Derived.
    pub applied: bool,
    /// How many files were looked at. Derived.
    pub looked: u64,
    /// The recovered contents, session by session. Derived.
    pub sessions: Vec<RecoveredSession>,
    /// Files without content that Gemini CLI's next start would delete together with a conversation; they go into the vault. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<String>,
    /// Sessions of which no file is left that could be resumed: each comes back when it is named. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_in_vault: Vec<VaultSession>,
    /// What else was done, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A session of which messages come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecoveredSession {
    /// Its whole id, or the one that it gets if nothing in it says one. Upstream.
    pub session_id: String,
    /// The file that hides it. Derived.
    pub path: String,
    /// The file that it is in now. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_path: Option<String>,
    /// True if the content is the vault's, since no file holds any of it. Derived.
    pub from_vault: bool,
    /// How many messages Gemini CLI shows before. Derived.
    pub shown: u64,
    /// How many it has then. Derived.
    pub total: u64,
    /// Messages that get fields back, such as tokens and tool calls. Derived.
    pub poorer: u64,
    /// Why they are hidden: `clobbered`, `unknown_rewind`, `torn_line`, `compressed`, `rewound`, `no_header`, or `deleted` by the agent. Derived.
    pub causes: Vec<String>,
    /// The messages that come back, in order. Derived.
    pub found: Vec<FoundMessage>,
}

/// A message that comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundMessage {
    /// `user`, `gemini` and so on. Upstream.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was written. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// How it begins. Upstream.
    pub words: String,
}
