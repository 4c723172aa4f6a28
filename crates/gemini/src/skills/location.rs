//! Where the skills of a name are, those too that do not count.

use std::path::PathBuf;

use super::sources::{SkillPlace, SkillSources};
use super::{DiscoveryTier, SkillDefinition};
use crate::hooks::nearest;

/// Longer names are not compared: they are rarely typed by hand, and comparing takes time.
const LONGEST: usize = 64;

/// A skill that goes by a name, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLocation {
    /// The name in its front matter.
    pub name: String,
    /// Where it was found.
    pub tier: DiscoveryTier,
    /// Its directory, or a link to it.
    pub directory: PathBuf,
    /// The extension that it comes with.
    pub extension: Option<String>,
    /// Why it does not count, if nothing there does.
    pub left_out: Option<String>,
}

impl SkillSources {
    /// The skills that go by a name, in all places, the strongest first. Capitals do not count. If none is called so: those
    /// whose directory is.
    pub fn whereabouts(&self, name: &str) -> Vec<SkillLocation> {
        let wanted = name.to_lowercase();
        let all = self.all_locations();
        let is_called = |found: &&SkillLocation| found.name.to_lowercase() == wanted;
        let found: Vec<_> = all.iter().filter(is_called).cloned().collect();
        if !found.is_empty() {
            return found;
        }
        let is_in = |found: &&SkillLocation| {
            let directory = found.directory.file_name();
            directory.is_some_and(|last| last.to_string_lossy().to_lowercase() == wanted)
        };
        all.iter().filter(is_in).cloned().collect()
    }

    /// The skill name closest to a mistyped one, whether that skill counts or not.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let all = self.all_locations();
        let names = all.iter().map(|found| found.name.as_str());
        let names = names.filter(|name| name.len() <= LONGEST);
        nearest(name, names).map(str::to_owned)
    }

    fn all_locations(&self) -> Vec<SkillLocation> {
        let places = self.places.iter().rev();
        places.flat_map(|place| self.in_place(place)).collect()
    }

    fn in_place(&self, place: &SkillPlace) -> Vec<SkillLocation> {
        let left_out = self.switched_off.as_ref().or(place.left_out.as_ref());
        let told = |skill: SkillDefinition| SkillLocation {
            directory: skill.directory(),
            name: skill.name,
            tier: skill.tier,
            extension: skill.extension_name,
            left_out: left_out.cloned(),
        };
        // The last one counts.
        let skills = place.discover().skills.into_iter().rev();
        skills.map(told).collect()
    }
}
