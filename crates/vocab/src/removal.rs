//! The output of `lapidary sessions delete` and `lapidary sessions prune`: removed sessions, or candidates, and why.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

/// The version that a removal carries in `schema`.
pub const REMOVAL_SCHEMA: &str = "lapidary.removal/1";

/// Sessions that were removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// The vocabulary and its version, `lapidary.removal/1`. Derived.
    pub schema: String,
    /// Whether files were removed: false if this report is a preview. Derived.
    pub applied: bool,
    /// The sessions, and the files that belong to none. Derived.
    pub removed: Vec<RemovedSession>,
    /// How many of the examined sessions stay. Derived.
    pub kept: u64,
    /// How many bytes go. Derived.
    pub bytes: u64,
    /// Files that could not be removed, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Other problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A session that goes, with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemovedSession {
    /// The session's id, whole; absent for a file that names none. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session's title in a list. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// When a message was last added, or its newest file was written. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// The project's directory, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The name of the project's directory in `.gemini/tmp`. Upstream.
    pub project_id: String,
    /// Why it goes. Derived.
    pub reason: RemovalReason,
    /// The files of the session: every one that names its id. Derived.
    pub files: Vec<String>,
    /// What else belongs to it: outputs of tools, logs, plans, sub-agents. Derived.
    pub artefacts: Vec<String>,
    /// How many bytes all that is. Derived.
    pub bytes: u64,
}

open_enum! {
    /// Why a session goes.
    pub enum RemovalReason {
        /// The user named it.
        Asked = "asked",
        /// Nothing was added to it for longer than `maxAge`.
        TooOld = "too_old",
        /// There are more than `maxCount` that are newer.
        TooMany = "too_many",
        /// There is nothing in it that could be resumed.
        NoContent = "no_content",
        /// It is a file that names no session.
        NotASession = "not_a_session",
        /// It is an empty file.
        Empty = "empty",
        /// A sub-agent wrote it, and it lies where no list shows it.
        Subagent = "subagent",
    }
}
