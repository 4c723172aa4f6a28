//! A recorded run in a list.

use lapidary_vocab::runs::RunInfo;

/// A recorded run, and when it began.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// The facts for a list.
    pub info: RunInfo,
    /// When it began, in milliseconds since 1970; of an unreadable recording, when it was last written to.
    pub began_ms: i64,
}
