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
#[cfg(feature = "index")]
mod snapshot;

use std::path::{Path, PathBuf};
#[cfg(feature = "index")]
use std::sync::{Arc, Mutex, PoisonError};

use lapidary_normalize::opencode::{RowsError, session_events};
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_vocab::session::{HiddenFile, HiddenReason};

use crate::agent_summary::{AgentSummary, SessionPlace, listed_session};
use crate::listing::{ListedSession, SessionListing};
use crate::provider::{
    ProjectPlaces, ProviderCapabilities, ProviderScope, RawReplay, ReplaySessionError,
    SessionAbility, SessionProvider, newest_of_each,
};
use crate::store_files::hidden;
use crate::times::now_text;
use json_storage::JsonStorage;
#[cfg(not(feature = "index"))]
use no_database::AbsentDatabase as OpencodeDatabase;
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

/// A session of a list, before its project is known.
#[derive(Debug)]
struct FoundSession {
    place: SessionPlace,
    summary: AgentSummary,
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

    fn add_database(&self, found: &mut FoundSessions) {
        let path = self.home.join(DATABASE);
        let Ok(about) = path.symlink_metadata() else {
            return;
        };
        let read = self.database().and_then(|it| it.find_sessions(&path));
        match read {
            Ok(mut read) => {
                found.sessions.append(&mut read.sessions);
                found.hidden.append(&mut read.hidden);
                found.warnings.append(&mut read.warnings);
            }
            Err(error) => {
                let why = format!("it cannot be read: {error}");
                let reason = HiddenReason::Unreadable;
                found.warnings.push(format!(
                    "sessions in `{}` are not listed: {error}",
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
        ProviderCapabilities {
            has_numbers: false,
            resume: SessionAbility::Unsupported {
                reason: OF_OPENCODE,
                hint: "`opencode --session {id}` continues it",
            },
            delete: SessionAbility::Unsupported {
                reason: OF_OPENCODE,
                hint: "`opencode session delete {id}` deletes it; Lapidary deletes sessions of Gemini CLI only",
            },
            records: SessionAbility::Unsupported {
                reason: OF_OPENCODE,
                hint: "use `--to markdown` or `--to html`; `lapidary sessions show {id} --format events` prints its records",
            },
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        let mut found = FoundSessions::default();
        self.add_database(&mut found);
        self.storage().find_sessions(&mut found);
        let mut places = ProjectPlaces::new(scope);
        let mut sessions = Vec::new();
        let now = now_text(scope.now);
        for session in found.sessions {
            if session.parent.is_some() {
                found.hidden.push(subagent_session(&session));
                continue;
            }
            sessions.extend(listed_session(
                session.place,
                session.summary,
                &mut places,
                &now,
            ));
        }
        let mut sessions = newest_of_each(sessions, &mut found.hidden);
        sessions.sort_by_key(|session| (session.project, session.started_ms));
        SessionListing {
            sessions,
            hidden: found.hidden,
            warnings: found.warnings,
        }
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let mut options = NormalizeOptions::new(session.id());
        options.keep_raw = false;
        options.deltas = DeltaMode::Final;
        self.replay_with(session, &options, take)
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
        let is_in_database = session.path.parent() == Some(&self.home.join(DATABASE));
        let replayed = if is_in_database {
            self.database()
                .and_then(|rows| session_events::events(&rows, session.id(), options, take))
        } else {
            session_events::events(&self.storage(), session.id(), options, take)
        };
        replayed.map_err(|source| ReplaySessionError {
            path: session.path.clone(),
            source,
        })
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
        (Some(only), 0) => session_events::events(&rows, &only.place.id, options, take),
        (Some(_), more) => Err(format!(
            "it has {} sessions; `lapidary sessions list --agent opencode --all` names them, `sessions show ID` shows one",
            more + 1
        )
        .into()),
    }
}

fn subagent_session(session: &FoundSession) -> HiddenFile {
    let why = "a sub-agent wrote it".to_owned();
    let mut file = hidden(
        &session.place.path,
        session.place.size,
        HiddenReason::Subagent,
        why,
    );
    file.session_id = Some(session.place.id.clone());
    file
}

/// The title of a session, once a model has named it.
fn given_title(title: Option<String>) -> Option<String> {
    title.filter(|title| !title.is_empty() && !title.starts_with(NO_TITLE))
}

/// The place of a session.
fn place_of(id: String, path: PathBuf, size: u64, updated_ms: Option<u64>) -> SessionPlace {
    let since = std::time::Duration::from_millis(updated_ms.unwrap_or_default());
    SessionPlace {
        id,
        provider: Provider::Opencode,
        path,
        size,
        modified: std::time::SystemTime::UNIX_EPOCH + since,
    }
}
