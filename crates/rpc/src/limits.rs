//! How much a connection keeps, how long it waits, and which methods are handled.

use std::collections::BTreeSet;
use std::time::Duration;

use lapidary_vocab::Text;
use lapidary_wire::lines::DEFAULT_LIMIT;

/// An agent that ends closes its stdin and stdout, but in its own order: this long one sign of the end waits for the others.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// The methods that are handled here. A request for any other is answered at once with -32601.
#[derive(Debug, Clone, Default)]
pub struct HandledMethods(BTreeSet<String>);

impl HandledMethods {
    /// These and no others.
    pub fn from_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    pub(super) fn has_method(&self, method: &Text) -> bool {
        self.0.contains(method.to_str().as_ref())
    }
}

/// The limits of lines, queues and waits.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// The longest line that is read. Of a longer one the beginning is kept, and that there was one.
    pub line: usize,
    /// How many of our requests may wait for an answer at a time. One more is an error.
    pub pending: usize,
    /// How many of the agent's requests may be unanswered at a time. One more is answered with -32603.
    pub open: usize,
    /// How many bytes these may have together, unless there is only one.
    pub open_bytes: usize,
    /// How many bytes may wait for the agent to read them, unless it is a single line. More end the connection.
    pub unread_bytes: usize,
    /// How long the agent may read nothing while lines wait for it. Longer ends the connection.
    pub patience: Duration,
    /// How many bytes are kept for an observer that does not look. Further lines it reads again from the recording; without a
    /// recording it only gets their number and size.
    pub unseen_bytes: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            line: DEFAULT_LIMIT,
            pending: 1024,
            open: 1024,
            open_bytes: 128 * 1024 * 1024,
            unread_bytes: 64 * 1024 * 1024,
            patience: Duration::from_mins(1),
            unseen_bytes: 8 * 1024 * 1024,
        }
    }
}
