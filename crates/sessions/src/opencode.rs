//! Sessions of opencode in `~/.local/share/opencode`, or in `XDG_DATA_HOME/opencode`.
//!
//! | generation | place |
//! |---|---|
//! | since 1.2 | rows of `opencode.db`, a database of `SQLite` |
//! | before | JSON files below `storage`: `session/<project>`, `message/<session>`, `part/<message>` |
//!
//! Both are there for a while after an update; of a session in both the later updated counts. Nothing is written there, not even
//! the files that `SQLite` makes beside a database ([`snapshot`]).

#[cfg(feature = "index")]
mod database;
mod json_storage;
#[cfg(not(feature = "index"))]
mod no_database;
mod noted_list;
#[cfg(feature = "index")]
mod snapshot;
mod usage;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "index")]
use std::sync::{Arc, Mutex, PoisonError};

use lapidary_normalize::NormalizeOptions;
use lapidary_normalize::opencode::{RowsError, session_events};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_vocab::session::{HiddenFile, HiddenReason};

use crate::agent_summary::{AgentSummary, IdentifiedSummary, SkippedBecause};
use crate::listing::{ListedSession, SessionListing};
use crate::provider::{ProviderCapabilities, RawReplay, SessionProvider, UsageReader};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::replay_error::ReplaySessionError;
use crate::store_files::{FoundFiles, StoreFile, add_warning, hidden};
use crate::stored_sessions::{ListMemory, NoIndex, StoredSessions, list_stored, replay_options};
use crate::sweep::ByteFilter;
use json_storage::JsonStorage;
#[cfg(not(feature = "index"))]
use no_database::AbsentDatabase as OpencodeDatabase;
use noted_list::DatabaseState;
#[cfg(feature = "index")]
use {database::OpencodeDatabase, snapshot::DatabaseSnapshot};

/// How these sessions differ from those of Gemini CLI.
const OF_OPENCODE: &str = "is a session of opencode";

/// The name of the database.
const DATABASE: &str = "opencode.db";

/// The beginning of a title that opencode gives a session until a model has named it.
const NO_TITLE: &str = "New session - ";

/// The sessions of opencode in a directory.
#[derive(Debug)]
pub struct OpencodeSessions {
    home: PathBuf,
    /// Where a copy of the database may lie while it is read.
    #[cfg(feature = "index")]
    scratch: PathBuf,
    /// The database as it was found last.
    #[cfg(feature = "index")]
    snapshot: Mutex<Option<Arc<DatabaseSnapshot>>>,
}

/// A session, before it is known whether it is one of the list.
#[derive(Debug)]
struct FoundSession {
    file: StoreFile,
    /// The session whose call started it.
    parent: Option<String>,
}

/// The sessions, hidden files and warnings of one generation.
#[derive(Debug, Default)]
struct FoundSessions {
    sessions: Vec<FoundSession>,
    hidden: Vec<HiddenFile>,
    warnings: Vec<String>,
}

impl OpencodeSessions {
    /// The sessions in a directory of opencode, such as `~/.local/share/opencode`. A database that is being written to is copied
    /// into a directory of its own in `scratch` while it is read.
    pub fn new(home: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        #[cfg(not(feature = "index"))]
        let _ = scratch.into();
        Self {
            home: home.into(),
            #[cfg(feature = "index")]
            scratch: scratch.into(),
            #[cfg(feature = "index")]
            snapshot: Mutex::default(),
        }
    }

    fn is_in_database(&self, path: &Path) -> bool {
        path.parent() == Some(&self.home.join(DATABASE))
    }

    fn storage(&self) -> JsonStorage {
        JsonStorage::new(self.home.join("storage"))
    }

    #[cfg(feature = "index")]
    fn database(&self) -> Result<OpencodeDatabase, RowsError> {
        let mut held = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = match held.take().filter(|it| it.is_current()) {
            Some(snapshot) => snapshot,
            None => Arc::new(DatabaseSnapshot::take(
                &self.home.join(DATABASE),
                &self.scratch,
            )?),
        };
        *held = Some(Arc::clone(&snapshot));
        drop(held);
        OpencodeDatabase::open(snapshot)
    }

    #[cfg(not(feature = "index"))]
    #[expect(
        clippy::unused_self,
        reason = "the same signature as in a build with SQLite"
    )]
    fn database(&self) -> Result<OpencodeDatabase, RowsError> {
        Err("this build reads no databases".into())
    }

    fn add_database(&self, found: &mut FoundSessions, memory: &mut dyn ListMemory) {
        let path = self.home.join(DATABASE);
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return add_warning(&mut found.warnings, &path, &error),
        };
        let state = DatabaseState::read(&path, &about);
        let noted = memory.recall_list(&path, &state.to_bytes());
        if let Some(mut noted) = noted.and_then(|noted| noted_list::unpack(&path, &noted)) {
            found.sessions.append(&mut noted.sessions);
            return found.hidden.append(&mut noted.hidden);
        }
        let read = self.database().and_then(|it| it.find_sessions(&path));
        match read {
            Ok(mut read) => {
                if let Some(list) = noted_list::pack(&read) {
                    memory.note_list(&path, &state.to_bytes(), state.changed, &list);
                }
                found.sessions.append(&mut read.sessions);
                found.hidden.append(&mut read.hidden);
                found.warnings.append(&mut read.warnings);
            }
            Err(error) => {
                let why = format!("it cannot be read: {error}");
                let reason = HiddenReason::Unreadable;
                found.warnings.push(format!(
                    "sessions in `{}` cannot be read: {error}",
                    path.display()
                ));
                found.hidden.push(hidden(&path, about.len(), reason, why));
            }
        }
    }
}

