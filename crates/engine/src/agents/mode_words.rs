//! An agent's own words for permission modes.

/// An agent's names of the permission modes in which it asks us. In the other modes we answer for the user, so that rules hold
/// and every decision becomes an event; the agent itself is never told to stop asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModeWords {
    /// The mode in which it asks before it does harm.
    pub default: Option<String>,
    /// The mode in which it only plans.
    pub plan: Option<String>,
}
