//! Which directories of skills count in a workspace, and which skills are disabled by whom.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::DiscoveryTier;
use super::discover::{SkillDiscovery, discover};
use crate::extensions::Extension;
use crate::settings::{SettingsFile, SettingsScope};
use crate::setup::Setup;
use crate::trust::Trust;

/// The sources of skills.
#[derive(Debug, Default)]
pub struct SkillSources {
    /// Directories of skills, the weakest first.
    pub places: Vec<SkillPlace>,
    /// The names that are disabled, and the files that say so. Capitals do not count.
    pub disabled: Vec<SkillDisabledBy>,
    /// Why there are no skills at all, if a setting says so.
    pub switched_off: Option<String>,
}

/// A directory of skills.
#[derive(Debug)]
pub struct SkillPlace {
    /// Where it stands among the others.
    pub tier: DiscoveryTier,
    /// The directory. It need not be there.
    pub directory: PathBuf,
    /// Why nothing of it counts, if nothing does.
    pub left_out: Option<String>,
    /// The extension that it belongs to, whose variables are filled in.
    pub extension: Option<Extension>,
}

/// A name on a list of disabled skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDisabledBy {
    /// The name as it is written there.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The scope of the file.
    pub scope: SettingsScope,
}

impl SkillSources {
    /// The sources of a workspace. `builtin` is the directory of the skills that come with Gemini CLI, if the caller knows it.
    pub fn from_setup(setup: &Setup, builtin: Option<&Path>) -> Self {
        let mut places = Vec::new();
        places.extend(
            builtin.map(|directory| SkillPlace::new(DiscoveryTier::Builtin, directory.to_owned())),
        );
        places.extend(setup.extensions.iter().map(extension_place));
        let home = &setup.home.home;
        for (tier, directory) in [
            (DiscoveryTier::User, home.join(".gemini/skills")),
            (DiscoveryTier::UserAgents, home.join(".agents/skills")),
            (
                DiscoveryTier::Workspace,
                setup.workspace.join(".gemini/skills"),
            ),
            (
                DiscoveryTier::WorkspaceAgents,
                setup.workspace.join(".agents/skills"),
            ),
        ] {
            let mut place = SkillPlace::new(tier, directory);
            if tier >= DiscoveryTier::Workspace && !setup.is_trusted() {
                place.left_out = Some(format!(
                    "the workspace is not trusted: {}",
                    trust_reason(&setup.trust)
                ));
            }
            places.push(place);
        }
        Self {
            places,
            disabled: disabled_skills(setup),
            switched_off: switched_off(setup),
        }
    }
}

impl SkillPlace {
    /// A directory that counts.
    pub fn new(tier: DiscoveryTier, directory: PathBuf) -> Self {
        Self {
            tier,
            directory,
            left_out: None,
            extension: None,
        }
    }

    /// The skills that are there, whether they count or not, with the variables of an extension filled in.
    pub fn discover(&self) -> SkillDiscovery {
        let mut found = discover(&self.directory, self.tier);
        if let Some(extension) = &self.extension {
            for skill in &mut found.skills {
                skill.name = extension.hydrate(&skill.name);
                skill.description = extension.hydrate(&skill.description);
                skill.body = extension.hydrate(&skill.body);
                skill.extension_name = Some(extension.name.clone());
            }
        }
        found
    }
}

fn trust_reason(trust: &Trust) -> String {
    match trust {
        Trust::Trusted(reason) | Trust::Untrusted(reason) => reason.to_string(),
        Trust::Unknown(doubt) => format!("it is unknown here, because {doubt}"),
    }
}

fn extension_place(extension: &Extension) -> SkillPlace {
    let mut place = SkillPlace::new(DiscoveryTier::Extension, extension.directory.join("skills"));
    place.left_out = extension
        .inactive
        .as_ref()
        .map(|why| format!("the extension `{}` is not active: {why}", extension.name));
    place.extension = Some(extension.clone());
    place
}

/// A setting that JavaScript takes for false disables skills; without the setting they are enabled.
fn switched_off(setup: &Setup) -> Option<String> {
    let value = setup.get(&["skills", "enabled"])?;
    let is_off = match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    is_off.then(|| format!("the setting `skills.enabled` is {value}"))
}

fn disabled_skills(setup: &Setup) -> Vec<SkillDisabledBy> {
    let counts =
        |file: &&SettingsFile| file.scope != SettingsScope::Workspace || setup.is_trusted();
    let files = setup.settings.files.iter().filter(counts);
    files.flat_map(disabled_in_file).collect()
}

fn disabled_in_file(file: &SettingsFile) -> Vec<SkillDisabledBy> {
    let list = file.content.as_ref().ok().and_then(|content| {
        let list = content.get("skills")?.get("disabled")?;
        // A single text is taken for a list of one when settings are merged.
        Some(
            list.as_array()
                .cloned()
                .unwrap_or_else(|| vec![list.clone()]),
        )
    });
    // However often it is there.
    let mut seen = HashSet::new();
    let listed = list.iter().flatten().filter_map(Value::as_str);
    let listed = listed.filter(|name| seen.insert(*name));
    let disabled = |name: &str| SkillDisabledBy {
        name: name.to_owned(),
        file: file.path.clone(),
        scope: file.scope,
    };
    listed.map(disabled).collect()
}
