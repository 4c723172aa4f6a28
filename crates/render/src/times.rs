//! The times in a transcript for a terminal: when the session began, and when each prompt was given.

use lapidary_vocab::{Event, Text};

use crate::words;

/// The last time that was shown: a day is named once.
#[derive(Debug, Default)]
pub(crate) struct ShownTimes {
    last: Option<String>,
}

impl ShownTimes {
    /// When an event was: `15 November 2026, 18:15 UTC`, and `18:15 UTC` after another of the same day.
    pub(crate) fn shown_time(&mut self, event: &Event) -> Option<String> {
        let at = event.base.timestamp.as_ref().map(Text::to_string)?;
        let last = self.last.replace(at.clone());
        words::time_after(&at, last.as_deref())
    }
}
