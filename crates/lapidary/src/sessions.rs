//! Recorded sessions as messages: find one, read it, have it in Claude's shape.
//!
//! ```
//! use lapidary::gemini::GeminiHome;
//! use lapidary::sessions::{LoadError, LoadRequest, load_messages};
//!
//! let request = LoadRequest::new("gemini", "/srv/project", GeminiHome::at("/home/nobody/at/all"));
//! let error = load_messages(&request).unwrap_err();
//! assert!(matches!(error, LoadError::NotFound { .. }));
//! assert_eq!(error.to_string(), "No Gemini session found for project: /srv/project");
//!
//! // Whoever prefers an empty list says so.
//! assert_eq!(load_messages(&request.or_empty()).unwrap(), []);
//! ```

pub mod briefing;
mod place;
mod providers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_engine::agents::family;
use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_gemini::GeminiHome;
use lapidary_normalize::gemini::session_messages;
use lapidary_normalize::views::messages::MessageFold;
pub use lapidary_sessions::*;
use lapidary_vocab::Message;
use lapidary_wire::gemini::session::ReplayedLog;
pub use place::{SearchScope, SessionPlace};
use providers::AgentStores;
pub use providers::providers;

/// Which session.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// The agent of the sessions: `gemini`, `claude`, `codex`, `qwen` or `opencode`, or any agent with recorded runs.
    pub tool: String,
    /// The project's directory. A relative path counts from `dir`.
    pub project: PathBuf,
    /// The session's id, as it stands in its file. Without one it is the session that was updated last.
    pub session_id: Option<String>,
    /// The home of Gemini CLI, with its sessions. The directories of other agents are looked for beside it.
    pub home: GeminiHome,
    /// The base of relative paths.
    pub dir: PathBuf,
    /// The directory of recordings: the sessions of agents other than Gemini CLI.
    pub recordings: Option<PathBuf>,
    /// Whether a missing session is an error.
    pub absence: SessionAbsence,
}

/// Whether a missing session is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionAbsence {
    /// It is an error.
    #[default]
    IsAnError,
    /// It is a list of nothing.
    IsEmpty,
}

/// Why there are no messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No session was recorded there, or none with that id.
    #[error("No {} session found for project: {}", agent_name(.tool), .project.display())]
    NotFound {
        /// The agent of the session.
        tool: String,
        /// The project, as it was named.
        project: PathBuf,
        /// The requested id.
        session_id: Option<String>,
    },
    /// An agent whose own sessions Lapidary does not know.
    #[error("cannot read sessions of `{tool}`: only its recorded runs can be read")]
    UnknownTool {
        /// The tool.
        tool: String,
    },
    /// The session is there, but the system does not let us read it.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A recorded run of the session cannot be read.
    #[error(transparent)]
    Recording(#[from] ReplaySessionError),
}

fn agent_name(tool: &str) -> &str {
    match tool {
        GEMINI => "Gemini",
        tool => tool,
    }
}

/// The tool whose own session files are read.
const GEMINI: &str = "gemini";

impl LoadRequest {
    /// Requests the session of a project that was updated last.
    pub fn new(tool: impl Into<String>, project: impl Into<PathBuf>, home: GeminiHome) -> Self {
        Self {
            tool: tool.into(),
            project: project.into(),
            session_id: None,
            home,
            dir: PathBuf::from("/"),
            recordings: None,
            absence: SessionAbsence::default(),
        }
    }

    /// This session, wherever relative paths would count from.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Relative paths count from here.
    #[must_use]
    pub fn in_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// Sessions of recorded runs are here.
    #[must_use]
    pub fn recorded_in(mut self, root: impl Into<PathBuf>) -> Self {
        self.recordings = Some(root.into());
        self
    }

    /// No session is no error, but a list of nothing.
    #[must_use]
    pub fn or_empty(mut self) -> Self {
        self.absence = SessionAbsence::IsEmpty;
        self
    }
}