impl SessionProvider for OpencodeSessions {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let hint = "`opencode session delete {id}` deletes it; Lapidary deletes sessions of Gemini CLI only";
        ProviderCapabilities::read_only(OF_OPENCODE, hint)
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        list_stored(self, scope, &mut NoIndex)
    }

    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        Some(self)
    }

    fn resume_command(&self) -> Option<&'static [&'static str]> {
        Some(&["opencode", "--session", "{id}"])
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        self.replay_with(session, &replay_options(session.id()), take)
    }

    fn stored_sessions(&self) -> Option<&dyn StoredSessions> {
        Some(self)
    }

    fn raw_replay(&self) -> Option<&dyn RawReplay> {
        Some(self)
    }
}

impl RawReplay for OpencodeSessions {
    fn replay_with(
        &self,
        session: &ListedSession,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        self.replay_stored(&session.path, options, take)
    }
}

impl StoredSessions for OpencodeSessions {
    fn provider(&self) -> Provider {
        Provider::Opencode
    }

    fn find(&self, scope: &ProviderScope<'_>, memory: &mut dyn ListMemory) -> FoundFiles {
        let wanted = WantedDirectories::from_scope(scope);
        let mut found = FoundSessions::default();
        self.add_database(&mut found, memory);
        self.storage().find_sessions(&mut found);
        let mut files = FoundFiles {
            files: Vec::with_capacity(found.sessions.len()),
            hidden: found.hidden,
            warnings: found.warnings,
        };
        for session in found.sessions {
            if session.parent.is_none() {
                files.files.push(session.file);
            } else if is_in(&wanted, &session.file) {
                files.hidden.push(subagent_session(&session.file));
            }
        }
        files
    }

    fn summarise(
        &self,
        file: &StoreFile,
        _: &WantedDirectories,
    ) -> Result<Option<IdentifiedSummary>, SkippedBecause> {
        let summary = file.found.as_deref().cloned();
        Ok(summary.map(|summary| (file.id.clone(), summary)))
    }

    fn replay_stored(
        &self,
        path: &Path,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let replayed = if self.is_in_database(path) {
            let id = path.file_name().unwrap_or_default().to_string_lossy();
            self.database()
                .and_then(|rows| session_events::events(&rows, &id, options, take))
        } else {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            session_events::events(&self.storage(), &id, options, take)
        };
        replayed.map_err(|error| ReplaySessionError::new(path, error))
    }

    /// Rows of the database are swept in one go. Files of the older generation may match in any case.
    fn sweep(&self, files: &[&StoreFile], may_match: &ByteFilter<'_>) -> Vec<bool> {
        let is_row = |file: &&StoreFile| self.is_in_database(&file.path);
        let rows: Vec<&str> = files
            .iter()
            .filter(|it| is_row(it))
            .map(|it| &*it.id)
            .collect();
        let swept = if rows.is_empty() {
            Ok(HashSet::new())
        } else {
            let database = self.database();
            database.and_then(|it| it.sweep_sessions(&rows, may_match))
        };
        // Reading tells why a database cannot be read.
        let may_be = |file: &&StoreFile| match &swept {
            Ok(swept) => !is_row(file) || swept.contains(&file.id),
            Err(_) => true,
        };
        files.iter().map(may_be).collect()
    }
}

/// The one session of a database or of a session's own file, for a reader that has only its path.
pub fn opencode_file_events(
    path: &Path,
    scratch: &Path,
    options: &NormalizeOptions,
    take: &mut dyn FnMut(Event),
) -> Result<(), RowsError> {
    if path.extension().is_some_and(|it| it == "json") {
        let (storage, id) = JsonStorage::of_session_file(path)?;
        return session_events::events(&storage, &id, options, take);
    }
    let home = path.parent().unwrap_or(Path::new("")).to_owned();
    if path.file_name().is_none_or(|name| name != DATABASE) {
        return Err(format!("a database of opencode is called `{DATABASE}`").into());
    }
    let sessions = OpencodeSessions::new(home, scratch);
    let rows = sessions.database()?;
    let found = rows.find_sessions(path)?;
    let mut ids = found.sessions.iter().filter(|it| it.parent.is_none());
    match (ids.next(), ids.count()) {
        (None, _) => Err("it has no session".into()),
        (Some(only), 0) => session_events::events(&rows, &only.file.id, options, take),
        (Some(_), more) => Err(format!(
            "it has {} sessions; `lapidary sessions list --agent opencode --all` names them, `sessions show ID` shows one",
            more + 1
        )
        .into()),
    }
}

fn is_in(wanted: &WantedDirectories, file: &StoreFile) -> bool {
    let directory = file.found.as_ref().and_then(|it| it.directory.as_deref());
    directory.is_none_or(|directory| wanted.contains(directory))
}

fn subagent_session(file: &StoreFile) -> HiddenFile {
    let why = "a sub-agent wrote it".to_owned();
    let mut hidden = file.hidden_file(HiddenReason::Subagent, why);
    hidden.session_id = Some(file.id.clone());
    hidden
}

/// The title of a session, once a model has named it.
fn given_title(title: Option<String>) -> Option<String> {
    title.filter(|title| !title.is_empty() && !title.starts_with(NO_TITLE))
}

/// A session with its facts.
fn store_file(
    path: PathBuf,
    id: String,
    updated_ms: Option<u64>,
    found: AgentSummary,
) -> StoreFile {
    let since = std::time::Duration::from_millis(updated_ms.unwrap_or_default());
    StoreFile {
        path,
        id,
        size: 0,
        modified: std::time::SystemTime::UNIX_EPOCH + since,
        state_number: 0,
        attached: Vec::new(),
        shared: std::sync::Arc::default(),
        found: Some(Box::new(found)),
        shows_changes: false,
    }
}
