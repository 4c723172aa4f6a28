//! The facts of another agent's session that a list needs.

use lapidary_vocab::session::HiddenReason;

/// Why a file is no session in a list, and the sentence that says so.
pub(crate) type SkippedBecause = (HiddenReason, String);

/// The facts of a session that a list needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSummary {
    /// Where the agent worked.
    pub(crate) directory: Option<String>,
    /// The hash of the directory, if the session names it by that only. Then `directory` is a place in the agent's store.
    pub(crate) directory_hash: Option<String>,
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

/// A session's facts with its id.
pub(crate) type IdentifiedSummary = (String, AgentSummary);

/// The facts of a session, or why it is none.
pub(crate) type StoredSummary = Result<IdentifiedSummary, SkippedBecause>;
