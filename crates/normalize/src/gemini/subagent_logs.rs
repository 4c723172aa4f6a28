//! Sub-agents of a session: each has a session file of its own, which the call that started it names.

use lapidary_vocab::{Body, Text};

/// The session files of a session's sub-agents.
pub trait SubagentLogs {
    /// The file of a sub-agent by its id, which may be any text; none if there is no such file.
    fn read(&self, agent_id: &str) -> Option<Vec<u8>>;
}

/// A session whose sub-agents are not told.
pub(super) struct NoSubagents;

impl SubagentLogs for NoSubagents {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// Marks what a sub-agent did with the call in which it worked.
pub(super) fn set_parent(body: &mut Body, parent: Option<&Text>) {
    let field = match body {
        Body::Text(text) => &mut text.parent_call_id,
        Body::ToolInvocation(call) => &mut call.parent_call_id,
        Body::ToolCompletion(done) => &mut done.parent_call_id,
        Body::UsageUpdate(usage) => &mut usage.parent_call_id,
        _ => return,
    };
    *field = parent.cloned();
}
