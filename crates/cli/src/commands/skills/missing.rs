//! A name that no active skill has: the place of a skipped skill, or a similar name.

use std::path::Path;

use lapidary::gemini::skills::{DiscoveryTier, SkillLocation, SkillManager};

use super::common::SkillScopeArg;

/// Why no skill of a name counts.
pub(super) enum MissingSkill {
    /// There is one, where nothing counts.
    LeftOut(String),
    /// There is none. The text is the nearest name, if there is a similar one.
    Unknown(Option<String>),
}

impl MissingSkill {
    /// None if an active skill has the name, disabled or not.
    pub(super) fn find_missing(name: &str, skills: &SkillManager) -> Option<Self> {
        if skills.skill_by_name(name).is_some() {
            return None;
        }
        let mut found = skills.sources().whereabouts(name).into_iter();
        let called = found.find(|found| found.name.to_lowercase() == name.to_lowercase());
        Some(match called.and_then(|found| found.left_out) {
            Some(why) => Self::LeftOut(why),
            None => Self::Unknown(skills.sources().nearest(name)),
        })
    }

    /// A remark for a command that succeeds all the same.
    pub(super) fn missing_remark(&self, name: &str) -> String {
        match self {
            Self::LeftOut(why) => format!("skill `{name}` is skipped here: {why}"),
            Self::Unknown(None) => format!("there is no skill `{name}` here"),
            Self::Unknown(Some(meant)) => {
                format!("there is no skill `{name}` here; did you mean `{meant}`?")
            }
        }
    }
}

/// The hint about a skill that is not installed in a scope.
pub(super) fn not_installed_hint(
    name: &str,
    scope: SkillScopeArg,
    skills: &SkillManager,
) -> String {
    let found = skills.sources().whereabouts(name);
    let mut called = found.iter().filter(|found| goes_by(found, name));
    if let Some(found) = called.next() {
        return location_hint(found, scope);
    }
    match skills.sources().nearest(name) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`lapidary skills check` says where each skill is".to_owned(),
    }
}

/// Capitals count here, as they do for Gemini CLI when it uninstalls.
fn goes_by(found: &SkillLocation, name: &str) -> bool {
    found.name == name || found.directory.file_name() == Some(name.as_ref())
}

fn location_hint(found: &SkillLocation, scope: SkillScopeArg) -> String {
    let SkillLocation { name, tier, .. } = found;
    let directory = found.directory.display();
    match (tier, scope) {
        (DiscoveryTier::User, SkillScopeArg::Workspace) => {
            format!("it is in `{directory}`: say --scope user")
        }
        (DiscoveryTier::Workspace, SkillScopeArg::User) => {
            format!("it is in `{directory}`: say --scope workspace")
        }
        (DiscoveryTier::Builtin, _) => format!(
            "it comes with Gemini CLI: `lapidary skills disable {}` switches it off",
            shell_quoted(name)
        ),
        (DiscoveryTier::Extension, _) => format!(
            "it comes with the extension `{}`: `lapidary skills disable {}` switches it off",
            found.extension.as_deref().unwrap_or_default(),
            shell_quoted(name)
        ),
        (DiscoveryTier::UserAgents | DiscoveryTier::WorkspaceAgents, _) => format!(
            "it is in `{directory}`, where nothing is installed or uninstalled: remove it by hand"
        ),
        // Of its own scope only the one is left that has no directory of its own.
        (DiscoveryTier::User | DiscoveryTier::Workspace, _) => {
            let file = Path::new(&found.directory).join(lapidary::gemini::skills::FILE);
            format!("it is `{}`: remove it by hand", file.display())
        }
    }
}

/// For a shell.
fn shell_quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}
