//! Skills: instructions in files called `SKILL.md`, found, read and chosen as Gemini CLI 0.61 does it, with a reason for each that is not.
//!
//! [`frontmatter`] reads one file, [`discover`] a directory of them, [`SkillSources`] says which directories count in a workspace, and
//! [`SkillManager`] holds what became of it all.

mod activation;
mod archive;
mod check;
mod copy;
mod discover;
mod failure;
mod frontmatter;
mod install;
mod location;
mod manager;
mod package;
mod recover;
mod sources;
mod staging;
mod toggle;
mod tokens;
mod tree;

use std::path::PathBuf;

pub use activation::{available_skills, not_found};
pub use archive::{ArchiveError, unpack};
pub use check::{CheckedSkills, LoadCandidate, LoadOutcome, LoadSeverity};
pub use copy::{CopyError, MOST_BYTES, MOST_BYTES_OF_ALL, MOST_FILES, MOST_FILES_OF_ALL};
pub use discover::{RefusedSkill, SkillDiscovery, discover};
pub use failure::InstallError;
pub(crate) use frontmatter::split_frontmatter;
pub use frontmatter::{SkillFrontmatter, WhyNot, frontmatter};
pub use install::{InstallMode, uninstall};
pub use location::SkillLocation;
pub use manager::{SkillConflict, SkillManager};
pub use package::{MOST_SKILLS, PackageError, PackageRequest, SkillPackage, normalized};
pub use recover::{RecoveredInstall, recover};
pub use sources::{SkillDisabledBy, SkillPlace, SkillSources};
pub use staging::PlacedSkill;
pub use toggle::{ToggleAction, ToggleError, ToggleResult, disable, enable};
pub use tokens::tokens;
pub use tree::folder_tree;

/// How Gemini CLI sorts names: as a dictionary does, as far as they are ASCII.
pub fn by_name(one: &str, other: &str) -> std::cmp::Ordering {
    crate::js::locale_compare(one, other)
}

/// The name of a skill's file in its directory.
pub const FILE: &str = "SKILL.md";

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDefinition {
    /// Its name, with a dash for characters that no file name may hold.
    pub name: String,
    /// Its description: all that a model knows of it before it is activated.
    pub description: String,
    /// Its `SKILL.md`, as the way to it was written: links are not resolved.
    pub location: PathBuf,
    /// Its instructions.
    pub body: String,
    /// Whether it is disabled in settings.
    pub disabled: bool,
    /// Whether it comes with Gemini CLI.
    pub is_builtin: bool,
    /// The extension that it comes with.
    pub extension_name: Option<String>,
    /// Where it was found.
    pub tier: DiscoveryTier,
}

impl SkillDefinition {
    /// The directory that it shares with the model.
    pub fn directory(&self) -> PathBuf {
        self.location
            .parent()
            .map(PathBuf::from)
            .unwrap_or_default()
    }
}

/// Where skills are found. A later one takes the place of an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiscoveryTier {
    /// With Gemini CLI itself.
    Builtin,
    /// In an extension.
    Extension,
    /// In `~/.gemini/skills`.
    User,
    /// In `~/.agents/skills`.
    UserAgents,
    /// In `.gemini/skills` of a trusted workspace.
    Workspace,
    /// In `.agents/skills` of a trusted workspace.
    WorkspaceAgents,
}
