//! Sub-agents of a session of Claude Code: each has a file of its own since 2.0, which its call's result or a note beside it names.

/// The files of a session's sub-agents.
pub trait ClaudeSubagents {
    /// The id of the sub-agent that a call started, where a note beside its file tells. A call that was interrupted has no result
    /// to tell it.
    fn agent_of_call(&self, call_id: &str) -> Option<String>;

    /// The file of a sub-agent by its id, which may be any text; none if there is no such file.
    fn read(&self, agent_id: &str) -> Option<Vec<u8>>;

    /// The ids of all of them.
    fn ids(&self) -> Vec<String>;
}

/// A session whose sub-agents are not told.
#[derive(Debug, Clone, Copy)]
pub(super) struct WithoutSubagents;

impl ClaudeSubagents for WithoutSubagents {
    fn agent_of_call(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
