//! Rows of a list that are made of the facts of other agents' sessions.

use lapidary_vocab::event::Provider;
use lapidary_vocab::session::SessionInfo;

use crate::agent_summary::IdentifiedSummary;
use crate::listing::ListedSession;
use crate::message_text::{headline, one_line};
use crate::provider_scope::{ProjectPlaces, ProviderScope};
use crate::store_files::StoreFile;
use crate::times::now_text;

/// Makes the rows of a list.
#[derive(Debug)]
pub(crate) struct RowMaker<'s> {
    provider: Provider,
    places: ProjectPlaces<'s>,
    now: String,
}

impl<'s> RowMaker<'s> {
    pub(crate) fn new(provider: Provider, scope: &'s ProviderScope<'s>) -> Self {
        Self {
            provider,
            places: ProjectPlaces::new(scope),
            now: now_text(scope.now),
        }
    }

    /// The row of a session, if its directory counts.
    pub(crate) fn row(
        &mut self,
        file: &StoreFile,
        summary: IdentifiedSummary,
    ) -> Option<ListedSession> {
        let provider = self.provider.clone();
        listed_session(file, provider, summary, &mut self.places, &self.now)
    }
}

/// The row of a session; `None` if its directory belongs to no project of `places`.
fn listed_session(
    file: &StoreFile,
    provider: Provider,
    (id, summary): IdentifiedSummary,
    places: &mut ProjectPlaces<'_>,
    now: &str,
) -> Option<ListedSession> {
    let hash = summary.directory_hash.as_deref();
    let named = hash.and_then(|hash| places.root_with_hash(hash));
    let directory = named.or(summary.directory)?;
    let project = places.place_for(&directory)?;
    let (name, first_user_message) = headline(summary.first_prompt.as_deref());
    let time = |time: Option<String>| time.unwrap_or_else(|| now.to_owned());
    let file_name = file.file_name();
    let stem = file_name.strip_suffix(".jsonl");
    let stem = stem.or_else(|| file_name.strip_suffix(".json"));
    let info = SessionInfo {
        id,
        provider,
        run: None,
        file: stem.unwrap_or(&file_name).to_owned(),
        path: file.path.to_string_lossy().into_owned(),
        file_name,
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
        size: file.size,
        endangered_by: None,
    };
    let mut listed = ListedSession::new(info, file.path.clone());
    listed.project = project;
    listed.modified = file.modified;
    Some(listed)
}
