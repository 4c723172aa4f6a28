//! Messages beside the list of skills: about settings files, and about skills that are not shown.

use std::collections::HashSet;
use std::path::PathBuf;

use lapidary::gemini::hooks::nearest;
use lapidary::gemini::skills::{DiscoveryTier, SkillConflict, SkillManager, SkillPlace};
use lapidary::gemini::trust::{Trust, TrustDoubt};
use lapidary::gemini::{FileNotice, setup::Setup};

use super::common::SkillsContext;

/// Mistakes in the files that decide about skills, and skills that replace others: a sentence each.
pub(super) struct SkillProblems {
    /// Files that cannot be used. Gemini CLI does not start with them.
    pub(super) errors: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// How many of the warnings are about skills that take the place of others.
    pub(super) conflicts: usize,
}

impl SkillProblems {
    pub(super) fn collect_problems(here: &SkillsContext, skills: &SkillManager) -> Self {
        let notices = here.setup.notices.iter();
        let (errors, warnings): (Vec<_>, Vec<_>) = notices
            .filter(|notice| concerns_skills(notice))
            .partition(|notice| is_error(notice, &here.setup));
        let said = |notice: &FileNotice| notice.to_string();
        let conflicts = skills.conflicts.iter().filter_map(SkillConflict::warning);
        let conflicts: Vec<_> = conflicts.collect();
        Self {
            errors: errors.into_iter().map(said).collect(),
            conflicts: conflicts.len(),
            warnings: warnings.into_iter().map(said).chain(conflicts).collect(),
        }
    }

    /// Errors and warnings in one list.
    pub(super) fn into_messages(self) -> Vec<String> {
        self.errors.into_iter().chain(self.warnings).collect()
    }
}

/// Whether a notice is about a whole file, or about a key that decides about skills, or about a misspelt one.
fn concerns_skills(notice: &FileNotice) -> bool {
    let Some(key) = notice.key.as_deref() else {
        return true;
    };
    let section = key.split('.').next().unwrap_or(key);
    nearest(section, ["skills"].into_iter()).is_some() || key.starts_with("security.folderTrust")
}

/// Whether a file is of no use at all.
fn is_error(notice: &FileNotice, setup: &Setup) -> bool {
    let mut files = setup.settings.files.iter();
    let is_bad = files.any(|file| file.path == notice.path && file.content.is_err());
    let list = match &setup.trust {
        Trust::Unknown(TrustDoubt::BadFile { path, .. } | TrustDoubt::UnreadFile { path, .. }) => {
            Some(path)
        }
        _ => None,
    };
    is_bad || list == Some(&notice.path)
}

/// How many skills of the workspace are skipped, if any.
pub(super) fn left_out(skills: &SkillManager) -> Option<String> {
    let places = skills.sources().places.iter();
    let of_workspace =
        |place: &&SkillPlace| place.tier >= DiscoveryTier::Workspace && place.left_out.is_some();
    let found = places.filter(of_workspace);
    let found: Vec<_> = found.flat_map(|place| place.discover().skills).collect();
    if found.is_empty() {
        return None;
    }
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let loaded = skills.all_skills().iter();
    // In a home that is the workspace they are the user's.
    let mut seen: HashSet<PathBuf> = loaded.map(|skill| real(&skill.location)).collect();
    let found = found.iter();
    let count = found
        .filter(|skill| seen.insert(real(&skill.location)))
        .count();
    let word = match count {
        0 => return None,
        1 => "skill",
        _ => "skills",
    };
    Some(format!(
        "{count} {word} of the workspace skipped: it is not trusted; see `lapidary skills check`"
    ))
}
