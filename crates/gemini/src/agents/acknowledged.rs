//! `acknowledgments/agents.json`: the agents of a project that the user has seen, by the hash of their files.
//!
//! Gemini CLI registers an agent of a project only if its name and hash are there. It asks in its interface; headless it cannot.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::AgentDefinition;
use crate::file::{self, ReadError};
use crate::paths::GeminiHome;
use crate::settings::{EditError, edit};

/// The acknowledged agents of all projects.
#[derive(Debug)]
pub struct AcknowledgedAgents {
    path: PathBuf,
    projects: Map<String, Value>,
    problem: Option<ReadError>,
}

impl AcknowledgedAgents {
    /// Reads the file. One that cannot be read is as good as empty, as for Gemini CLI.
    pub fn read(home: &GeminiHome) -> Self {
        let path = home.folder().join("acknowledgments/agents.json");
        let (projects, problem) = match file::strict_object(&path) {
            Ok(projects) => (projects.unwrap_or_default(), None),
            Err(error) => (Map::new(), Some(error)),
        };
        Self {
            path,
            projects,
            problem,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the file cannot be read, if it cannot.
    pub fn problem(&self) -> Option<&ReadError> {
        self.problem.as_ref()
    }

    /// Whether the user has seen an agent of a project as it is now.
    pub fn has(&self, project: &Path, agent: &AgentDefinition) -> bool {
        let hash = acknowledgement_hash(agent);
        let known = self
            .projects
            .get(&project_key(project))
            .and_then(|agents| agents.get(agent.name()));
        hash.is_none() || known.and_then(Value::as_str) == hash.as_deref()
    }

    /// Whether the user has seen an agent of this name, with this hash or another one.
    pub fn has_name(&self, project: &Path, name: &str) -> bool {
        let agents = self.projects.get(&project_key(project));
        agents.is_some_and(|agents| agents.get(name).is_some())
    }

    /// Writes down that the user has seen agents of a project. Other entries stay as they are.
    pub fn acknowledge<'a>(
        &mut self,
        project: &Path,
        agents: impl IntoIterator<Item = &'a AgentDefinition>,
    ) -> Result<(), EditError> {
        if let Some(source) = self.problem.take() {
            let path = self.path.clone();
            return Err(EditError::Unreadable { path, source });
        }
        let project = project_key(project);
        let agents = agents.into_iter();
        let agents: Vec<(&str, String)> = agents
            .filter_map(|agent| Some((agent.name(), acknowledgement_hash(agent)?)))
            .collect();
        edit(&self.path, |document| -> Result<(), EditError> {
            agents.iter().try_for_each(|(name, hash)| {
                document.set(&[project.as_str(), *name], hash.as_str().into())
            })
        })?;
        let known = self
            .projects
            .entry(project)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(known) = known.as_object_mut() {
            known.extend(
                agents
                    .into_iter()
                    .map(|(name, hash)| (name.to_owned(), hash.into())),
            );
        }
        Ok(())
    }
}

/// The hash that acknowledges an agent: that of its file; for a remote agent its card's URL, or the hash of its inline card.
pub fn acknowledgement_hash(agent: &AgentDefinition) -> Option<String> {
    use super::AgentCard;
    match agent {
        AgentDefinition::Local(agent) => agent.metadata.as_ref()?.hash.clone(),
        AgentDefinition::Remote(agent) => Some(match &agent.card {
            AgentCard::Url(url) => url.clone(),
            AgentCard::Json(card) => super::load::sha256_hex(card),
        }),
    }
}

/// Gemini CLI uses its working directory, which has no links on the way.
fn project_key(project: &Path) -> String {
    let real = project.canonicalize();
    real.as_deref()
        .unwrap_or(project)
        .to_string_lossy()
        .into_owned()
}
