//! Sub-agents of a session: each has a session file of its own, which the call that started it names.

/// The session files of a session's sub-agents.
pub trait SubagentLogs {
    /// The file of a sub-agent by its id, which may be any text; none if there is no such file.
    fn read(&self, agent_id: &str) -> Option<Vec<u8>>;
}

/// A session without the files of its sub-agents.
pub(super) struct NoSubagents;

impl SubagentLogs for NoSubagents {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}
