//! Files that the CLI does not list although there are messages in them: its next start would delete them.
//!
//! A CLI that is open appends to its file by name. If that was renamed or deleted meanwhile, the next message stands in a file
//! without a header. A checkpoint of the context alone hides a whole conversation. Neither is a file without content.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_json::Token;

use super::merge::replace_content;
use super::{GuardAction, RepairKind, SeenFile, listed_file, project_of, sweep};
use crate::names;
use crate::vault::error::ErrorContext as _;
use crate::vault::rebuild::{self, RebuiltHeader};
use crate::vault::replay::{LogReplay, ReadingDepth, enriched_record, lossy_utf8};
use crate::vault::{SnapshotEntry, Vault, VaultError, blobs, recover, restore, stat};

/// Where hidden messages are brought out.
pub(super) struct HiddenMessages<'a> {
    pub(super) vault: &'a Vault,
    pub(super) files: &'a [SeenFile],
    pub(super) now: SystemTime,
}

impl HiddenMessages<'_> {
    /// True if a file has a message to resume, shown by the CLI or hidden.
    pub(super) fn find_content(vault: &Vault, file: &SeenFile) -> Result<bool, VaultError> {
        let bytes = vault.read(&file.entry)?;
        let replay_of = lossy_utf8(&bytes);
        Ok(!file.facts.subagent
            && LogReplay::from_bytes(&replay_of, ReadingDepth::Hidden)
                .kept
                .has_content())
    }

    /// Puts the messages where the CLI lists them: into the session that they belong to, or behind a header of their own.
    /// None if that was just done to another file of its session: then it is the turn of this one when the other is listed.
    pub(super) fn bring_out(
        &self,
        file: &SeenFile,
        done: &[GuardAction],
    ) -> Result<Option<GuardAction>, VaultError> {
        let raw = fs::read(&file.path).at("read", &file.path)?;
        if blobs::sha256_hex(&raw) != file.entry.sha256 {
            let changed = std::io::Error::other("it is being written to");
            return Err(changed).at("read", &file.path);
        }
        let text = lossy_utf8(&raw);
        let replay = LogReplay::from_bytes(&text, ReadingDepth::Hidden);
        let own = replay.get("sessionId").and_then(Token::string);
        let own = own.filter(|id| !id.is_empty()).map(String::from);
        let known = own.is_none().then(|| self.last_known_entry(file)).flatten();
        let of_name = known.as_ref().and_then(|entry| entry.session_id.clone());
        let has_header = own.is_some();
        let id = own.or(of_name).or_else(|| self.only_namesake(file));
        let id = id.unwrap_or_else(|| recover::new_id(&file.path, &raw));
        if let Some(target) = listed_file(self.files, &id) {
            self.join_messages(&replay, has_header, target)?;
            sweep::remove_stub(self.vault, file)?;
            let why = format!(
                "had messages of `{}`, which are in there now",
                target.file_name()
            );
            return Ok(Some(brought_out_action(
                file,
                id,
                target.path.clone(),
                &why,
            )));
        }
        let is_same = |it: &GuardAction| {
            it.did == RepairKind::BroughtOut && it.session_id.as_ref() == Some(&id)
        };
        if done.iter().any(is_same) {
            return Ok(None);
        }
        let path = self.rebuild_file(file, &id, known.as_ref(), &raw)?;
        let why = "had messages that the CLI does not list and would have deleted; they are back";
        Ok(Some(brought_out_action(file, id, path, why)))
    }

    /// The last content that had this name and named its session.
    fn last_known_entry(&self, file: &SeenFile) -> Option<SnapshotEntry> {
        let project = project_of(file.path.parent()?).to_string_lossy();
        let history = self.vault.log().ok()?;
        let snapshots = history.snapshots.into_iter().rev();
        let mut files = snapshots
            .filter(|snapshot| snapshot.project == project)
            .flat_map(|snapshot| snapshot.files);
        files.find(|it| it.path == file.entry.path && it.session_id.is_some())
    }

    /// The session that shares the eight characters of a file's name, if it is one.
    fn only_namesake(&self, file: &SeenFile) -> Option<String> {
        let name = file.file_name();
        let short = names::short_id(&name)?;
        let listed = self.files.iter().filter(|it| it.is_listed());
        let mut ids: Vec<_> = listed
            .filter(|it| names::short_id(&it.file_name()) == Some(short))
            .filter_map(|it| it.facts.session_id.clone())
            .collect();
        ids.sort();
        ids.dedup();
        (ids.len() == 1).then(|| ids.remove(0))
    }

    /// Adds the messages that a session lacks, except messages that were left out of it on purpose.
    pub(super) fn join_messages(
        &self,
        hidden: &LogReplay<'_>,
        has_header: bool,
        target: &SeenFile,
    ) -> Result<(), VaultError> {
        let raw = fs::read(&target.path).at("read", &target.path)?;
        let text = lossy_utf8(&raw);
        let mut there = LogReplay::from_bytes(&text, ReadingDepth::Everything);
        let mut lines = String::new();
        for message in hidden.kept.iter() {
            let mut message = message.clone();
            match there.shown.get(message.key) {
                // Without a header, a record is the last one that a still open CLI wrote.
                Some(shown) if !has_header => {
                    message.record = enriched_record(&shown.record, &message).into_owned().into();
                    if message.record == shown.record {
                        continue;
                    }
                }
                None if there.kept.get(message.key).is_none() => {}
                _ => continue,
            }
            lines.push_str(&rebuild::message_line(&message));
            lines.push('\n');
        }
        for line in &hidden.unknown {
            lines.push_str(line);
            lines.push('\n');
        }
        if target.path.extension().is_some_and(|it| it == "jsonl") {
            return append_lines(&target.path, &raw, &lines);
        }
        there = LogReplay::from_bytes(&text, ReadingDepth::Hidden);
        there.forget_shown();
        there.read_bytes(lines.as_bytes());
        let id = target.facts.session_id.clone().unwrap_or_default();
        self.write_beside(&there, target, &id).map(drop)
    }

    /// Writes the messages in place of the file, so that a CLI that has it open continues in it; beside it, if the file is a
    /// document.
    fn rebuild_file(
        &self,
        file: &SeenFile,
        id: &str,
        known: Option<&SnapshotEntry>,
        raw: &[u8],
    ) -> Result<PathBuf, VaultError> {
        let before = known.and_then(|entry| self.vault.read(entry).ok());
        let (before, text) = (before.unwrap_or_default(), lossy_utf8(raw));
        let before = lossy_utf8(&before);
        let mut replay = LogReplay::from_bytes(&before, ReadingDepth::Hidden);
        replay.forget_shown();
        replay.read_bytes(&text);
        if file.path.extension().is_none_or(|it| it != "jsonl") {
            let path = self.write_beside(&replay, file, id)?;
            sweep::remove_stub(self.vault, file)?;
            return Ok(path);
        }
        let bytes = rebuild::rebuilt_log(&replay, &self.rebuilt_header(file, id));
        if replace_content(&file.path, raw, &bytes)? {
            return Ok(file.path.clone());
        }
        let changed = std::io::Error::other("it is being written to");
        Err(changed).at("write", &file.path)
    }

    fn write_beside(
        &self,
        replay: &LogReplay<'_>,
        file: &SeenFile,
        id: &str,
    ) -> Result<PathBuf, VaultError> {
        let bytes = rebuild::rebuilt_log(replay, &self.rebuilt_header(file, id));
        let folder = file.path.parent().unwrap_or(Path::new("."));
        let like = format!("{}l", file.file_name());
        let path = names::free_path(folder, &like, Some(id), self.now);
        if restore::write_new(&path, &bytes, None)? {
            return Ok(path);
        }
        Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists)).at("write", &path)
    }

    fn rebuilt_header(&self, file: &SeenFile, id: &str) -> RebuiltHeader {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        RebuiltHeader {
            session_id: id.to_owned(),
            project_hash: rebuild::project_hash(folder),
            // A session that was hidden for a month would otherwise be deleted for its age.
            last_updated: Some(stat::as_cli(self.now)),
        }
    }
}

fn append_lines(path: &Path, there: &[u8], lines: &str) -> Result<(), VaultError> {
    if lines.is_empty() {
        return Ok(());
    }
    let is_torn = there.last().is_some_and(|&byte| byte != b'\n');
    let text = format!("{}{lines}", if is_torn { "\n" } else { "" });
    let file = fs::OpenOptions::new().append(true).open(path);
    let mut file = file.at("write", path)?;
    file.write_all(text.as_bytes()).at("write", path)?;
    file.sync_all().at("write", path)
}

fn brought_out_action(file: &SeenFile, id: String, path: PathBuf, why: &str) -> GuardAction {
    GuardAction {
        did: RepairKind::BroughtOut,
        session_id: Some(id),
        path,
        sentence: format!("`{}` {why}.", file.file_name()),
    }
}
