//! What `lapidary config show` and `lapidary config check` print.

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::open_enum::open_enum;

/// The version that `config show` carries in `schema`.
pub const SHOW_SCHEMA: &str = "lapidary.config/1";

/// The version that `config check` carries in `schema`.
pub const CHECK_SCHEMA: &str = "lapidary.config-check/1";

/// The configuration that a run here would have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigShown {
    /// The vocabulary and its version, `lapidary.config/1`. Derived.
    pub schema: String,
    /// The files that were looked for, the user's first. Derived.
    pub files: Vec<ConfigFile>,
    /// Every key, its value and where that comes from. Derived.
    pub settings: Vec<ConfigSetting>,
    /// The permission rules, in the order in which they count. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ConfigRule>,
    /// The names of the agents that the user's file defines. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The part that was ignored, in words. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigFile {
    /// Whose it is. Derived.
    pub owner: ConfigOwner,
    /// Where it is, or would be. Derived.
    pub path: String,
    /// Whether it is there. Derived.
    pub exists: bool,
}

open_enum! {
    /// Whose file it is.
    pub enum ConfigOwner {
        /// The user's own.
        User = "user",
        /// The project's. It cannot grant permissions.
        Project = "project",
        /// The one that `--config` names.
        Named = "named",
    }
}

/// A key, its value and where that comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigSetting {
    /// The key. Derived.
    pub key: String,
    /// The value, as a file would have it; absent if there is neither a value nor a default. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// True if no file has the key. Derived.
    pub is_default: bool,
    /// The file that it comes from. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in it, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigRule {
    /// Where it stands. Derived.
    pub rule: String,
    /// The rule's decision: `allow`, `deny` or `ask`. Derived.
    pub effect: String,
}

/// The problems of the configuration files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigCheck {
    /// The vocabulary and its version, `lapidary.config-check/1`. Derived.
    pub schema: String,
    /// The files that were read, the user's first. Derived.
    pub files: Vec<ConfigFile>,
    /// How many errors there are. Derived.
    pub errors: u64,
    /// How many warnings there are. Derived.
    pub warnings: u64,
    /// The problems. Derived.
    pub findings: Vec<ConfigFinding>,
}

/// A problem with a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigFinding {
    /// How bad it is. Derived.
    pub severity: ConfigSeverity,
    /// The file. Derived.
    pub path: String,
    /// The line, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The character in the line, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The problem, in one sentence. Derived.
    pub message: String,
    /// What to do about it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

open_enum! {
    /// How bad a finding is.
    pub enum ConfigSeverity {
        /// No run starts with this file.
        Error = "error",
        /// A part of the file is ignored.
        Warning = "warning",
    }
}
