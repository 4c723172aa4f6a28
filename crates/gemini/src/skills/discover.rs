//! A directory of skills.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::frontmatter::{WhyNot, frontmatter};
use super::{DiscoveryTier, FILE, SkillDefinition};
use crate::file;

/// The result of scanning a directory of skills.
#[derive(Debug, Default)]
pub struct SkillDiscovery {
    /// The skills, in the order in which Gemini CLI finds them.
    pub skills: Vec<SkillDefinition>,
    /// The files that should be skills and are not.
    pub refused: Vec<RefusedSkill>,
    /// Skills whose front matter was read line by line, and why.
    pub not_yaml: Vec<(PathBuf, String)>,
}

/// A file that is no skill.
#[derive(Debug)]
pub struct RefusedSkill {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub why: WhyNot,
}

/// Reads the skills of a directory: its own `SKILL.md` and that of each directory in it, no deeper. Hidden directories and
/// `node_modules` are skipped. Links are followed, and a skill is known by the path through them.
///
/// The directory's own comes first, then the others from the last name to the first: the order in which Gemini CLI finds them,
/// and of two skills of one name the last one wins.
pub fn discover(directory: &Path, tier: DiscoveryTier) -> SkillDiscovery {
    let mut found = SkillDiscovery::default();
    let Ok(entries) = fs::read_dir(directory) else {
        return found;
    };
    let mut names: Vec<OsString> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| !is_passed_over(name))
        .collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    found.add_skill_file(directory.join(FILE), tier);
    for name in names {
        let inner = directory.join(&name);
        // Gemini CLI passes over it in silence. It was a skill once, or was meant to be one.
        if inner.is_symlink() && !inner.exists() {
            let why = WhyNot::LeadsNowhere;
            found.refused.push(RefusedSkill { path: inner, why });
        } else if name.to_str().is_none() && inner.join(FILE).exists() {
            let (path, why) = (inner.join(FILE), WhyNot::NoName);
            found.refused.push(RefusedSkill { path, why });
        } else {
            found.add_skill_file(inner.join(FILE), tier);
        }
    }
    found
}

pub(super) fn is_passed_over(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "node_modules"
}

impl SkillDiscovery {
    fn add_skill_file(&mut self, path: PathBuf, tier: DiscoveryTier) {
        match read_frontmatter(&path) {
            Ok(Some(read)) => {
                if let Some(problem) = read.not_yaml {
                    self.not_yaml.push((path.clone(), problem));
                }
                self.skills.push(SkillDefinition {
                    name: read.name,
                    description: read.description,
                    location: path,
                    body: read.body,
                    disabled: false,
                    is_builtin: tier == DiscoveryTier::Builtin,
                    extension_name: None,
                    tier,
                });
            }
            Ok(None) => {}
            Err(why) => self.refused.push(RefusedSkill { path, why }),
        }
    }
}

/// Reads and parses one file; `None` if there is no such file.
fn read_frontmatter(path: &Path) -> Result<Option<super::SkillFrontmatter>, WhyNot> {
    match file::text(path) {
        Ok(Some(text)) => frontmatter(&text).map(Some),
        Err(file::ReadError::LeadsNowhere) if path.is_symlink() => Err(WhyNot::LeadsNowhere),
        Ok(None) | Err(file::ReadError::LeadsNowhere) => Ok(None),
        // A directory that happens to be called so.
        Err(file::ReadError::NotAFile) if path.is_dir() && !path.is_symlink() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
