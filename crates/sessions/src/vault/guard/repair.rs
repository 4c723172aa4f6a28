//! Putting back messages and files that a run has lost.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::hidden::HiddenMessages;
use super::lost::{self, LostFile};
use super::merge::{StateMerge, replace_content};
use super::sweep::DeletionRisk;
use super::{
    ChatDir, Guard, GuardAction, RepairKind, RetentionSettings, SeenFile, SessionRepair,
    failure_action, listed_file, refuse_links, seen_files, set_aside, settle_directory,
    take_in_directory,
};
use crate::names;
use crate::vault::error::ErrorContext as _;
use crate::vault::held::{self, HeldFile, HeldFiles};
use crate::vault::rebuild::{self, RebuiltHeader};
use crate::vault::replay::{LogReplay, ReadingDepth, lossy_utf8};
use crate::vault::restore::{self, RestoreMethod};
use crate::vault::{ContentFacts, RemovedItem, VaultError, blobs, stat};

/// How often a file is merged that changes meanwhile.
const TRIES: usize = 5;

/// Looks at one directory and repairs it.
pub(super) fn repair_directory(
    guard: &Guard,
    place: &ChatDir,
    now: SystemTime,
    repair: &mut SessionRepair,
) -> Result<(), VaultError> {
    let (vault, chats) = (&guard.vault, &place.chats);
    refuse_links(chats)?;
    let mut job = RepairJob {
        guard,
        place,
        now,
        after: Vec::new(),
        lost: Vec::new(),
        actions: Vec::new(),
    };
    job.link_back();
    let (added, _) = take_in_directory(vault, chats, &place.project, "after a run", now)?;
    job.after = seen_files(&added, &place.project, &place.chats);
    job.lost = lost::lost_files(chats, &place.before, &job.after);
    job.repair_sessions();
    job.repair_subagents();
    job.other_files();
    job.merge_twins();
    // The files as they are after the repair decide which stubs endanger a session.
    repair.actions.append(&mut job.actions);
    let mut swept = Vec::new();
    let settled = settle_directory(vault, chats, "after a run", now, &mut swept);
    // A warning from before the run is not repeated.
    let is_new = |it: &GuardAction| it.did != RepairKind::Warned || !guard.actions.contains(it);
    repair.actions.extend(swept.into_iter().filter(is_new));
    repair.flaws.extend(settled?.flaws);
    Ok(())
}

/// Releases held files once the present files have all of their messages. To be called while no run is under way.
pub(super) fn release_held_files(guard: &Guard, place: &ChatDir) -> Vec<GuardAction> {
    let mut actions = Vec::new();
    let held = HeldFiles::open(&place.chats);
    for file in held.held_files() {
        if !file.is_gone || is_settled(guard, &file) {
            file.remove_link();
        } else {
            let name = file.path.file_name().unwrap_or_default().display();
            actions.push(GuardAction {
                did: RepairKind::Warned,
                session_id: None,
                sentence: format!(
                    "`{name}` was deleted or replaced during a run, and not all of it could be put back yet: it is held as `{}`.",
                    file.link.display()
                ),
                path: file.path,
            });
        }
    }
    held.remove_if_empty();
    actions
}

/// True if a deleted file need not come back, or all of it is there.
fn is_settled(guard: &Guard, file: &HeldFile) -> bool {
    let Ok(bytes) = file.read() else {
        return false;
    };
    !held::has_content(&bytes)
        || held::is_buried(&guard.vault, file, &bytes, guard.request.now)
        || lost::is_in_place(file, &bytes)
}

struct RepairJob<'a> {
    guard: &'a Guard,
    place: &'a ChatDir,
    now: SystemTime,
    after: Vec<SeenFile>,
    /// The files that were deleted or replaced during the run, in the order in which they were written.
    lost: Vec<LostFile>,
    actions: Vec<GuardAction>,
}

