//! An agent's activity in its turn over ACP: a turn that ends well may still hold no answer.

/// One thing that an agent did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentActivity {
    /// Words of an answer.
    Words,
    /// A thought. The user asked for none.
    Thought,
    /// A call of a tool, or a request to the client.
    Call,
    /// Other work, such as a plan.
    Other,
}

/// The activity since the prompt.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TurnActivity {
    has_thoughts: bool,
    has_work: bool,
    /// A call came after the last words.
    ends_in_call: bool,
}

impl TurnActivity {
    pub(super) fn note_activity(&mut self, activity: AgentActivity) {
        match activity {
            AgentActivity::Thought => self.has_thoughts = true,
            AgentActivity::Words => {
                self.has_work = true;
                self.ends_in_call = false;
            }
            AgentActivity::Call => {
                self.has_work = true;
                self.ends_in_call = true;
            }
            AgentActivity::Other => self.has_work = true,
        }
    }

    /// Nothing was said and nothing was done. Thoughts alone are no answer.
    pub(super) fn is_empty(self) -> bool {
        !self.has_work
    }

    pub(super) fn has_only_thoughts(self) -> bool {
        self.is_empty() && self.has_thoughts
    }

    /// Nothing was said after the last call.
    pub(super) fn ends_in_call(self) -> bool {
        self.ends_in_call
    }
}
