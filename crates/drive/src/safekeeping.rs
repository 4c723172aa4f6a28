//! Keeping sessions safe from the agent that records them.
//!
//! Gemini CLI 0.61 loses conversations that it resumes (decision 9), and any start of it may finish off what an earlier one endangered. So
//! whatever starts it looks into the vault before and after. Who wants to continue a session that cannot be kept safe is refused;
//! a new one begins all the same, and the reader is told.

use std::path::PathBuf;
use std::time::SystemTime;

use lapidary_home::sessions::Project;
use lapidary_home::vault::{Guard, GuardRequest, Retention, Vault};

/// What is to be kept safe, and where.
#[derive(Debug, Clone)]
pub struct Safekeeping {
    /// Where the vault is.
    pub vault: PathBuf,
    /// The projects whose sessions the agent may touch.
    pub projects: Vec<Project>,
    /// The whole id of the session that will be continued.
    pub resume: Option<String>,
    /// What the user has the agent delete.
    pub retention: Option<Retention>,
}

/// Sessions that are being watched over.
#[derive(Debug)]
pub struct Kept {
    guard: Option<Guard>,
    /// What the reader should know, a sentence each.
    pub notices: Vec<String>,
}

impl Safekeeping {
    /// Copies what is there. An error means that the agent must not start.
    pub fn before(&self) -> Result<Kept, String> {
        let chats = self
            .projects
            .iter()
            .flat_map(|project| &project.directories);
        let chats: Vec<_> = chats
            .map(|directory| directory.join("chats"))
            .filter(|chats| chats.is_dir())
            .collect();
        if chats.is_empty() {
            return Ok(Kept::nothing());
        }
        let request = GuardRequest {
            chats,
            now: SystemTime::now(),
            resume: self.resume.clone(),
            retention: self.retention,
        };
        match Guard::before(&Vault::open(&self.vault), request) {
            Ok(guard) => Ok(Kept {
                notices: sentences(&guard),
                guard: Some(guard),
            }),
            Err(error) if self.resume.is_some() => Err(told(&error)),
            Err(error) => Ok(Kept {
                guard: None,
                notices: vec![format!(
                    "earlier sessions are not kept safe: {}",
                    told(&error)
                )],
            }),
        }
    }
}

impl Kept {
    fn nothing() -> Self {
        Self {
            guard: None,
            notices: Vec::new(),
        }
    }

    /// Puts back what is missing. Says what was done, a sentence each.
    pub fn after(self) -> Vec<String> {
        let Some(guard) = self.guard else {
            return Vec::new();
        };
        match guard.after(SystemTime::now()) {
            Ok(repair) => repair
                .actions
                .into_iter()
                .map(|action| action.sentence)
                .collect(),
            Err(error) => vec![format!(
                "sessions could not be checked after the run: {}; `lapidary sessions vault log` has them as they were before",
                told(&error)
            )],
        }
    }
}

fn sentences(guard: &Guard) -> Vec<String> {
    let actions = guard.actions.iter().map(|action| action.sentence.clone());
    actions
        .chain(guard.flaws.iter().map(ToString::to_string))
        .collect()
}

/// An error with what caused it.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
