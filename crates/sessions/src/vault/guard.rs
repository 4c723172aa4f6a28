//! Watching over a project's sessions while an agent runs.
//!
//! Gemini CLI 0.61 does the following to them, as observed:
//!
//! * Resumed in a later minute (headless, or `session/load` over ACP), the session's file gets the new turns. Beside it a stub
//!   appears, of the same id and holding only the context. The next start, `--list-sessions` included, finds the stub without
//!   content and deletes every file with its eight characters, the conversation first.
//! * Resumed in the minute in which it was made, the stub *is* the session's file: a header and a checkpoint of the context alone
//!   are appended, which hide the conversation. Headless, the CLI has read it by then and appends it again, without the tokens, thoughts and
//!   tool calls. Over ACP it has not: the load fails with `No previous sessions found for this project.`, and the next start
//!   deletes the file, which has no content now.
//!
//! So before a run a session that is to be resumed gets a name of an earlier minute, and stubs that endanger others go into the
//! vault; while it lasts, files that are written to are held ([`SessionHolding`]); after it, missing sessions are put back. A session
//! that the user deletes meanwhile (`--delete-session`) looks exactly like a session that the CLI lost, so it is put back too: deleting
//! twice costs less than losing once.

mod hidden;
pub(super) mod lock;
mod lost;
mod merge;
mod repair;
mod resumed;
mod set_aside;
mod settings;
mod summary;
pub(super) mod sweep;

pub use settings::RetentionSettings;
pub use summary::summary;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::error::ErrorContext as _;
use super::held::{HeldFiles, SessionHolding};
use super::open::OpenGuard;
use super::runs::RunLock;
use super::{
    AddRequest, AddedFiles, ContentFacts, GatherFlaw, SnapshotEntry, Vault, VaultError,
    session_files, stat,
};
use crate::names;

/// The sessions to watch over.
#[derive(Debug, Clone)]
pub struct GuardRequest {
    /// The directories that hold the project's sessions.
    pub chats: Vec<PathBuf>,
    /// The time.
    pub now: SystemTime,
    /// The full id of the session that will be resumed or loaded.
    pub resume: Option<String>,
    /// The retention by which the CLI deletes sessions, if it is enabled.
    pub retention: Option<RetentionSettings>,
}

/// A change that the guard made to the files, or a failure to make one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardAction {
    /// The kind of change.
    pub did: RepairKind,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// The action, in one sentence.
    pub sentence: String,
}

/// The kind of a [`GuardAction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepairKind {
    /// A session's file was renamed before it is resumed.
    MovedEarlier,
    /// A file was gone and is back.
    PutBack,
    /// Messages were missing and are back, together with newer ones.
    Merged,
    /// Messages that the CLI did not list are in a session that it lists.
    BroughtOut,
    /// A file without content went into the vault, because the CLI would have deleted others with it.
    SetAside,
    /// A file is gone because of the user's settings.
    LeftToRetention,
    /// A file is gone because the user removed it on purpose.
    LeftRemoved,
    /// A file that endangers a session could not be moved, or a repair failed.
    Warned,
}

/// The repairs after a run.
#[derive(Debug, Clone, Default)]
pub struct SessionRepair {
    /// The repairs, in order.
    pub actions: Vec<GuardAction>,
    /// Files that could not be read.
    pub flaws: Vec<GatherFlaw>,
}

/// Sessions as they were before a run.
#[derive(Debug)]
pub struct Guard {
    vault: Vault,
    request: GuardRequest,
    places: Vec<ChatDir>,
    /// The changes before the run.
    pub actions: Vec<GuardAction>,
    /// Files that could not be copied.
    pub flaws: Vec<GatherFlaw>,
    /// The record from which another process finishes this guard if this one is killed.
    open: Option<OpenGuard>,
}

/// One directory of sessions.
#[derive(Debug)]
struct ChatDir {
    chats: PathBuf,
    project: PathBuf,
    /// The snapshot of the files before the run.
    snapshot: String,
    before: Vec<SeenFile>,
    /// Locked as long as the run lasts.
    run: RunLock,
}

/// A file at one of the two times.
#[derive(Debug, Clone)]
pub(super) struct SeenFile {
    pub(super) entry: SnapshotEntry,
    pub(super) facts: ContentFacts,
    pub(super) path: PathBuf,
    /// Not a subagent's, by its place.
    is_main: bool,
    /// The permissions of the file.
    permissions: Option<fs::Permissions>,
}

