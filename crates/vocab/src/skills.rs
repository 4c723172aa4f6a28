//! Skills: what `lapidary skills` prints.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

/// The version that a list carries in `schema`.
pub const LIST_SCHEMA: &str = "lapidary.skills/1";

/// The version that a check carries in `schema`.
pub const CHECK_SCHEMA: &str = "lapidary.skills-check/1";

/// The version that a change carries in `schema`.
pub const CHANGE_SCHEMA: &str = "lapidary.skills-change/1";

/// What `lapidary skills list` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillList {
    /// The vocabulary and its version, `lapidary.skills/1`. Derived.
    pub schema: String,
    /// The skills in the order in which Gemini CLI lists them: by name, built-in ones last. Derived.
    pub skills: Vec<SkillInfo>,
    /// Other problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Skills that are not in the list and why, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A skill that counts, or would if it were not disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// Its name, with a dash for what no file name may hold. Upstream.
    pub name: String,
    /// The skill's description. Upstream.
    pub description: String,
    /// Its `SKILL.md`. Derived.
    pub location: String,
    /// Where it was found. Derived.
    pub tier: SkillTier,
    /// Whether a settings file disables it. Derived.
    pub disabled: bool,
    /// Whether it comes with Gemini CLI. Derived.
    pub is_builtin: bool,
    /// The extension that it comes with. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension_name: Option<String>,
}

open_enum! {
    /// Where skills are found, the weakest first.
    pub enum SkillTier {
        /// With Gemini CLI.
        Builtin = "builtin",
        /// In an extension.
        Extension = "extension",
        /// In `~/.gemini/skills`.
        User = "user",
        /// In `~/.agents/skills`.
        UserAgents = "user_agents",
        /// In the workspace's `.gemini/skills`.
        Workspace = "workspace",
        /// In the workspace's `.agents/skills`.
        WorkspaceAgents = "workspace_agents",
    }
}

/// What `lapidary skills check` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillCheck {
    /// The vocabulary and its version, `lapidary.skills-check/1`. Derived.
    pub schema: String,
    /// Each file that is a skill or could be one, place by place, the weakest place first. Derived.
    pub candidates: Vec<SkillCandidate>,
    /// How many of them count. Derived.
    pub loaded: u64,
    /// About how many tokens their names and descriptions take in every prompt. Derived.
    pub listed_tokens: u64,
    /// Why none counts, if a setting says so. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_off: Option<String>,
    /// Files that cannot be used beside the candidates, such as settings that are not JSON, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// What else was wrong, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A file that is a skill, or could be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillCandidate {
    /// The file, or the directory that has none. Derived.
    pub path: String,
    /// Where it was found. Derived.
    pub tier: SkillTier,
    /// The skill's name, if it is a skill. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What became of it. Derived.
    pub fate: SkillFate,
    /// How bad that is; absent if it is loaded or disabled. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<SkillSeverity>,
    /// Why, if it does not count: a sentence. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// The settings files that disable it. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_by: Vec<String>,
    /// The skill that counts in its place. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden_by: Option<String>,
    /// Another candidate that is the same file, reached on another way. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_file_as: Option<String>,
    /// Where the link leads that it is, or that its directory is. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_to: Option<String>,
    /// Why its front matter was read line by line, which keeps quotes and the like as they stand. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_yaml: Option<String>,
    /// About how many tokens its name and description take in every prompt. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_tokens: Option<u64>,
    /// About how many tokens it takes once it is activated. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activated_tokens: Option<u64>,
}

open_enum! {
    /// What became of a file that could be a skill.
    pub enum SkillFate {
        /// It counts.
        Loaded = "loaded",
        /// It is on a list of disabled skills.
        Disabled = "disabled",
        /// Another of the same name counts.
        Overridden = "overridden",
        /// It is a skill in a place that does not count.
        LeftOut = "left_out",
        /// It is where a skill should be, and is none.
        Refused = "refused",
        /// It has a place or a file name where Gemini CLI does not look for skills.
        NotLookedFor = "not_looked_for",
    }
}

open_enum! {
    /// How serious it is that a file is not a skill that counts.
    pub enum SkillSeverity {
        /// It should be one, and is none.
        Error = "error",
        /// It may be meant so.
        Warning = "warning",
    }
}

/// What `lapidary skills enable`, `disable`, `install`, `link` and `uninstall` changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillChange {
    /// The vocabulary and its version, `lapidary.skills-change/1`. Derived.
    pub schema: String,
    /// The requested change. Derived.
    pub action: SkillAction,
    /// The skill that was named. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where skills came from, as it was named, without a password. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whose settings or skills were to change; absent for both. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// Whether a file was written: false if no change was needed. Derived.
    pub applied: bool,
    /// The settings files that changed. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The skills that came or went. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<MovedSkill>,
    /// Remarks for the user, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

open_enum! {
    /// Changes to skills that a command can make.
    pub enum SkillAction {
        /// One was to be taken off the lists of disabled ones.
        Enable = "enable",
        /// One was to be put on a list of disabled ones.
        Disable = "disable",
        /// Skills were to be copied.
        Install = "install",
        /// Skills were to be linked.
        Link = "link",
        /// One was to be removed.
        Uninstall = "uninstall",
    }
}

open_enum! {
    /// Whose settings or skills.
    pub enum SkillScope {
        /// The user's.
        User = "user",
        /// The workspace's.
        Workspace = "workspace",
    }
}

/// A skill that came or went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedSkill {
    /// Its name. Upstream.
    pub name: String,
    /// Its directory, or the link to it. Derived.
    pub location: String,
    /// Whether it replaced a skill of that name. Derived.
    pub replaced: bool,
}
