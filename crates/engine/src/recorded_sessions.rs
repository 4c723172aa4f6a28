//! Recordings as a provider of sessions: runs of any agent in `sessions list`, `show`, `search` and `stats`.
//!
//! The session of a run is known by the id that the agent gave it, else by the id of the run. Several runs of one session are one
//! session: the newest run stands for it in a list, and all of them are replayed, the oldest first.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_sessions::{
    ListedSession, ProjectPlaces, ProviderCapabilities, ProviderScope, ReplaySessionError,
    SessionAbility, SessionListing, SessionProvider, headline,
};
use lapidary_vocab::event::Provider;
use lapidary_vocab::runs::{RunInfo, RunState};
use lapidary_vocab::session::{SessionInfo, UnlistedPlace};
use lapidary_vocab::{Event, Outcome};
use lapidary_wire::lines::DEFAULT_LIMIT;

use crate::agents::{KNOWN, family};
use crate::recording::{ListedRun, ListingMode, STDOUT, UNKNOWN, list_runs};
use crate::replay::{PastAttempts, PastReading, RecordingReader, ReplayError};

/// How a session in a recording differs from a session of Gemini CLI.
const RECORDED: &str = "is in a recording only";

/// The sessions of recorded runs below a directory.
#[derive(Debug, Default)]
pub struct RecordingSessions {
    root: PathBuf,
    mode: ListingMode,
    /// The ids of a session's runs, newest first.
    runs: HashMap<String, Vec<String>>,
}

impl RecordingSessions {
    /// The recordings below `root`.
    pub fn new(root: impl Into<PathBuf>, mode: ListingMode) -> Self {
        Self {
            root: root.into(),
            mode,
            runs: HashMap::new(),
        }
    }

    fn replay_run(&self, run: &str, take: &mut dyn FnMut(Event)) -> Result<(), ReplayError> {
        let past = RecordingReader::open(&self.root.join(run))?;
        let Some(format) = past.format() else {
            return Ok(()); // no agent's protocol: it is not in the list
        };
        let mut options = past.options(NormalizeOptions::new(run));
        options.keep_raw = false;
        options.deltas = DeltaMode::Final;
        let reading = PastReading {
            options,
            max_line: DEFAULT_LIMIT,
            exit_code: None,
            attempts: PastAttempts::One,
        };
        past.each_event(format, &reading, &mut |events, _| {
            events.drain(..).for_each(&mut *take);
            Ok::<(), ReplayError>(())
        })
    }

    fn session_row(&self, run: ListedRun, places: &mut ProjectPlaces<'_>) -> Option<ListedSession> {
        let directory = run.info.project.as_deref()?;
        let place = places.place_for(directory)?;
        let project_id = places.id(place).to_owned();
        let path = self.root.join(&run.info.id);
        Some(listed_session(run, path, place, project_id))
    }
}

impl SessionProvider for RecordingSessions {
    fn name(&self) -> &'static str {
        "recordings"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities {
            has_numbers: false,
            resume: SessionAbility::Unsupported {
                reason: RECORDED,
                hint: "`lapidary sessions show {id}` shows it",
            },
            delete: SessionAbility::Unsupported {
                reason: RECORDED,
                hint: "use `lapidary runs delete {run}`",
            },
            records: SessionAbility::Unsupported {
                reason: RECORDED,
                hint: "use `--to markdown` or `--to html`; `lapidary runs export {run} --to events` writes its events",
            },
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        let mut listing = SessionListing::default();
        let runs = match list_runs(&self.root, self.mode) {
            Ok(runs) => runs,
            Err(error) => {
                let root = self.root.display();
                let warning = format!("recordings in `{root}` are not listed: {error}");
                listing.warnings.push(warning);
                return listing;
            }
        };
        let mut places = ProjectPlaces::new(scope);
        for run in runs.into_iter().filter(|run| is_conversation(&run.info)) {
            let id = run.info.id.clone();
            let Some(row) = self.session_row(run, &mut places) else {
                continue;
            };
            let known = self.runs.entry(row.id().to_owned()).or_default();
            known.push(id);
            if known.len() == 1 {
                listing.sessions.push(row);
            }
        }
        // As in other lists: project by project, the oldest first.
        listing
            .sessions
            .sort_by_key(|session| (session.project, session.started_ms));
        listing
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let runs = self.runs.get(session.id()).map_or(&[][..], Vec::as_slice);
        for run in runs.iter().rev() {
            self.replay_run(run, take)
                .map_err(|error| ReplaySessionError {
                    path: self.root.join(run),
                    source: error.into(),
                })?;
        }
        Ok(())
    }
}

/// True for a run with a conversation, as far as its manifest tells. Recorded programs that speak no protocol of an agent are no
/// sessions, and neither is a run that failed before its agent had one.
fn is_conversation(info: &RunInfo) -> bool {
    let is_known = info.transport.as_deref().is_some_and(|it| it != UNKNOWN);
    let has_failed = info.outcome == Some(Outcome::Failed);
    let is_said = info.session_id.is_some() || (info.prompt.is_some() && !has_failed);
    is_known && is_said && info.state != RunState::Unreadable
}

fn listed_session(
    run: ListedRun,
    path: PathBuf,
    project: usize,
    project_id: String,
) -> ListedSession {
    let ListedRun { info, began_ms } = run;
    let updated_ms = began_ms.saturating_add_unsigned(info.duration_ms.unwrap_or(0));
    let (display_name, first_user_message) = headline(info.prompt.as_deref());
    let provider = provider_of(info.agent.as_deref().unwrap_or_default());
    let info = SessionInfo {
        id: info.session_id.unwrap_or_else(|| info.id.clone()),
        provider,
        run: Some(info.id.clone()),
        file: info.id.clone(),
        file_name: info.id,
        path: path.to_string_lossy().into_owned(),
        start_time: info.started_at.unwrap_or_else(|| time_text(began_ms)),
        last_updated: time_text(updated_ms),
        message_count: 0,
        user_message_count: 0,
        display_name,
        first_user_message,
        is_current_session: false,
        index: 0,
        unlisted: Some(UnlistedPlace::Recording),
        summary: None,
        project: info.project,
        project_id,
        size: size_of(&path),
        endangered_by: None,
    };
    let mut listed = ListedSession::new(info, path);
    listed.project = project;
    listed.started_ms = Some(began_ms);
    listed.updated_ms = Some(updated_ms);
    listed
}

/// The family of a recorded agent. An agent that is not in our table goes by its name.
fn provider_of(agent: &str) -> Provider {
    let is_it = |command: &&[&str]| command[0] == agent;
    let known = KNOWN
        .iter()
        .find(|known| known.name == agent || known.commands.iter().any(is_it));
    family(known.map_or(agent, |known| known.name))
}

fn size_of(recording: &Path) -> u64 {
    fs::metadata(recording.join(STDOUT)).map_or(0, |about| about.len())
}

fn time_text(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}