impl SeenFile {
    /// A file as it is, of which the vault knows nothing.
    pub(super) fn without_copy(path: PathBuf, chats: &Path, facts: ContentFacts) -> Self {
        let entry = SnapshotEntry {
            path: path.to_string_lossy().into_owned(),
            size: 0,
            mtime: String::new(),
            sha256: String::new(),
            session_id: facts.session_id.clone(),
            listed: facts.listed,
            changing: false,
            within: None,
        };
        let is_main = path.parent() == Some(chats);
        Self {
            entry,
            facts,
            path,
            is_main,
            permissions: None,
        }
    }

    pub(super) fn is_listed(&self) -> bool {
        self.is_main && self.facts.listed
    }

    fn is_of(&self, id: &str) -> bool {
        self.facts.session_id.as_deref() == Some(id)
    }

    fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn updated_time(&self) -> Option<SystemTime> {
        stat::parse(self.facts.last_updated.as_deref()?)
    }
}

impl Guard {
    /// Takes a snapshot of all sessions, and moves files that endanger others out of the way. If that fails, the agent should not
    /// be started.
    pub fn before(vault: &Vault, request: GuardRequest) -> Result<Self, VaultError> {
        Self::begin_or_tidy(vault, request, false)
    }

    /// The same where any session may be loaded at any time.
    pub fn before_any(vault: &Vault, request: GuardRequest) -> Result<Self, VaultError> {
        Self::begin_or_tidy(vault, request, true)
    }

    /// Puts back sessions that killed runs have lost, so that the user can choose among them before the next run begins. `chats`
    /// are the directories of the project.
    pub fn finish_killed(vault: &Vault, chats: &[PathBuf], now: SystemTime) -> Vec<GuardAction> {
        let mut actions = resumed::finish_abandoned(vault, now);
        actions.extend(resumed::finish_held(vault, chats, now));
        actions
    }

    /// The holdings that keep the session files of each directory alive while the run lasts.
    pub fn holdings(&self) -> Vec<SessionHolding> {
        let places = self.places.iter();
        places.map(|place| self.session_holding(place)).collect()
    }

    fn session_holding(&self, place: &ChatDir) -> SessionHolding {
        SessionHolding {
            held: HeldFiles::open(&place.chats),
            vault: self.vault.clone(),
            since: self.request.now,
            retention: self.request.retention,
            run: place.run.clone(),
        }
    }

    /// True if there was no session before the run, and none came of it.
    fn is_idle(&self) -> bool {
        let mut places = self.places.iter();
        self.open.is_none()
            && places.all(|place| {
                place.before.is_empty()
                    && !has_entries(&place.chats)
                    && HeldFiles::open(&place.chats).held_files().is_empty()
            })
    }

    fn tidy_held_files(&self) {
        for held in self
            .places
            .iter()
            .map(|place| HeldFiles::open(&place.chats))
        {
            if let Some(_owned) = held.lock_for_release() {
                held.remove_if_empty();
            }
        }
    }

    fn begin_or_tidy(vault: &Vault, request: GuardRequest, any: bool) -> Result<Self, VaultError> {
        let chats = request.chats.clone();
        Self::begin_in(vault, request, any).inspect_err(|_| {
            // A run that is refused leaves nothing in the project.
            for held in chats.iter().map(|chats| HeldFiles::open(chats)) {
                if let Some(_owned) = held.lock_for_release() {
                    held.remove_if_empty();
                }
            }
        })
    }

    fn begin_in(vault: &Vault, request: GuardRequest, any: bool) -> Result<Self, VaultError> {
        let mut guard = Self {
            vault: vault.clone(),
            places: Vec::new(),
            actions: Self::finish_killed(vault, &request.chats, request.now),
            flaws: Vec::new(),
            open: None,
            request,
        };
        // Where there is nothing to keep no vault is made.
        let has_any = guard.request.chats.iter().any(|chats| has_entries(chats));
        let held = has_any.then(|| lock::lock_repairs(vault)).transpose()?;
        let (_lock, warning) = held.unzip();
        guard.actions.extend(warning.flatten());
        for chats in guard.request.chats.clone() {
            if let Err(error) = refuse_links(&chats) {
                guard.actions.push(failure_action(None, &chats, &error));
                continue;
            }
            let run = RunLock::default();
            run.join_run(&HeldFiles::open(&chats), vault.patience);
            let (project, now) = (project_of(&chats).to_owned(), guard.request.now);
            if let Err(error) = set_aside::finish_set_aside(&chats, now) {
                guard.actions.push(failure_action(None, &chats, &error));
            }
            vault.recheck_contents(&chats, guard.request.resume.as_deref(), now)?;
            let mut swept = Vec::new();
            let settled = settle_directory(vault, &chats, "before a run", now, &mut swept);
            guard.actions.append(&mut swept);
            let SettledFiles {
                files: mut before,
                flaws,
                snapshot,
            } = settled?;
            guard.flaws.extend(flaws);
            guard.move_earlier(&mut before, any)?;
            guard.hold_session(&chats, &before);
            guard.places.push(ChatDir {
                chats,
                project,
                snapshot,
                before,
                run,
            });
        }
        if guard.places.iter().any(|place| !place.before.is_empty()) {
            guard.open = vault.open_guard(&guard.to_record())?;
        }
        Ok(guard)
    }

