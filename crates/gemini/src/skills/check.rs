//! Why each file that could be a skill is one, or is not.

mod unseen_files;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::manager::SkillManager;
use super::sources::{SkillDisabledBy, SkillPlace};
use super::{DiscoveryTier, SkillDefinition, tokens};

/// The outcome for every candidate.
#[derive(Debug)]
pub struct CheckedSkills {
    /// Each file that is a skill, or could be one, place by place.
    pub candidates: Vec<LoadCandidate>,
    /// Why no skill counts, if a setting says so.
    pub switched_off: Option<String>,
    /// About how many tokens the list of skills takes in every prompt.
    pub listed_tokens: u64,
}

/// A file that is a skill, or could be one.
#[derive(Debug)]
pub struct LoadCandidate {
    /// The file, or the directory that has none.
    pub path: PathBuf,
    /// Where it was found.
    pub tier: DiscoveryTier,
    /// The skill's name, if it is one.
    pub name: Option<String>,
    /// The outcome.
    pub fate: LoadOutcome,
    /// About how many tokens it takes in every prompt, and once it is activated.
    pub tokens: Option<(u64, u64)>,
    /// Another candidate that is the same file on another way.
    pub same_file_as: Option<PathBuf>,
    /// Why its front matter was read line by line, if it was: the values may not be the intended ones.
    pub not_yaml: Option<String>,
    /// Where its directory or its file leads, if that is a link.
    pub links_to: Option<PathBuf>,
    /// How urgent a correction is.
    pub severity: Option<LoadSeverity>,
}

/// How bad it is that a candidate does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadSeverity {
    /// It should be a skill, and is none.
    Error,
    /// It may be meant so.
    Warning,
}

/// The outcome for a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadOutcome {
    /// It counts.
    Loaded,
    /// It is on these lists.
    Disabled(Vec<SkillDisabledBy>),
    /// Another of the same name counts.
    Overridden(PathBuf),
    /// It is a skill in a place that does not count.
    LeftOut(String),
    /// It is where a skill should be, and is none.
    Refused(String),
    /// Gemini CLI does not look in its place, or for its name.
    NotLookedFor(String),
}

impl CheckedSkills {
    /// Looks at all files that a manager has loaded, and at the others.
    pub fn from_manager(manager: &SkillManager) -> Self {
        let mut candidates = Vec::new();
        let known = KnownSkills::from_manager(manager);
        for place in &manager.sources().places {
            candidates.extend(of_place(place, &known));
        }
        mark_same_files(&mut candidates);
        let entries = manager.active_skills().map(SkillDefinition::entry);
        Self {
            candidates,
            switched_off: manager.sources().switched_off.clone(),
            listed_tokens: entries.map(|entry| tokens(&entry)).sum(),
        }
    }

    /// How many candidates count.
    pub fn loaded(&self) -> usize {
        let loaded = |candidate: &&LoadCandidate| candidate.fate == LoadOutcome::Loaded;
        self.candidates.iter().filter(loaded).count()
    }
}

/// The skills of a manager, by name: there may be as many skills as disabled names.
struct KnownSkills<'a> {
    switched_off: Option<&'a String>,
    skills: HashMap<&'a str, &'a SkillDefinition>,
    /// By names in small letters.
    disabled: HashMap<String, Vec<&'a SkillDisabledBy>>,
}

impl<'a> KnownSkills<'a> {
    fn from_manager(manager: &'a SkillManager) -> Self {
        let sources = manager.sources();
        let all = manager.all_skills().iter();
        let mut disabled: HashMap<String, Vec<&SkillDisabledBy>> = HashMap::new();
        for by in &sources.disabled {
            disabled.entry(by.name.to_lowercase()).or_default().push(by);
        }
        Self {
            switched_off: sources.switched_off.as_ref(),
            skills: all.map(|skill| (skill.name.as_str(), skill)).collect(),
            disabled,
        }
    }
}

