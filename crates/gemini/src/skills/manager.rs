//! The skills of a workspace: which there are, which take the place of others, which are disabled.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::activation;
use super::discover::RefusedSkill;
use super::sources::{SkillPlace, SkillSources};
use super::{DiscoveryTier, SkillDefinition};

/// The skills of a workspace. It has the methods of its specification.
///
/// ```
/// use lapidary_gemini::skills::{DiscoveryTier, SkillManager, SkillPlace, SkillSources};
///
/// let place = SkillPlace::new(DiscoveryTier::User, "/home/me/.gemini/skills".into());
/// let mut skills = SkillManager::new(SkillSources { places: vec![place], ..SkillSources::default() });
/// skills.load_skills();
/// println!("{} skills", skills.active_skills().count());
/// ```
#[derive(Debug)]
pub struct SkillManager {
    sources: SkillSources,
    skills: Vec<SkillDefinition>,
    /// What took the place of what, in the order in which it happened.
    pub conflicts: Vec<SkillConflict>,
    /// Files that should be skills and are not.
    pub refused: Vec<RefusedSkill>,
    /// Skills whose front matter is no YAML, and why: they were read line by line.
    pub not_yaml: Vec<(PathBuf, String)>,
}

/// A skill that took the place of another of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillConflict {
    /// The name.
    pub name: String,
    /// The one that counts.
    pub winner: PathBuf,
    /// The one that does not.
    pub loser: PathBuf,
    /// Where the loser was.
    pub loser_tier: DiscoveryTier,
    /// Whether both are the same file, reached on two ways. Gemini CLI warns of that too; here it is no conflict.
    pub is_same_file: bool,
}

impl SkillConflict {
    /// Gemini CLI's warning, where there is reason for one: not for a skill that it comes with, and not for one and the same file.
    pub fn warning(&self) -> Option<String> {
        let is_one = self.loser_tier == DiscoveryTier::Builtin || self.is_same_file;
        (!is_one).then(|| {
            format!(
                r#"Skill conflict detected: "{}" from "{}" is overriding the same skill from "{}"."#,
                self.name,
                self.winner.display(),
                self.loser.display()
            )
        })
    }
}

impl SkillManager {
    /// A manager without skills; [`load_skills`](Self::load_skills) finds them.
    pub fn new(sources: SkillSources) -> Self {
        Self {
            sources,
            skills: Vec::new(),
            conflicts: Vec::new(),
            refused: Vec::new(),
            not_yaml: Vec::new(),
        }
    }

    /// Finds the skills of all places that count, anew. Unreadable ones are in `refused`.
    pub fn load_skills(&mut self) {
        self.clear_skills();
        if self.sources.switched_off.is_some() {
            return;
        }
        for place in std::mem::take(&mut self.sources.places) {
            if place.left_out.is_none() {
                self.load_place(&place);
            }
            self.sources.places.push(place);
        }
        let disabled: Vec<_> = self
            .sources
            .disabled
            .iter()
            .map(|by| by.name.clone())
            .collect();
        self.set_disabled_skills(&disabled);
    }

    fn load_place(&mut self, place: &SkillPlace) {
        let mut found = place.discover();
        self.refused.append(&mut found.refused);
        self.not_yaml.append(&mut found.not_yaml);
        self.add_skills(found.skills);
    }

    /// Adds skills. A skill of the same name is replaced, and keeps its place in the order.
    pub fn add_skills(&mut self, skills: Vec<SkillDefinition>) {
        let mut places: HashMap<String, usize> = HashMap::with_capacity(self.skills.len());
        for (place, skill) in self.skills.iter().enumerate() {
            places.insert(skill.name.clone(), place);
        }
        for skill in skills {
            match places.get(&skill.name) {
                None => {
                    places.insert(skill.name.clone(), self.skills.len());
                    self.skills.push(skill);
                }
                Some(&place) => {
                    let loser = std::mem::replace(&mut self.skills[place], skill);
                    self.note_conflict(&loser, place);
                }
            }
        }
    }

    fn note_conflict(&mut self, loser: &SkillDefinition, place: usize) {
        let winner = &self.skills[place];
        if loser.location == winner.location {
            return;
        }
        self.conflicts.push(SkillConflict {
            name: winner.name.clone(),
            winner: winner.location.clone(),
            loser: loser.location.clone(),
            loser_tier: loser.tier,
            is_same_file: is_same_file(&winner.location, &loser.location),
        });
    }

    /// What decides which skills there are.
    pub fn sources(&self) -> &SkillSources {
        &self.sources
    }

    /// The skills that are not disabled.
    pub fn active_skills(&self) -> impl Iterator<Item = &SkillDefinition> {
        self.skills.iter().filter(|skill| !skill.disabled)
    }

    /// All skills, disabled ones too.
    pub fn all_skills(&self) -> &[SkillDefinition] {
        &self.skills
    }

    /// The skill of that name, disabled or not. Capitals do not count.
    pub fn skill_by_name(&self, name: &str) -> Option<&SkillDefinition> {
        let name = name.to_lowercase();
        let mut skills = self.skills.iter();
        skills.find(|skill| skill.name.to_lowercase() == name)
    }

    /// Enables a skill until skills are loaded again: no file changes. Capitals do not count.
    pub fn enable_skill(&mut self, name: &str) {
        self.set_disabled(name, false);
    }

    /// Disables a skill until skills are loaded again: no file changes. Capitals do not count.
    pub fn disable_skill(&mut self, name: &str) {
        self.set_disabled(name, true);
    }

    fn set_disabled(&mut self, name: &str, disabled: bool) {
        let name = name.to_lowercase();
        for skill in &mut self.skills {
            if skill.name.to_lowercase() == name {
                skill.disabled = disabled;
            }
        }
    }

    /// Disables exactly the skills of these names.
    fn set_disabled_skills(&mut self, names: &[String]) {
        let names: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        for skill in &mut self.skills {
            skill.disabled = names.contains(&skill.name.to_lowercase());
        }
    }

    /// Forgets all skills.
    fn clear_skills(&mut self) {
        self.skills.clear();
        self.conflicts.clear();
        self.refused.clear();
        self.not_yaml.clear();
    }

    /// Activates a skill: its instructions and its folder, or a sentence with the names that there are. As in Gemini CLI, a
    /// disabled skill can be activated by its name.
    pub fn activate_skill(&self, name: &str) -> Result<String, String> {
        match self.skill_by_name(name) {
            Some(skill) => Ok(skill.activation(name)),
            None => Err(activation::not_found(name, self.active_skills())),
        }
    }

    /// The system prompt's section on the active skills; empty if there are none.
    pub fn available_skills(&self) -> String {
        activation::available_skills(self.active_skills())
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
