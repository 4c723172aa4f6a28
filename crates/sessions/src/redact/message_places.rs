//! The message in which a byte of a file stands.

use std::ops::Range;

use lapidary_wire::gemini::session::ReplayedLog;

/// Where the messages of a session's final state stand in its file.
#[derive(Debug)]
pub(super) struct MessagePlaces {
    /// In the order of the file, with the number of the message.
    ranges: Vec<(Range<usize>, u64)>,
}

impl MessagePlaces {
    pub(super) fn find_messages(file: &[u8]) -> Self {
        let log = ReplayedLog::read(file);
        let base = file.as_ptr() as usize;
        let ranges = log.messages().zip(1..).map(|(message, number)| {
            let text = message.as_str();
            let start = text.as_ptr() as usize - base;
            (start..start + text.len(), number)
        });
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_by_key(|(range, _)| range.start);
        Self { ranges }
    }

    /// The number of the message that stands there, from 1; none for bytes that are not, or no longer, part of the conversation.
    pub(super) fn message_at(&self, offset: usize) -> Option<u64> {
        let after = self
            .ranges
            .partition_point(|(range, _)| range.start <= offset);
        let (range, number) = &self.ranges[..after].last()?;
        range.contains(&offset).then_some(*number)
    }
}
