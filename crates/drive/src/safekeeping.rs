//! Keeping sessions safe from the agent that records them.
//!
//! Gemini CLI 0.61 loses conversations that it resumes (decision 9), and any start of it may finish off what an earlier one endangered. So
//! whatever starts it looks into the vault before and after, and watches the session files while it runs. Who wants to continue a session that cannot be kept safe is refused;
//! a new one begins all the same, and the reader is told.

mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use lapidary_home::sessions::{self, Project};
use lapidary_home::vault::{
    Action, Claim, Did, Guard, GuardRequest, Retention, Vault, session_files,
};

use self::watch::Watch;

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
    watch: Option<Watch>,
    /// The right to continue the session that is resumed.
    claim: Option<Claim>,
    /// What the reader should know, a sentence each.
    pub notices: Vec<String>,
    /// What the outcome should say, too: why sessions are not kept safe.
    pub warnings: Vec<String>,
}

/// What was done after a run, a sentence each.
#[derive(Debug, Default)]
pub struct Checked {
    /// What the reader should know.
    pub notices: Vec<String>,
    /// What the outcome should say, too: why sessions could not be checked.
    pub warnings: Vec<String>,
}

/// What came of claiming the session that is to be resumed.
#[derive(Debug)]
pub enum Claiming {
    /// It is ours; or none is resumed.
    Claimed(Option<Claim>),
    /// Another run continues it. The sentence says which.
    Taken(String),
}

/// Sessions that a conversation claims one after the other, each when it is loaded.
#[derive(Debug)]
pub(crate) struct Claims {
    vault: Vault,
    taken: Mutex<BTreeMap<String, Claim>>,
}

impl Claims {
    /// Claims a session, until the conversation ends. The error is a sentence about the run that continues it.
    pub(crate) fn take(&self, session: &str) -> Result<(), String> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.contains_key(session) {
            return Ok(());
        }
        match self.vault.claim(session) {
            Ok(Some(claim)) => {
                taken.insert(session.to_owned(), claim);
                Ok(())
            }
            Ok(None) => Err(is_taken(&self.vault, session)),
            // That the vault cannot be written was said when the agent started.
            Err(_) => Ok(()),
        }
    }
}

impl Safekeeping {
    /// Claims the session that is to be resumed: two agents that write into one session hide each other's messages.
    pub fn claim(&self) -> Result<Claiming, String> {
        let Resume::One(id) = &self.resume else {
            return Ok(Claiming::Claimed(None));
        };
        let vault = Vault::open(&self.vault);
        let claim = vault.claim(id).map_err(|error| told(&error))?;
        Ok(match claim {
            Some(claim) => Claiming::Claimed(Some(claim)),
            None => Claiming::Taken(is_taken(&vault, id)),
        })
    }

    /// What claims sessions as they are loaded, if any may be.
    pub(crate) fn claims(&self) -> Option<Claims> {
        let is_any = self.resume == Resume::Any;
        is_any.then(|| Claims {
            vault: Vault::open(&self.vault),
            taken: Mutex::default(),
        })
    }

    /// Copies what is there, and begins to watch it. An error means that the agent must not start.
    pub fn before(&self, claim: Option<Claim>) -> Result<Kept, String> {
        let chats = self.chats();
        if chats.is_empty() {
            return Ok(Kept::nothing());
        }
        let adopted = self.adopt()?;
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
                notices: adopted.into_iter().chain(sentences(&guard)).collect(),
                watch: Watch::start(guard.holdings()),
                guard: Some(guard),
                claim,
                warnings: Vec::new(),
            }),
            Err(error) if matches!(self.resume, Resume::One(_)) => Err(told(&error)),
            Err(error) => {
                let warning = format!("earlier sessions are not kept safe: {}", told(&error));
                Ok(Kept {
                    guard: None,
                    watch: None,
                    claim,
                    notices: vec![warning.clone()],
                    warnings: vec![warning],
                })
            }
        }
    }

    /// Copies a session of an older version's directory to where the CLI looks for it, and says so.
    fn adopt(&self) -> Result<Option<String>, String> {
        let Resume::One(id) = &self.resume else {
            return Ok(None);
        };
        let adopted = sessions::adopt(&self.projects, id, SystemTime::now());
        let adopted = adopted.map_err(|error| {
            format!("it cannot be copied from the directory of an older version: {error}")
        })?;
        Ok(adopted.map(|path| {
            let path = path.display();
            format!("the session is in the directory of an older version; its copy `{path}` is continued")
        }))
    }

    /// How many files of sessions there are.
    pub fn count(&self) -> usize {
        let chats = self.chats();
        let files = chats.iter().map(|chats| session_files(chats).0.len());
        files.sum()
    }

    fn chats(&self) -> Vec<PathBuf> {
        let mut chats: Vec<PathBuf> = Vec::new();
        for project in &self.projects {
            // The directory that the CLI will make counts, too: two first runs may be at once.
            let used = project.root.is_some().then_some(&project.directory);
            let others = project.directories.iter().map(|it| it.join("chats"));
            let others = others.filter(|chats| chats.is_dir());
            for folder in used.map(|it| it.join("chats")).into_iter().chain(others) {
                if !chats.contains(&folder) {
                    chats.push(folder);
                }
            }
        }
        chats
    }
}

