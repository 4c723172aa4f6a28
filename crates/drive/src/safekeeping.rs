//! Keeping sessions safe from the agent that records them.
//!
//! Gemini CLI 0.61 loses conversations that it resumes (decision 9), and any start of it may finish off what an earlier one endangered. So
//! whatever starts it looks into the vault before and after. Who wants to continue a session that cannot be kept safe is refused;
//! a new one begins all the same, and the reader is told.

use std::path::PathBuf;
use std::time::SystemTime;

use lapidary_home::sessions::Project;
use lapidary_home::vault::{Did, Guard, GuardRequest, Retention, Vault, session_files};

/// What the vault has not.
const ONLY_SESSIONS: &str = "The vault has sessions and what their sub-agents said, but neither the outputs of their tools nor their plans and logs: where the CLI deleted those with a session, they are gone.";

/// What is to be kept safe, and where.
#[derive(Debug, Clone)]
pub struct Safekeeping {
    /// Where the vault is.
    pub vault: PathBuf,
    /// The projects whose sessions the agent may touch.
    pub projects: Vec<Project>,
    /// What will be continued.
    pub resume: Resume,
    /// What the user has the agent delete.
    pub retention: Option<Retention>,
}

/// Which session an agent continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Resume {
    /// None.
    #[default]
    Nothing,
    /// The one with this whole id.
    One(String),
    /// Whichever somebody asks it to load, at any time.
    Any,
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
        let chats = self.chats();
        if chats.is_empty() {
            return Ok(Kept::nothing());
        }
        let request = GuardRequest {
            chats,
            now: SystemTime::now(),
            resume: match &self.resume {
                Resume::One(id) => Some(id.clone()),
                Resume::Nothing | Resume::Any => None,
            },
            retention: self.retention,
        };
        let vault = Vault::open(&self.vault);
        let guard = match &self.resume {
            Resume::Any => Guard::before_any(&vault, request),
            Resume::Nothing | Resume::One(_) => Guard::before(&vault, request),
        };
        match guard {
            Ok(guard) => Ok(Kept {
                notices: sentences(&guard),
                guard: Some(guard),
            }),
            Err(error) if matches!(self.resume, Resume::One(_)) => Err(told(&error)),
            Err(error) => Ok(Kept {
                guard: None,
                notices: vec![format!(
                    "earlier sessions are not kept safe: {}",
                    told(&error)
                )],
            }),
        }
    }

    /// How many files of sessions there are.
    pub fn count(&self) -> usize {
        let chats = self.chats();
        let files = chats.iter().map(|chats| session_files(chats).0.len());
        files.sum()
    }

    fn chats(&self) -> Vec<PathBuf> {
        let directories = self.projects.iter().flat_map(|it| &it.directories);
        directories
            .map(|directory| directory.join("chats"))
            .filter(|chats| chats.is_dir())
            .collect()
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
            Ok(repair) => {
                let is_back = repair.actions.iter().any(|it| it.did == Did::PutBack);
                let told = repair.actions.into_iter().map(|action| action.sentence);
                told.chain(is_back.then(|| ONLY_SESSIONS.to_owned()))
                    .collect()
            }
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
