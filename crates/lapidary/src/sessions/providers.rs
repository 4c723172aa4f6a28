//! The providers of sessions that every command asks, one row each.

use std::path::Path;

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_engine::session_guard::{agent_home, qwen_home};
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, OpencodeSessions, QwenSessions, SessionProviders,
};
use lapidary_vocab::event::Provider;

use crate::directories::{temporary, temporary_in};
use crate::prepare::recorded_in;

/// The providers beside Gemini CLI's own files. One that has no place here is not among them.
pub fn providers(environment: &SearchEnvironment) -> SessionProviders {
    let recorded = recorded_in(None, environment).ok();
    let recordings = recorded.map(|place| RecordingSessions::new(place.root, ListingMode::Cached));
    let claude = agent_home(environment, "CLAUDE_CONFIG_DIR", ".claude").map(ClaudeSessions::new);
    let codex = agent_home(environment, "CODEX_HOME", ".codex").map(CodexSessions::new);
    let data = agent_home(environment, "XDG_DATA_HOME", ".local/share");
    let opencode = data.map(|data| data.join("opencode"));
    let agents = AgentStores {
        claude,
        codex,
        qwen: qwen_home(environment).map(QwenSessions::new),
        opencode: opencode.map(|home| OpencodeSessions::new(home, temporary_in(environment))),
    };
    registered_providers(agents, recordings)
}

/// One row for each provider. The first that has a session stands for it: a file of the agent before a recording of ours.
pub(super) fn registered_providers(
    agents: AgentStores,
    recordings: Option<RecordingSessions>,
) -> SessionProviders {
    let files = SessionProviders::default()
        .with(agents.claude)
        .with(agents.codex)
        .with(agents.qwen)
        .with(agents.opencode);
    files.with(recordings)
}

/// The directories of other agents in which sessions are.
#[derive(Debug, Default)]
pub(super) struct AgentStores {
    /// Claude Code's.
    pub(super) claude: Option<ClaudeSessions>,
    /// Codex CLI's.
    pub(super) codex: Option<CodexSessions>,
    /// Qwen Code's.
    pub(super) qwen: Option<QwenSessions>,
    /// opencode's.
    pub(super) opencode: Option<OpencodeSessions>,
}

impl AgentStores {
    /// The usual directories in a home. A copy of a database is made in the system's directory for temporary files.
    pub(super) fn in_home(home: &Path) -> Self {
        let data = home.join(".local/share/opencode");
        Self {
            claude: Some(ClaudeSessions::new(home.join(".claude"))),
            codex: Some(CodexSessions::new(home.join(".codex"))),
            qwen: Some(QwenSessions::new(home.join(".qwen"))),
            opencode: Some(OpencodeSessions::new(data, temporary(None))),
        }
    }

    /// Whether this agent's own files are known.
    pub(super) fn has_agent(provider: &Provider) -> bool {
        matches!(
            provider,
            Provider::Claude | Provider::Codex | Provider::Qwen | Provider::Opencode
        )
    }
}
