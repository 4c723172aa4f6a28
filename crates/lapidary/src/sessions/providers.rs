//! The providers of sessions that every command asks, one row each.

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_engine::session_guard::agent_home;
use lapidary_sessions::{ClaudeSessions, CodexSessions, SessionProviders};

use crate::prepare::recorded_in;

/// The providers beside Gemini CLI's own files. One that has no place here is not among them.
pub fn providers(environment: &SearchEnvironment) -> SessionProviders {
    let recorded = recorded_in(None, environment).ok();
    let recordings = recorded.map(|place| RecordingSessions::new(place.root, ListingMode::Cached));
    let claude = agent_home(environment, "CLAUDE_CONFIG_DIR", ".claude").map(ClaudeSessions::new);
    let codex = agent_home(environment, "CODEX_HOME", ".codex").map(CodexSessions::new);
    registered_providers(claude, codex, recordings)
}

/// One row for each provider. The first that has a session stands for it: a file of the agent before a recording of ours.
pub(super) fn registered_providers(
    claude: Option<ClaudeSessions>,
    codex: Option<CodexSessions>,
    recordings: Option<RecordingSessions>,
) -> SessionProviders {
    let files = SessionProviders::default().with(claude).with(codex);
    files.with(recordings)
}