/// The messages of a recorded session, in the order of its file. The search skips unreadable files. Nothing is written, and no
/// model is called.
pub fn load_messages(request: &LoadRequest) -> Result<Vec<Message>, LoadError> {
    let found = match request.tool.as_str() {
        GEMINI => of_session_file(request)?,
        tool if request.recordings.is_none() && !AgentStores::has_agent(&family(tool)) => {
            let tool = tool.to_owned();
            return Err(LoadError::UnknownTool { tool });
        }
        _ => of_other_agent(request)?,
    };
    match (found, request.absence) {
        (Some(messages), _) => Ok(messages),
        (None, SessionAbsence::IsEmpty) => Ok(Vec::new()),
        (None, SessionAbsence::IsAnError) => Err(LoadError::NotFound {
            tool: request.tool.clone(),
            project: request.project.clone(),
            session_id: request.session_id.clone(),
        }),
    }
}

fn of_session_file(request: &LoadRequest) -> Result<Option<Vec<Message>>, LoadError> {
    let Some(path) = find_session_file(request) else {
        return Ok(None);
    };
    let bytes = fs::read(&path).map_err(|source| LoadError::Unreadable { path, source })?;
    Ok(Some(
        session_messages::messages(&ReplayedLog::read(&bytes)).collect(),
    ))
}

/// The session of another agent: from its own files, else from recorded runs.
fn of_other_agent(request: &LoadRequest) -> Result<Option<Vec<Message>>, LoadError> {
    let named = request.dir.join(&request.project);
    let directory = named.canonicalize().unwrap_or(named);
    let project = SessionStore::new(request.home.clone()).project(&directory);
    let scope = ProviderScope {
        projects: std::slice::from_ref(&project),
        reach: ProjectReach::Named,
        now: SystemTime::UNIX_EPOCH,
    };
    let root = request.recordings.as_ref();
    let recordings = root.map(|root| RecordingSessions::new(root, ListingMode::default()));
    let agents = AgentStores::in_home(&request.home.home);
    let others = providers::registered_providers(agents, recordings);
    let others = others.list(&scope);
    let family = family(&request.tool);
    let wanted = others.iter().filter(|session| {
        let info = session.listed.info();
        let is_named = |id: &String| info.id == *id;
        info.provider == family && request.session_id.as_ref().is_none_or(is_named)
    });
    let newest = wanted.max_by_key(|session| session.listed.info().last_updated.clone());
    let Some(session) = newest else {
        return Ok(None);
    };
    let mut fold = MessageFold::new(session.listed.id());
    let mut messages = Vec::new();
    session.replay(&mut |event| messages.extend(fold.push(&event)))?;
    messages.extend(fold.finish());
    Ok(Some(messages))
}

fn find_session_file(request: &LoadRequest) -> Option<PathBuf> {
    let store = SessionStore::new(request.home.clone());
    let named = request.dir.join(&request.project);
    let project = store.project(&named);
    let project = match named.canonicalize() {
        // Gemini CLI names a project by the canonical path of its directory; a specification uses the user's path.
        Ok(real) if project.directories.is_empty() => store.project(&real),
        _ => project,
    };
    // A session file without a time counts as the oldest here, not as one written just now.
    let inventory = SessionInventory::read(vec![project], SystemTime::UNIX_EPOCH);
    let sessions = &inventory.listing.sessions;
    let listed = match &request.session_id {
        Some(id) => sessions.iter().find(|session| session.id() == id),
        None => inventory.listing.most_recent(),
    };
    match listed {
        Some(session) => Some(session.path.clone()),
        None => find_hidden_session(&inventory, request.session_id.as_deref()),
    }
}

/// A session that no list shows: the session of a sub-agent, or one without content to resume.
fn find_hidden_session(inventory: &SessionInventory, id: Option<&str>) -> Option<PathBuf> {
    let is_it = |file: &&InventoriedFile| match (&file.content, id) {
        (content, Some(id)) => content.id() == Some(id),
        (FileContent::Stub(_), None) => true,
        (_, None) => false,
    };
    let updated = |path: &Path| FileScanner::default().file(path).ok()?.last_updated;
    let found = inventory.files.iter().filter(is_it);
    let newest = found.max_by_key(|file| updated(&file.path));
    newest.map(|file| file.path.clone())
}
