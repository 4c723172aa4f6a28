//! The facts of another agent's session that a list needs, and the row that they make.

use std::path::PathBuf;
use std::time::SystemTime;

use lapidary_vocab::event::Provider;
use lapidary_vocab::session::{HiddenReason, SessionInfo};

use crate::listing::ListedSession;
use crate::message_text::{headline, one_line};
use crate::provider::ProjectPlaces;

/// Why a file is no session in a list, and the sentence that says so.
pub(crate) type SkippedBecause = (HiddenReason, String);

/// The facts of a session that a list needs.
#[derive(Debug, Default)]
pub(crate) struct AgentSummary {
    /// Where the agent worked.
    pub(crate) directory: Option<String>,
    pub(crate) started: Option<String>,
    pub(crate) updated: Option<String>,
    /// Prompts, and responses of the model.
    pub(crate) messages: u64,
    pub(crate) prompts: u64,
    pub(crate) first_prompt: Option<String>,
    pub(crate) title: Option<String>,
}

impl AgentSummary {
    /// Notes the time of a record. As text, these times are in order.
    pub(crate) fn note_time(&mut self, time: String) {
        if self.started.as_ref().is_none_or(|first| time < *first) {
            self.started = Some(time.clone());
        }
        if self.updated.as_ref().is_none_or(|last| time > *last) {
            self.updated = Some(time);
        }
    }

    /// Notes words of the user.
    pub(crate) fn note_prompt(&mut self, said: impl FnOnce() -> String) {
        self.messages += 1;
        self.prompts += 1;
        self.first_prompt.get_or_insert_with(said);
    }
}

/// The place of a session.
#[derive(Debug)]
pub(crate) struct SessionPlace {
    pub(crate) id: String,
    pub(crate) provider: Provider,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
}

/// The row of a session; `None` if its directory belongs to no project of `places`.
pub(crate) fn listed_session(
    place: SessionPlace,
    summary: AgentSummary,
    places: &mut ProjectPlaces<'_>,
    now: &str,
) -> Option<ListedSession> {
    let directory = summary.directory?;
    let project = places.place_for(&directory)?;
    let (name, first_user_message) = headline(summary.first_prompt.as_deref());
    let time = |time: Option<String>| time.unwrap_or_else(|| now.to_owned());
    let file_name = place.path.file_name().unwrap_or_default().to_string_lossy();
    let stem = place.path.file_stem().unwrap_or_default().to_string_lossy();
    let info = SessionInfo {
        id: place.id,
        provider: place.provider,
        run: None,
        file: stem.into_owned(),
        file_name: file_name.into_owned(),
        path: place.path.to_string_lossy().into_owned(),
        start_time: time(summary.started),
        last_updated: time(summary.updated),
        message_count: summary.messages,
        user_message_count: summary.prompts,
        display_name: summary.title.as_deref().map_or(name, one_line),
        first_user_message,
        is_current_session: false,
        index: 0,
        unlisted: None,
        summary: summary.title,
        project: Some(directory),
        project_id: places.id(project).to_owned(),
        size: place.size,
        endangered_by: None,
    };
    let mut listed = ListedSession::new(info, place.path);
    listed.project = project;
    listed.modified = place.modified;
    Some(listed)
}