    /// The session that is resumed is written to for certain.
    fn hold_session(&mut self, chats: &Path, files: &[SeenFile]) {
        let id = self.request.resume.as_deref();
        let is_resumed = |file: &&SeenFile| id.is_some_and(|id| file.is_of(id));
        let resumed = files.iter().filter(is_resumed);
        let resumed: Vec<_> = resumed.map(|file| file.path.clone()).collect();
        if let Err(error) = HeldFiles::open(chats).hold_recent(&resumed, self.request.now) {
            self.actions.push(not_held(chats, &error));
        }
    }

    /// A file whose name the CLI would choose again is the one that it would destroy.
    fn move_earlier(&mut self, files: &mut [SeenFile], any: bool) -> Result<(), VaultError> {
        let (id, now) = (self.request.resume.clone(), self.request.now);
        let is_loaded = |it: &SeenFile| any || id.as_deref().is_some_and(|id| it.is_of(id));
        for file in files.iter_mut().filter(|it| it.is_main && is_loaded(it)) {
            let name = file.file_name();
            if !names::may_be_taken(&name, now) {
                continue;
            }
            let folder = file.path.parent().unwrap_or(Path::new("."));
            let free = names::free_path(folder, &name, None, now);
            rename_new(&file.path, &free)?;
            HeldFiles::open(folder).follow_rename(&file.path, &free);
            let sentence = format!(
                "`{name}` is now `{}`: the CLI destroys a session that it loads in the minute it was made.",
                free.file_name().unwrap_or_default().display()
            );
            self.actions.push(GuardAction {
                did: RepairKind::MovedEarlier,
                session_id: file.facts.session_id.clone(),
                path: free.clone(),
                sentence,
            });
            file.path = free;
        }
        Ok(())
    }

    /// Puts back missing sessions, and reports the repairs. The present files are in the vault before any of them is changed.
    pub fn after(mut self, now: SystemTime) -> Result<SessionRepair, VaultError> {
        for place in &self.places {
            place.run.leave_run();
        }
        if self.is_idle() {
            self.tidy_held_files();
            return Ok(SessionRepair::default());
        }
        let (_lock, warning) = lock::lock_repairs(&self.vault)?;
        let mut repair = SessionRepair::default();
        repair.actions.extend(warning);
        let mut errors = Vec::new();
        for place in &self.places {
            // One that cannot be repaired does not keep the others from it.
            if let Err(error) = repair::repair_directory(&self, place, now, &mut repair) {
                repair
                    .actions
                    .push(failure_action(None, &place.chats, &error));
                errors.push(error);
                continue;
            }
            // Other runs may still need held files: the last run releases them.
            if let Some(_only) = HeldFiles::open(&place.chats).lock_for_release() {
                repair
                    .actions
                    .extend(repair::release_held_files(&self, place));
            }
        }
        // Only now: a process that fails or is killed before leaves the rest to the next one.
        if errors.is_empty()
            && let Some(open) = self.open.take()
        {
            open.close();
        }
        match errors.pop() {
            Some(error) if errors.len() + 1 == self.places.len() => Err(error),
            _ => Ok(repair),
        }
    }
}

fn not_held(chats: &Path, error: &std::io::Error) -> GuardAction {
    GuardAction {
        did: RepairKind::Warned,
        session_id: None,
        path: chats.to_owned(),
        sentence: format!(
            "`{}` has no hard links ({error}): what is appended to a session during a run is lost if another start of the CLI deletes its file.",
            chats.display()
        ),
    }
}

/// Refuses sessions that a link leads to.
fn refuse_links(chats: &Path) -> Result<(), VaultError> {
    match HeldFiles::open(chats).link_on_the_way() {
        Some(link) => Err(VaultError::Link {
            path: link.to_owned(),
        }),
        None => Ok(()),
    }
}

