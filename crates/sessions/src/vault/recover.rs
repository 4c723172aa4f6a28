//! Rebuilding the hidden messages of a session file from its own records.
//!
//! A log only grows, so messages that a clobbering checkpoint, a load in the minute of its making, or a rewind to an unknown id
//! took out of the conversation are still in the file; so is a record that was appended to a torn line. [`plan`] lists the
//! messages that would come back, [`RecoveryPlan::apply`] writes them into a **new file of the same session id**, and moves the
//! old one into the vault. The id stays, because plans, tool outputs, subagents and a user's notes refer to it; the old file
//! cannot stay beside it, because the CLI deletes files without content together with their namesakes. The new one counts as
//! updated now, or a session that was hidden for a month would be deleted by the CLI's next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_json::Token;
use lapidary_wire::gemini::session::MessageRecord;
use serde::Serialize;

pub use super::replay::{HiddenCause, ReadingDepth};

use super::blobs::sha256_hex;
use super::error::ErrorContext as _;
use super::guard::{self, GuardAction, SeenFile, sweep};
use super::rebuild::{self, RebuiltHeader};
use super::replay::{LogReplay, ReplayedMessage, lossy_utf8};
use super::{ContentFacts, Vault, VaultError, restore, session_files, stat};
use crate::names;

mod survey;

pub use survey::{EndangeredSession, ProjectSurvey, disarm, survey};

/// How many characters of a message a plan shows.
const WORDS: usize = 60;

/// The recovery of a file's hidden messages, not carried out yet.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryPlan {
    /// The file.
    pub path: PathBuf,
    /// Its session, or the id that it would get, if nothing in it says one.
    pub session_id: String,
    /// True if the content is the vault's, because no file of the session has messages left.
    pub from_vault: bool,
    /// How many messages the CLI shows now.
    pub shown: usize,
    /// How many there would be.
    pub total: usize,
    /// The messages that would come back, in order.
    pub found: Vec<RecoverableMessage>,
    /// Messages that would get fields back, such as tokens and tool calls.
    pub poorer: usize,
    /// The causes that hid them.
    pub causes: Vec<HiddenCause>,
    /// Lines of which nothing can be read.
    pub unreadable: usize,
    #[serde(skip)]
    source: Vec<u8>,
    #[serde(skip)]
    depth: ReadingDepth,
}

/// A message that would come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoverableMessage {
    /// `user`, `gemini` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was written, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// How it begins, as it came: not fit for a terminal.
    pub words: String,
}

/// The result of a recovery.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryResult {
    /// The new file.
    pub path: PathBuf,
    /// The session to resume.
    pub session_id: String,
    /// How many messages it has.
    pub messages: usize,
    /// The files that went into the vault.
    pub actions: Vec<GuardAction>,
}

/// The recovery of a file's hidden messages.
pub fn plan(path: &Path, depth: ReadingDepth) -> Result<RecoveryPlan, VaultError> {
    let bytes = fs::read(path).at("read", path)?;
    Ok(RecoveryPlan::new(path.to_owned(), bytes, depth))
}

/// The recovery of a session's hidden messages, by its full id; from the vault if its files have no messages left.
pub fn plan_session(
    vault: &Vault,
    chats: &[PathBuf],
    id: &str,
    depth: ReadingDepth,
) -> Result<RecoveryPlan, VaultError> {
    let files = chats.iter().flat_map(|chats| session_files(chats).0);
    let plans = files.filter_map(|path| {
        let bytes = fs::read(&path).ok()?;
        let is_it = ContentFacts::read(&bytes).session_id.as_deref() == Some(id);
        is_it.then(|| RecoveryPlan::new(path, bytes, depth))
    });
    let best = plans.max_by_key(|plan| (plan.has_content(), plan.total));
    if let Some(plan) = best.as_ref().filter(|plan| plan.has_content()) {
        return Ok(plan.clone());
    }
    let from_vault = vault.newest_of(id).and_then(|entry| {
        let bytes = vault.read(&entry)?;
        let name = Path::new(&entry.path).file_name().unwrap_or_default();
        let folder = chats.first().cloned().unwrap_or_default();
        let mut plan = RecoveryPlan::new(folder.join(name), bytes, depth);
        plan.from_vault = true;
        // Nothing of it is shown now.
        plan.shown = 0;
        plan.found = plan.all_messages();
        Ok(plan)
    });
    match (from_vault, best) {
        (Ok(plan), _) | (Err(_), Some(plan)) => Ok(plan),
        (Err(error), None) => Err(error),
    }
}

