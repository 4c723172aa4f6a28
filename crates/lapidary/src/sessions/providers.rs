//! The providers of sessions that every command asks, one row each.

use std::ffi::OsStr;
use std::path::PathBuf;

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_sessions::{ClaudeSessions, CodexSessions, SessionProviders};

use crate::prepare::recorded_in;

/// The providers beside Gemini CLI's own files. One that has no place here is not among them.
pub fn providers(environment: &SearchEnvironment) -> SessionProviders {
    let recorded = recorded_in(None, environment).ok();
    let recordings = recorded.map(|place| RecordingSessions::new(place.root, ListingMode::Cached));
    let claude = home_of(environment, "CLAUDE_CONFIG_DIR", ".claude").map(ClaudeSessions::new);
    let codex = home_of(environment, "CODEX_HOME", ".codex").map(CodexSessions::new);
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

/// The directory of an agent: the one that a variable names, or one in the home directory.
fn home_of(environment: &SearchEnvironment, variable: &str, usual: &str) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new(variable));
    let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(environment.home.as_ref()?.join(usual)))
}