impl RepairJob<'_> {
    /// Gives files that were deleted, and whose names are free, their names again.
    fn link_back(&mut self) {
        for file in HeldFiles::open(&self.place.chats).held_files() {
            if !file.is_gone || file.path.symlink_metadata().is_ok() {
                continue;
            }
            let (vault, since) = (&self.guard.vault, self.guard.request.now);
            let bytes = file.read().unwrap_or_default();
            let seen = SeenFile::without_copy(
                file.path.clone(),
                &self.place.chats,
                ContentFacts::read(&bytes),
            );
            let id = seen.facts.session_id.as_deref();
            let is_expired = id.is_some_and(|id| self.is_expired(&seen, id));
            if is_expired {
                file.remove_link();
            } else if held::is_missed(vault, &file, &bytes, since) {
                match file.link_back().at("write", &file.path) {
                    Ok(true) => self.add_action(
                        RepairKind::PutBack,
                        &seen,
                        file.path,
                        "was gone and is back",
                    ),
                    Ok(false) => {}
                    Err(error) => self.note_result(&seen, Err(error)),
                }
            }
        }
    }

    /// Each session that was listed before, or of which a file was deleted or replaced.
    fn repair_sessions(&mut self) {
        let listed = self.place.before.iter().filter(|file| file.is_listed());
        let listed = listed.filter_map(|file| file.facts.session_id.clone());
        let lost = self.lost.iter().filter_map(|it| it.session_id.clone());
        let ids: BTreeSet<String> = listed.chain(lost).collect();
        for id in ids {
            let old = listed_file(&self.place.before, &id);
            let new = listed_file(&self.after, &id).or_else(|| self.cut_down_file(old, &id));
            let new = new.cloned();
            let is_lost = self.lost.iter().any(|it| it.is_of(&id));
            let (file, done) = match (old, new) {
                (Some(old), Some(new)) if !is_lost && is_unchanged(old, &new) => continue,
                (old, Some(new)) => {
                    let done = self.merge_messages(old, &new, &id);
                    (new, done)
                }
                (Some(old), None) => (old.clone(), self.repair_gone(old, &id)),
                // It was removed on purpose, or its name could not be given back, which was said.
                (None, None) => continue,
            };
            self.note_result(&file, done);
        }
    }

    /// A file that is still in its place but shows nothing is the session, cut down.
    fn cut_down_file(&self, old: Option<&SeenFile>, id: &str) -> Option<&SeenFile> {
        let lost = self.lost.iter().filter(|it| it.is_of(id));
        let paths = old.map(|it| &it.path).into_iter();
        let paths: Vec<_> = paths.chain(lost.map(|it| &it.path)).collect();
        let is_left = |file: &&SeenFile| {
            paths.contains(&&file.path) && (file.is_of(id) || file.facts.session_id.is_none())
        };
        self.after.iter().find(is_left)
    }

    /// A subagent's file that was deleted and then appended to gets its beginning back.
    fn repair_subagents(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        let (main, below): (Vec<_>, Vec<_>) = lost.into_iter().partition(|it| it.is_main);
        self.lost = main;
        for lost in below {
            let Some(new) = self.after.iter().find(|it| it.path == lost.path).cloned() else {
                continue;
            };
            let done = fs::read(&new.path).at("read", &new.path).and_then(|late| {
                let ours = LogReplay::from_bytes(&lost.bytes, ReadingDepth::Hidden);
                let text = lossy_utf8(&late);
                if held::has_all(
                    &LogReplay::from_bytes(&text, ReadingDepth::Everything),
                    &ours,
                ) {
                    return Ok(false);
                }
                replace_content(
                    &new.path,
                    &late,
                    &set_aside::joined_lines(&lost.bytes, &late),
                )
            });
            match done {
                Ok(true) => {
                    let why = "had lost its beginning, which is back";
                    self.add_action(RepairKind::BroughtOut, &new, new.path.clone(), why);
                }
                Ok(false) => {}
                Err(error) => self.note_result(&new, Err(error)),
            }
        }
    }

    /// One session that cannot be repaired does not keep the others from it.
    fn note_result(&mut self, file: &SeenFile, done: Result<(), VaultError>) {
        if let Err(error) = done {
            let id = file.facts.session_id.as_deref();
            self.actions.push(failure_action(id, &file.path, &error));
        }
    }

    fn repair_gone(&mut self, old: &SeenFile, id: &str) -> Result<(), VaultError> {
        if self.is_expired(old, id) {
            let why = "is gone because of your settings for how long sessions are kept; it is still in the vault";
            self.add_action(RepairKind::LeftToRetention, old, old.path.clone(), why);
            return Ok(());
        }
        self.put_back(&self.newest_content(old, id)?)
    }

    /// The newest content of a session that was listed before. The guard of another run may have kept a newer one than this guard saw,
    /// most of all if this one belongs to a run that was killed and is finished much later.
    fn newest_content(&self, old: &SeenFile, id: &str) -> Result<SeenFile, VaultError> {
        let vault = &self.guard.vault;
        let kept = vault.sessions_of(&self.place.chats).remove(id);
        let Some(entry) = kept.filter(|kept| kept.sha256 != old.entry.sha256) else {
            return Ok(old.clone());
        };
        let (before, bytes) = (vault.read(&old.entry)?, vault.read(&entry)?);
        let (ours, theirs) = (lossy_utf8(&before), lossy_utf8(&bytes));
        let theirs = LogReplay::from_bytes(&theirs, ReadingDepth::Everything);
        if !held::has_all(&theirs, &LogReplay::from_bytes(&ours, ReadingDepth::Hidden)) {
            return Ok(old.clone());
        }
        Ok(SeenFile {
            facts: ContentFacts::read(&bytes),
            path: self.place.project.join(&entry.path),
            entry,
            ..old.clone()
        })
    }

    fn put_back(&mut self, old: &SeenFile) -> Result<(), VaultError> {
        if self.is_buried(old) {
            let why = "was removed during the run and stays so; it is still in the vault";
            self.add_action(RepairKind::LeftRemoved, old, old.path.clone(), why);
            return Ok(());
        }
        let bytes = self.guard.vault.read(&old.entry)?;
        let mut entry = old.entry.clone();
        let place = old.path.strip_prefix(&self.place.project);
        entry.path = place.unwrap_or(&old.path).to_string_lossy().into_owned();
        let (path, how) = restore::put_content(&entry, &bytes, &self.place.project, self.now)?;
        if let (Some(permissions), true) = (&old.permissions, how != RestoreMethod::AlreadyThere) {
            let _ = fs::set_permissions(&path, permissions.clone());
        }
        match how {
            RestoreMethod::AlreadyThere => {}
            RestoreMethod::Written => {
                self.add_action(RepairKind::PutBack, old, path, "was gone and is back");
            }
            RestoreMethod::Beside => {
                let name = path.file_name().unwrap_or_default().display().to_string();
                let why = format!("was gone and is back as `{name}`, since its name was taken");
                self.add_action(RepairKind::PutBack, old, path, &why);
            }
        }
        Ok(())
    }

    /// True if the user removed it on purpose meanwhile.
    fn is_buried(&self, file: &SeenFile) -> bool {
        let (vault, since) = (&self.guard.vault, self.guard.request.now);
        let id = file.facts.session_id.as_deref();
        id.is_some_and(|id| vault.is_buried(RemovedItem::Session(id), since))
            || vault.is_buried(RemovedItem::File(&file.path), since)
    }

    /// Writes the old messages together with the newer ones, if any are missing.
    fn merge_messages(
        &mut self,
        old: Option<&SeenFile>,
        new: &SeenFile,
        id: &str,
    ) -> Result<(), VaultError> {
        let before = old.map(|old| self.guard.vault.read(&old.entry));
        let before = before.transpose()?;
        let before = before.as_deref().map(lossy_utf8);
        let lost = self.lost.iter().filter(|it| it.is_of(id));
        let lost: Vec<Vec<u8>> = lost.map(|it| it.bytes.clone()).collect();
        for _ in 0..TRIES {
            let after = fs::read(&new.path).at("read", &new.path)?;
            if blobs::sha256_hex(&after) != new.entry.sha256 {
                // The file has changed meanwhile: its present content must be in the vault before it is replaced.
                let (chats, project) = (&self.place.chats, &self.place.project);
                take_in_directory(&self.guard.vault, chats, project, "after a run", self.now)?;
            }
            let text = lossy_utf8(&after);
            let merge = StateMerge::new(before.as_deref(), &lost, &text);
            if new.is_listed() && !merge.is_needed() {
                return Ok(());
            }
            if let Some(path) = self.write_merged(&merge.replay, new, id, &after)? {
                self.add_action(RepairKind::Merged, new, path, &put_back(&merge));
                return Ok(());
            }
        }
        let why = "is being written to and was left alone; what it was before is in the vault";
        self.add_action(RepairKind::Warned, new, new.path.clone(), why);
        Ok(())
    }

    /// A document of the older format is never written into: the CLI, too, goes on in a log beside it.
    fn write_merged(
        &self,
        replay: &LogReplay<'_>,
        new: &SeenFile,
        id: &str,
        read: &[u8],
    ) -> Result<Option<PathBuf>, VaultError> {
        let is_log = new.path.extension().is_some_and(|it| it == "jsonl");
        let header = RebuiltHeader {
            session_id: id.to_owned(),
            project_hash: rebuild::project_hash(&self.place.chats),
            // Of two files of a session the CLI takes the one that was last updated.
            last_updated: (!is_log).then(|| stat::as_cli(self.now)),
        };
        let bytes = rebuild::rebuilt_log(replay, &header);
        if is_log {
            let done = replace_content(&new.path, read, &bytes)?;
            return Ok(done.then(|| new.path.clone()));
        }
        let like = format!("{}l", new.file_name());
        let path = names::free_path(&self.place.chats, &like, Some(id), self.now);
        let done = restore::write_new(&path, &bytes, None)?;
        Ok(done.then_some(path))
    }

    /// Repairs second files of a session, files of subagents, and files that were never listed.
    fn other_files(&mut self) {
        let place = self.place;
        for file in &place.before {
            let there = self.after.iter().find(|it| it.path == file.path);
            let done = match there.cloned() {
                // It came to life during the run, and may have been cut before.
                Some(new) if file.is_main && !file.facts.listed && new.is_listed() => {
                    let id = new.facts.session_id.clone().unwrap_or_default();
                    self.merge_messages(Some(file), &new, &id)
                }
                Some(new) => self.put_back_beginning(file, &new),
                None => self.other_gone(file),
            };
            self.note_result(file, done);
        }
    }

    /// Adds the messages of new second files of a session to the file that the CLI lists.
    fn merge_twins(&mut self) {
        let is_new = |file: &SeenFile| !self.place.before.iter().any(|it| it.path == file.path);
        let listed = self.after.iter().filter(|file| file.is_listed());
        let new: Vec<_> = listed.filter(|file| is_new(file)).cloned().collect();
        for file in new {
            let done = self.merge_twin(&file);
            self.note_result(&file, done);
        }
    }

    fn merge_twin(&mut self, file: &SeenFile) -> Result<(), VaultError> {
        let id = file.facts.session_id.clone().unwrap_or_default();
        let Some(shown) = listed_file(&self.after, &id).filter(|it| it.path != file.path) else {
            return Ok(());
        };
        let (vault, target) = (&self.guard.vault, shown.clone());
        let bytes = vault.read(&file.entry)?;
        let text = lossy_utf8(&bytes);
        let replay = LogReplay::from_bytes(&text, ReadingDepth::Hidden);
        let there = fs::read(&target.path).at("read", &target.path)?;
        let there = lossy_utf8(&there);
        let there = LogReplay::from_bytes(&there, ReadingDepth::Everything);
        let is_there = |key| there.shown.get(key).is_some() || there.kept.get(key).is_some();
        if replay.kept.iter().all(|message| is_there(message.key)) {
            return Ok(());
        }
        let hidden = HiddenMessages {
            vault,
            files: &self.after,
            now: self.now,
        };
        hidden.join_messages(&replay, true, &target)?;
        let why = format!(
            "has messages of `{}`, which are in there now, too",
            target.file_name()
        );
        self.add_action(RepairKind::Merged, file, target.path, &why);
        Ok(())
    }

    fn other_gone(&mut self, file: &SeenFile) -> Result<(), VaultError> {
        if !file.is_main {
            return self.repair_subagent(file);
        }
        if !file.facts.listed {
            return self.repair_unlisted(file);
        }
        let Some(id) = file.facts.session_id.as_deref() else {
            return Ok(());
        };
        let is_second = listed_file(&self.place.before, id).is_some_and(|it| it.path != file.path);
        if is_second && !self.is_expired(file, id) && !self.check_contained(file, id)? {
            self.put_back(file)?;
        }
        Ok(())
    }

    /// Each start of the CLI over ACP leaves a file without content, which the next start removes: such files are not put back. A
    /// CLI that is open and got no prompt yet has one, too. A later message there gets its beginning from the vault.
    fn repair_unlisted(&mut self, file: &SeenFile) -> Result<(), VaultError> {
        let is_alone = !self.deletion_risk().is_from(file);
        if is_alone && HiddenMessages::find_content(&self.guard.vault, file)? {
            return self.put_back(file);
        }
        Ok(())
    }

    fn deletion_risk(&self) -> DeletionRisk {
        DeletionRisk::from_files(self.place.before.iter().chain(&self.after))
    }

    /// Such a file that was deleted, and then appended to, gets its beginning back.
    fn put_back_beginning(&mut self, old: &SeenFile, new: &SeenFile) -> Result<(), VaultError> {
        let had_id = old.is_main && !old.facts.listed && old.facts.session_id.is_some();
        if !had_id || new.facts.session_id.is_some() || self.deletion_risk().is_from(old) {
            return Ok(());
        }
        let before = self.guard.vault.read(&old.entry)?;
        for _ in 0..TRIES {
            let late = fs::read(&new.path).at("read", &new.path)?;
            let whole = set_aside::joined_lines(&before, &readable_lines(&late));
            if replace_content(&new.path, &late, &whole)? {
                let why = "had lost its beginning, which is back";
                self.add_action(RepairKind::BroughtOut, old, new.path.clone(), why);
                return Ok(());
            }
        }
        Ok(())
    }

    /// A subagent's file belongs to the session that its directory is named after.
    fn repair_subagent(&mut self, file: &SeenFile) -> Result<(), VaultError> {
        let folder = file.path.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().to_string_lossy().into_owned();
        let parent = self.place.before.iter().find(|it| {
            let id = it.facts.session_id.as_deref().unwrap_or_default();
            it.is_listed() && names::sanitised_id(id) == folder
        });
        let expired = parent.is_some_and(|parent| {
            let id = parent.facts.session_id.as_deref().unwrap_or_default();
            self.is_expired(parent, id)
        });
        if parent.is_none() || expired {
            return Ok(());
        }
        self.put_back(file)
    }

    /// True if all messages of a file are in the one that is listed now.
    fn check_contained(&self, file: &SeenFile, id: &str) -> Result<bool, VaultError> {
        let Some(listed) = listed_file(&self.after, id) else {
            return Ok(false);
        };
        let ours = self.guard.vault.read(&file.entry)?;
        let theirs = fs::read(&listed.path).at("read", &listed.path)?;
        let (ours, theirs) = (lossy_utf8(&ours), lossy_utf8(&theirs));
        let theirs = LogReplay::from_bytes(&theirs, ReadingDepth::Hidden);
        let ours = LogReplay::from_bytes(&ours, ReadingDepth::Hidden);
        let mut keys = ours.shown.iter().map(|message| message.key);
        Ok(keys.all(|key| theirs.shown.get(key).is_some()))
    }

    /// True if the user's settings have the CLI delete it, going by full ids.
    fn is_expired(&self, file: &SeenFile, id: &str) -> bool {
        let request = &self.guard.request;
        let Some(RetentionSettings { max_age, max_count }) = request.retention else {
            return false;
        };
        let Some(updated) = file.updated_time() else {
            return false;
        };
        let is_resumed = |it: &str| request.resume.as_deref() == Some(it);
        if is_resumed(id) {
            return false;
        }
        let limit = max_age.and_then(|age| self.now.checked_sub(age));
        if limit.is_some_and(|limit| updated < limit) {
            return true;
        }
        let before = self.place.before.iter().filter(|it| it.is_listed());
        let ids: BTreeSet<&str> = before
            .filter_map(|it| it.facts.session_id.as_deref())
            .filter(|it| !is_resumed(it))
            .collect();
        let newer = ids.iter().filter(|it| {
            let other = listed_file(&self.place.before, it).and_then(SeenFile::updated_time);
            other.is_some_and(|other| other > updated)
        });
        let room = max_count.map(|count| count - usize::from(request.resume.is_some()).min(count));
        room.is_some_and(|room| newer.count() >= room)
    }

    fn add_action(&mut self, did: RepairKind, file: &SeenFile, path: PathBuf, why: &str) {
        self.actions.push(GuardAction {
            did,
            session_id: file.facts.session_id.clone(),
            sentence: format!("`{}` {why}.", file.file_name()),
            path,
        });
    }
}