impl RecoveryPlan {
    fn new(path: PathBuf, source: Vec<u8>, depth: ReadingDepth) -> Self {
        let text = lossy_utf8(&source);
        let replay = LogReplay::from_bytes(&text, depth);
        let hidden = |it: &&ReplayedMessage<'_>| replay.shown.get(it.key).is_none();
        let is_poorer = |it: &&ReplayedMessage<'_>| {
            let shown = replay.shown.get(it.key);
            shown.is_some_and(|shown| shown.record != it.record)
        };
        let kept = || replay.kept.iter();
        // Such a file the CLI does not read, and shows nothing of it.
        let has_header = ContentFacts::read(&source).session_id.is_some();
        let hidden = |it: &&ReplayedMessage<'_>| !has_header || hidden(it);
        let is_poorer = |it: &&ReplayedMessage<'_>| has_header && is_poorer(it);
        let mut causes = replay.causes.clone();
        if !has_header {
            causes.push(HiddenCause::NoHeader);
        }
        let id = replay.get("sessionId").and_then(Token::string);
        let id = id.filter(|id| !id.is_empty()).map(String::from);
        Self {
            session_id: id.unwrap_or_else(|| new_id(&path, &source)),
            from_vault: false,
            shown: if has_header { replay.shown.len() } else { 0 },
            total: replay.kept.len(),
            found: kept().filter(hidden).map(recoverable_message).collect(),
            poorer: kept().filter(is_poorer).count(),
            causes,
            unreadable: replay.unreadable,
            depth,
            path,
            source,
        }
    }

    fn all_messages(&self) -> Vec<RecoverableMessage> {
        let text = lossy_utf8(&self.source);
        let replay = LogReplay::from_bytes(&text, self.depth);
        replay.kept.iter().map(recoverable_message).collect()
    }

    fn has_content(&self) -> bool {
        let text = lossy_utf8(&self.source);
        LogReplay::from_bytes(&text, self.depth).kept.has_content()
    }

    /// True if messages or fields would come back, and the result has content to resume.
    pub fn is_needed(&self) -> bool {
        (!self.found.is_empty() || self.poorer > 0) && self.has_content()
    }

    /// Writes the new file, and moves the old one, and stubs beside it, into the vault.
    pub fn apply(&self, vault: &Vault, now: SystemTime) -> Result<RecoveryResult, VaultError> {
        let chats = self.path.parent().unwrap_or(Path::new("."));
        let project = guard::project_of(chats);
        let look = || guard::take_in_directory(vault, chats, project, "recovering", now);
        look()?;
        self.check_unchanged()?;
        fs::create_dir_all(chats).at("make", chats)?;
        let path = self.write_session(chats, now)?;
        let (added, flaws) = look()?;
        let files = guard::seen_files(&added, project, chats);
        let mut actions = Vec::new();
        let is_old = |file: &SeenFile| !self.from_vault && file.path == self.path;
        let (old, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_old);
        for old in &old {
            actions.push(self.set_aside(vault, old)?);
        }
        actions.extend(sweep::move_stubs(vault, &others, &flaws, now));
        Ok(RecoveryResult {
            path,
            session_id: self.session_id.clone(),
            messages: self.total,
            actions,
        })
    }

    fn check_unchanged(&self) -> Result<(), VaultError> {
        if self.from_vault {
            return Ok(());
        }
        let now = fs::read(&self.path).at("read", &self.path)?;
        if now == self.source {
            return Ok(());
        }
        let changed = std::io::Error::other("it has changed since it was looked at");
        Err(changed).at("recover", &self.path)
    }

    fn write_session(&self, chats: &Path, now: SystemTime) -> Result<PathBuf, VaultError> {
        let text = lossy_utf8(&self.source);
        let replay = LogReplay::from_bytes(&text, self.depth);
        let header = RebuiltHeader {
            session_id: self.session_id.clone(),
            project_hash: rebuild::project_hash(chats),
            last_updated: Some(stat::as_cli(now)),
        };
        let bytes = rebuild::rebuilt_log(&replay, &header);
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let like = name.strip_suffix(".json").unwrap_or(&name);
        loop {
            let path = names::free_path(chats, like, Some(&self.session_id), now);
            if restore::write_new(&path, &bytes, None)? {
                return Ok(path);
            }
        }
    }

    fn set_aside(&self, vault: &Vault, old: &SeenFile) -> Result<GuardAction, VaultError> {
        sweep::remove_stub(vault, old)?;
        let name = self.path.file_name().unwrap_or_default().display();
        Ok(GuardAction {
            did: guard::RepairKind::SetAside,
            session_id: Some(self.session_id.clone()),
            path: self.path.clone(),
            sentence: format!("`{name}` went into the vault: the new file takes its place."),
        })
    }
}

/// An id for a file that says none: always the same, beginning as its name has it.
pub(super) fn new_id(path: &Path, source: &[u8]) -> String {
    let digest = sha256_hex(source);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let short = names::short_id(&name).unwrap_or(&digest[..8]);
    let part = |from: usize, to: usize| &digest[from..to];
    format!(
        "{short}-{}-4{}-8{}-{}",
        part(8, 12),
        part(12, 15),
        part(15, 18),
        part(18, 30)
    )
}

fn recoverable_message(message: &ReplayedMessage<'_>) -> RecoverableMessage {
    let record = Token::parse(&message.record)
        .ok()
        .map(MessageRecord::from_token);
    let record = record.unwrap_or_default();
    let text = |token: Option<Token<'_>>| token.and_then(Token::string).map(String::from);
    let words = crate::content_facts::text_of(&record);
    let words: Vec<&str> = words.split_whitespace().collect();
    RecoverableMessage {
        kind: text(record.kind).unwrap_or_default(),
        timestamp: text(record.timestamp),
        words: words.join(" ").chars().take(WORDS).collect(),
    }
}