impl Kept {
    fn nothing() -> Self {
        Self {
            guard: None,
            watch: None,
            claim: None,
            notices: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Puts back what is missing, and says what was done.
    pub fn after(self) -> Checked {
        let restored = self.watch.map(Watch::finish).unwrap_or_default();
        let Some(guard) = self.guard else {
            return Checked::default();
        };
        let repair = guard.after(SystemTime::now());
        // Not before: the next run that wants the session finds all of it.
        drop(self.claim);
        match repair {
            Ok(repair) => {
                let is_back = |it: &Action| it.did == Did::PutBack;
                let is_back = !restored.is_empty() || repair.actions.iter().any(is_back);
                let at_once = restored.iter().map(|path| put_back_at_once(path));
                let told = repair.actions.into_iter().map(|action| action.sentence);
                let told = at_once.chain(told);
                Checked {
                    notices: told
                        .chain(is_back.then(|| ONLY_SESSIONS.to_owned()))
                        .collect(),
                    warnings: Vec::new(),
                }
            }
            Err(error) => Checked::failed(&told(&error)),
        }
    }
}

impl Checked {
    pub(crate) fn failed(why: &str) -> Self {
        let warning = format!(
            "sessions could not be checked after the run: {why}; `lapidary sessions vault log` has them as they were before"
        );
        Self {
            notices: vec![warning.clone()],
            warnings: vec![warning],
        }
    }
}

fn sentences(guard: &Guard) -> Vec<String> {
    let actions = guard.actions.iter().map(|action| action.sentence.clone());
    actions
        .chain(guard.flaws.iter().map(ToString::to_string))
        .collect()
}

fn put_back_at_once(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().display();
    format!("`{name}` was gone and is back: it was deleted while the run lasted.")
}

fn is_taken(vault: &Vault, session: &str) -> String {
    let process = vault.claimed_by(session);
    let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
    format!("another run{process} is continuing the session `{session}`")
}

/// An error with what caused it.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safekeeping(root: &Path, resume: Resume) -> Safekeeping {
        Safekeeping {
            vault: root.join("vault"),
            projects: Vec::new(),
            resume,
            retention: None,
        }
    }

    #[test]
    fn a_session_that_a_run_continues_cannot_be_loaded_in_a_conversation_and_the_other_way_round() {
        let root = tempfile::tempdir().unwrap();
        let run = safekeeping(root.path(), Resume::One("a".to_owned()));
        let claims = safekeeping(root.path(), Resume::Any).claims().unwrap();
        let Ok(Claiming::Claimed(Some(claim))) = run.claim() else {
            panic!("it is free");
        };
        let why = claims.take("a").unwrap_err();
        assert!(why.contains("is continuing the session `a`"), "{why}");
        drop(claim);
        assert_eq!(claims.take("a"), Ok(()));
        assert_eq!(claims.take("a"), Ok(()), "it has it already");
        assert!(matches!(run.claim(), Ok(Claiming::Taken(_))));
        drop(claims);
        assert!(matches!(run.claim(), Ok(Claiming::Claimed(Some(_)))));
        assert!(safekeeping(root.path(), Resume::Nothing).claims().is_none());
    }
}