/// A failure, as one of the actions.
fn failure_action(session: Option<&str>, path: &Path, error: &VaultError) -> GuardAction {
    let name = path.file_name().unwrap_or_default().display();
    GuardAction {
        did: RepairKind::Warned,
        session_id: session.map(String::from),
        path: path.to_owned(),
        sentence: format!("`{name}` could not be looked after: {}.", with_cause(error)),
    }
}

/// An error in one line, with the system's error.
fn with_cause(error: &VaultError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// False for a session directory that is empty, or not there yet.
fn has_entries(chats: &Path) -> bool {
    fs::read_dir(chats).is_ok_and(|mut entries| entries.next().is_some())
}

/// The directory that `chats` lies in; older versions have none.
pub(crate) fn project_of(chats: &Path) -> &Path {
    match chats.parent() {
        Some(parent) if chats.ends_with("chats") => parent,
        _ => chats,
    }
}

/// Takes in all session files of a directory.
pub(super) fn take_in_directory(
    vault: &Vault,
    chats: &Path,
    project: &Path,
    reason: &str,
    now: SystemTime,
) -> Result<(AddedFiles, Vec<GatherFlaw>), VaultError> {
    let (files, mut flaws) = session_files(chats);
    let request = AddRequest {
        project,
        files: &files,
        reason,
        now,
    };
    let added = vault.add(&request)?;
    flaws.extend(added.flaws.iter().cloned());
    Ok((added, flaws))
}

/// How often a directory is looked at until nothing is to be done there.
const LOOKS: usize = 8;

/// The files of a directory once no more stubs have to be moved.
struct SettledFiles {
    files: Vec<SeenFile>,
    flaws: Vec<GatherFlaw>,
    /// The snapshot that has them.
    snapshot: String,
}

/// Adds a directory to the vault and moves its stubs, until no file endangers another, at most `LOOKS` times.
fn settle_directory(
    vault: &Vault,
    chats: &Path,
    reason: &str,
    now: SystemTime,
    actions: &mut Vec<GuardAction>,
) -> Result<SettledFiles, VaultError> {
    let project = project_of(chats);
    for _ in 0..LOOKS {
        let (added, flaws) = take_in_directory(vault, chats, project, reason, now)?;
        let files = seen_files(&added, project, chats);
        let swept = sweep::move_stubs(vault, &files, &flaws, now);
        let is_settled = swept.iter().all(|it| it.did == RepairKind::Warned);
        let is_new = |it: &GuardAction| !actions.contains(it);
        let new: Vec<_> = swept.into_iter().filter(is_new).collect();
        actions.extend(new);
        if is_settled {
            let snapshot = added.snapshot.id;
            return Ok(SettledFiles {
                files,
                flaws,
                snapshot,
            });
        }
    }
    let (added, flaws) = take_in_directory(vault, chats, project, reason, now)?;
    Ok(SettledFiles {
        files: seen_files(&added, project, chats),
        flaws,
        snapshot: added.snapshot.id,
    })
}

pub(super) fn seen_files(added: &AddedFiles, project: &Path, chats: &Path) -> Vec<SeenFile> {
    let files = added.snapshot.files.iter();
    let seen = files.map(|entry| {
        let path = project.join(&entry.path);
        SeenFile {
            facts: added.facts.get(&entry.path).cloned().unwrap_or_default(),
            is_main: path.parent() == Some(chats),
            permissions: fs::metadata(&path).ok().map(|about| about.permissions()),
            path,
            entry: entry.clone(),
        }
    });
    seen.collect()
}

/// The file that the CLI lists for a session: the last updated, and of two the first by name.
fn listed_file<'a>(files: &'a [SeenFile], id: &str) -> Option<&'a SeenFile> {
    let listed = files.iter().filter(|it| it.is_listed() && it.is_of(id));
    listed.reduce(|best, next| {
        if next.updated_time() > best.updated_time() {
            next
        } else {
            best
        }
    })
}

/// Renames a file to a name that no other file has.
fn rename_new(from: &Path, to: &Path) -> Result<(), VaultError> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // Some file systems do not know how.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()).at("rename", from),
        }
    }
    link_new(from, to)
}

/// The same in two steps, each of which leaves a file that is there alone.
fn link_new(from: &Path, to: &Path) -> Result<(), VaultError> {
    fs::hard_link(from, to).at("rename", from)?;
    fs::remove_file(from).at("rename", from)
}