/// The sentence about a merge.
fn put_back(merge: &StateMerge<'_>) -> String {
    let messages = |count: usize| match count {
        1 => "1 message".to_owned(),
        _ => format!("{count} messages"),
    };
    match (merge.missing, merge.poorer) {
        (0, 0) => "could not be listed any more, and can".to_owned(),
        (0, poorer) => format!("had lost fields of {}, which are back", messages(poorer)),
        (missing, _) => {
            let are = if missing == 1 { "is" } else { "are" };
            let messages = messages(missing);
            format!("had lost {messages}, which {are} back together with what is newer")
        }
    }
}

fn is_unchanged(old: &SeenFile, new: &SeenFile) -> bool {
    new.is_listed() && new.entry.sha256 == old.entry.sha256
}

/// The appended bytes; where they continue half a line, their messages, each on a line of its own.
fn readable_lines(late: &[u8]) -> Cow<'_, [u8]> {
    let text = lossy_utf8(late);
    let replay = LogReplay::from_bytes(&text, ReadingDepth::Hidden);
    if replay.kept.len() == replay.shown.len() {
        return Cow::Borrowed(late);
    }
    let messages = replay.kept.iter().map(rebuild::message_line);
    let unknown = replay.unknown.iter().map(ToString::to_string);
    let lines = messages.chain(unknown).map(|line| line + "\n");
    Cow::Owned(lines.collect::<String>().into_bytes())
}
