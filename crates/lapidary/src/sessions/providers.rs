//! The providers of sessions that every command asks, one row each.

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_sessions::SessionProviders;

use crate::prepare::recorded_in;

/// The providers beside Gemini CLI's own files. One that has no place here is not among them.
pub fn providers(environment: &SearchEnvironment) -> SessionProviders {
    let recorded = recorded_in(None, environment).ok();
    registered(recorded.map(|place| RecordingSessions::new(place.root, ListingMode::Cached)))
}

/// One row for each provider. The first that has a session stands for it.
pub(super) fn registered(recordings: Option<RecordingSessions>) -> SessionProviders {
    SessionProviders::default().with(recordings)
}
