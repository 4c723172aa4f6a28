//! The sessions that a provider is asked for: those of projects, or of the directories that they are in.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::projects::{SessionProject, project_hash};

/// The sessions that are wanted.
#[derive(Debug, Clone, Copy)]
pub struct ProviderScope<'s> {
    /// The projects that Gemini CLI knows or would make.
    pub projects: &'s [SessionProject],
    /// Whether other directories count.
    pub reach: ProjectReach,
    /// The time of the list.
    pub now: SystemTime,
}

/// Whether a list goes beyond the projects that were named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectReach {
    /// Only these projects.
    Named,
    /// Every directory.
    Everywhere,
}

/// The place of each directory among the projects of a scope.
#[derive(Debug)]
pub struct ProjectPlaces<'s> {
    scope: &'s ProviderScope<'s>,
    places: HashMap<PathBuf, usize>,
    /// The place that the next directory gets which is not among the projects.
    next: usize,
}

impl<'s> ProjectPlaces<'s> {
    /// The places of the projects that were named.
    pub fn new(scope: &'s ProviderScope<'s>) -> Self {
        let roots = scope.projects.iter().enumerate();
        let places = roots.filter_map(|(place, project)| Some((project.root.clone()?, place)));
        Self {
            scope,
            places: places.collect(),
            next: scope.projects.len(),
        }
    }

    /// The place of a directory. One beyond the projects gets the next place, if it counts.
    pub fn place_for(&mut self, directory: &str) -> Option<usize> {
        if let Some(place) = self.places.get(Path::new(directory)) {
            return Some(*place);
        }
        if self.scope.reach == ProjectReach::Named {
            return None;
        }
        let place = self.next;
        self.next += 1;
        self.places.insert(directory.into(), place);
        Some(place)
    }

    /// The directory with this hash, among those of the scope.
    pub(crate) fn root_with_hash(&self, hash: &str) -> Option<String> {
        let roots = self
            .scope
            .projects
            .iter()
            .filter_map(|it| it.root.as_deref());
        let mut roots = roots.filter(|root| project_hash(root) == hash);
        roots.next().map(|root| root.to_string_lossy().into_owned())
    }

    /// The name of a project's directory in `.gemini/tmp`; empty for a directory that Gemini CLI does not know.
    pub fn id(&self, place: usize) -> &'s str {
        let project = self.scope.projects.get(place);
        let project = project.filter(|project| !project.directories.is_empty());
        project.map_or("", |project| project.id.as_str())
    }
}

/// The directories whose sessions count.
#[derive(Debug, Clone, Default)]
pub enum WantedDirectories {
    /// Every directory.
    #[default]
    Every,
    /// These.
    Named(HashSet<PathBuf>),
}

impl WantedDirectories {
    /// Those of a scope.
    pub fn from_scope(scope: &ProviderScope<'_>) -> Self {
        match scope.reach {
            ProjectReach::Everywhere => Self::Every,
            ProjectReach::Named => {
                let roots = scope.projects.iter().filter_map(|it| it.root.clone());
                Self::Named(roots.collect())
            }
        }
    }

    /// Whether sessions of this directory count.
    pub fn contains(&self, directory: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Named(roots) => roots.contains(Path::new(directory)),
        }
    }
}
