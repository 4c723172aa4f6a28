//! A look at every file of a project, the hidden ones too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::{FlawKind, GatherFlaw};
use super::{
    ContentFacts, GuardAction, LogReplay, ReadingDepth, RecoveryPlan, SeenFile, Vault, VaultError,
};
use super::{guard, lossy_utf8, session_files, sweep};

/// The hidden messages in a project's files, and the files that endanger others.
#[derive(Debug, Clone, Default)]
pub struct ProjectSurvey {
    /// How many files were looked at.
    pub looked: usize,
    /// The possible recoveries, by file.
    pub plans: Vec<RecoveryPlan>,
    /// Files that the CLI's next start would delete, and a conversation with them.
    pub dangers: Vec<EndangeredSession>,
    /// Files that could not be read.
    pub flaws: Vec<GatherFlaw>,
}

/// A file without content that would take a session with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndangeredSession {
    /// The file.
    pub path: PathBuf,
    /// The session that it names.
    pub session_id: Option<String>,
}

/// Looks at every session file of these directories. Nothing is written.
pub fn survey(chats: &[PathBuf], depth: ReadingDepth) -> ProjectSurvey {
    let mut survey = ProjectSurvey::default();
    for chats in chats {
        survey.look_at_chats(chats, depth);
    }
    survey
}

/// Moves files without content that endanger a session into the vault.
pub fn disarm(
    vault: &Vault,
    chats: &Path,
    reason: &str,
    now: SystemTime,
) -> Result<Vec<GuardAction>, VaultError> {
    let project = guard::project_of(chats);
    let (added, flaws) = guard::take_in_directory(vault, chats, project, reason, now)?;
    let files = guard::seen_files(&added, project, chats);
    Ok(sweep::move_stubs(vault, &files, &flaws, now))
}

impl ProjectSurvey {
    fn look_at_chats(&mut self, chats: &Path, depth: ReadingDepth) {
        let (files, flaws) = session_files(chats);
        self.flaws.extend(flaws);
        let mut seen = Vec::new();
        let mut plans = Vec::new();
        for path in files {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    let kind = FlawKind::Unreadable(error.to_string());
                    self.flaws.push(GatherFlaw { path, kind });
                    continue;
                }
            };
            self.looked += 1;
            let file = SeenFile::without_copy(path, chats, ContentFacts::read(&bytes));
            // A subagent's session cannot be resumed.
            if file.path.parent() == Some(chats) && !file.facts.subagent {
                let plan = RecoveryPlan::new(file.path.clone(), bytes, depth);
                plans.extend(plan.is_needed().then_some(plan));
            }
            seen.push(file);
        }
        plans.retain(|plan| !is_elsewhere(plan, &seen));
        let is_planned = |file: &SeenFile| {
            plans
                .iter()
                .any(|plan: &RecoveryPlan| plan.path == file.path)
        };
        let dangers = sweep::DeletionRisk::from_files(&seen);
        let dangers = dangers.risky_stubs(&seen);
        let dangers = dangers
            .filter(|file| !is_planned(file))
            .map(|file| EndangeredSession {
                path: file.path.clone(),
                session_id: file.facts.session_id.clone(),
            });
        self.dangers.extend(dangers);
        self.plans.extend(plans);
    }
}

/// True if another file of the session shows all that this one hides.
fn is_elsewhere(plan: &RecoveryPlan, files: &[SeenFile]) -> bool {
    let text = lossy_utf8(&plan.source);
    let ours = LogReplay::from_bytes(&text, plan.depth);
    let of_session = |file: &&SeenFile| {
        file.path != plan.path
            && file.is_listed()
            && file.facts.session_id.as_ref() == Some(&plan.session_id)
    };
    files.iter().filter(of_session).any(|file| {
        let Ok(bytes) = fs::read(&file.path) else {
            return false;
        };
        let text = lossy_utf8(&bytes);
        let theirs = LogReplay::from_bytes(&text, plan.depth);
        let mut keys = ours.kept.iter().map(|message| message.key);
        keys.all(|key| theirs.shown.get(key).is_some())
    })
}