fn of_place(place: &SkillPlace, known: &KnownSkills<'_>) -> Vec<LoadCandidate> {
    let found = place.discover();
    let mut not_yaml: HashMap<PathBuf, String> = found.not_yaml.into_iter().collect();
    let mut candidates: Vec<LoadCandidate> = found
        .skills
        .into_iter()
        .map(|skill| LoadCandidate {
            fate: load_outcome(&skill, place, known),
            tokens: Some((
                tokens(&skill.entry()),
                tokens(&skill.activation(&skill.name)),
            )),
            not_yaml: not_yaml.remove(&skill.location),
            name: Some(skill.name),
            ..new_candidate(skill.location, place.tier)
        })
        .collect();
    candidates.extend(found.refused.into_iter().map(|refusal| LoadCandidate {
        fate: LoadOutcome::Refused(refusal.why.to_string()),
        ..new_candidate(refusal.path, place.tier)
    }));
    candidates.sort_by(|one, other| one.path.cmp(&other.path));
    let strays = unseen_files::find_unseen(&place.directory).into_iter();
    candidates.extend(strays.map(|(path, why)| LoadCandidate {
        fate: LoadOutcome::NotLookedFor(why),
        ..new_candidate(path, place.tier)
    }));
    for candidate in &mut candidates {
        candidate.severity = candidate_severity(candidate, place);
        candidate.links_to = links_to(&candidate.path, place);
    }
    candidates
}

/// A problem in a place that does not count is harmless yet, and one file that is found on two ways is no problem.
fn candidate_severity(candidate: &LoadCandidate, place: &SkillPlace) -> Option<LoadSeverity> {
    match &candidate.fate {
        LoadOutcome::Loaded | LoadOutcome::Disabled(_) => None,
        LoadOutcome::Overridden(by) if is_same(by, &candidate.path) => None,
        LoadOutcome::Refused(_) if place.left_out.is_none() => Some(LoadSeverity::Error),
        LoadOutcome::Overridden(_)
        | LoadOutcome::LeftOut(_)
        | LoadOutcome::Refused(_)
        | LoadOutcome::NotLookedFor(_) => Some(LoadSeverity::Warning),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = one.canonicalize().ok();
    real.is_some() && real == other.canonicalize().ok()
}

/// Where the link leads that a candidate is, or that its directory is. That of all skills is no candidate's.
fn links_to(path: &Path, place: &SkillPlace) -> Option<PathBuf> {
    let below = |step: &&Path| *step != place.directory;
    let mut way = path.ancestors().take(2).filter(below);
    way.find_map(|step| step.read_link().ok())
}

fn new_candidate(path: PathBuf, tier: DiscoveryTier) -> LoadCandidate {
    LoadCandidate {
        path,
        tier,
        name: None,
        fate: LoadOutcome::Loaded,
        tokens: None,
        same_file_as: None,
        not_yaml: None,
        links_to: None,
        severity: None,
    }
}

fn load_outcome(
    skill: &SkillDefinition,
    place: &SkillPlace,
    known: &KnownSkills<'_>,
) -> LoadOutcome {
    if let Some(why) = known.switched_off.or(place.left_out.as_ref()) {
        return LoadOutcome::LeftOut(why.clone());
    }
    match known.skills.get(skill.name.as_str()) {
        Some(counts) if counts.location != skill.location || counts.tier != skill.tier => {
            LoadOutcome::Overridden(counts.location.clone())
        }
        Some(counts) if counts.disabled => {
            let by = known.disabled.get(&skill.name.to_lowercase());
            LoadOutcome::Disabled(by.into_iter().flatten().copied().cloned().collect())
        }
        Some(_) => LoadOutcome::Loaded,
        None => LoadOutcome::LeftOut("it came or went while it was looked at".to_owned()),
    }
}

/// The first on each way to a file is named at the others.
fn mark_same_files(candidates: &mut [LoadCandidate]) {
    let mut seen: HashMap<PathBuf, PathBuf> = HashMap::new();
    for candidate in candidates {
        let Ok(real) = Path::canonicalize(&candidate.path) else {
            continue;
        };
        match seen.get(&real) {
            Some(first) if *first != candidate.path => candidate.same_file_as = Some(first.clone()),
            Some(_) => {}
            None => {
                seen.insert(real, candidate.path.clone());
            }
        }
    }
}
