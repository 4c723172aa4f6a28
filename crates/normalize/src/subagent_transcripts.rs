//! The files of a session's sub-agents, as Claude Code (since 2.0) and Qwen Code keep them: one file for each sub-agent, which its
//! call's result or a note beside the file names.

/// The files of a session's sub-agents.
pub trait SubagentTranscripts {
    /// The id of the sub-agent that a call started, where a note beside its file tells. A call that was interrupted has no result
    /// to tell it.
    fn agent_of_call(&self, call_id: &str) -> Option<String>;

    /// The file of a sub-agent by its id, which may be any text; none if there is no such file.
    fn read(&self, agent_id: &str) -> Option<Vec<u8>>;

    /// The ids of all of them.
    fn ids(&self) -> Vec<String>;
}

/// A session without the files of its sub-agents.
#[derive(Debug, Clone, Copy)]
pub struct WithoutSubagents;

impl SubagentTranscripts for WithoutSubagents {
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
