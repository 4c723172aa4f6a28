//! A summary as lists keep it: one piece of memory for all of its texts. A list of tens of thousands of sessions takes most of its time
//! for memory, and a text of its own for each field takes twice as much.

use super::FileSummary;
use crate::message_text;
use crate::times::epoch_ms;

/// Stands for the length of a text that is not there.
const ABSENT: u32 = u32::MAX;

/// How many texts a summary has.
pub(crate) const TEXTS: usize = 6;

/// Places of the texts.
const ID: usize = 0;
const START_TIME: usize = 1;
const LAST_UPDATED: usize = 2;
const SUMMARY: usize = 3;
const OPENING: usize = 4;
const NAME: usize = 5;

/// A [`FileSummary`] whose texts stand one behind the other, as a list prints them: an index keeps them so, and a list of tens of thousands
/// makes none of them again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactSummary {
    texts: Box<str>,
    lengths: [u32; TEXTS],
    pub(crate) facts: SummaryFacts,
}

/// The facts of a [`FileSummary`] beside its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SummaryFacts {
    pub(crate) message_count: u64,
    pub(crate) user_message_count: u64,
    pub(crate) unreadable_lines: u64,
    /// The times of the start and of the last addition.
    pub(crate) started: SummaryTime,
    pub(crate) updated: SummaryTime,
    pub(crate) has_project_hash: bool,
    pub(crate) is_subagent: bool,
    pub(crate) is_resumable: bool,
}

/// A time in milliseconds since 1970, or none that can be read. An `Option` takes twice the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SummaryTime(i64);

impl SummaryTime {
    const UNREADABLE: Self = Self(i64::MIN);

    fn parse(time: Option<&str>) -> Self {
        time.and_then(epoch_ms).map_or(Self::UNREADABLE, Self)
    }

    #[cfg(feature = "index")]
    pub(crate) fn from_le_bytes(bytes: [u8; 8]) -> Self {
        Self(i64::from_le_bytes(bytes))
    }

    #[cfg(feature = "index")]
    pub(crate) fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// The time, if it can be read.
    pub(crate) fn unix_ms(self) -> Option<i64> {
        (self != Self::UNREADABLE).then_some(self.0)
    }
}

impl CompactSummary {
    /// Takes texts that stand one behind the other. None if they do not have these lengths.
    #[cfg(feature = "index")]
    pub(crate) fn parse(texts: &str, lengths: [u32; TEXTS], facts: SummaryFacts) -> Option<Self> {
        let mut end = 0;
        for length in lengths {
            end = present_length(length).saturating_add(end);
            if !texts.is_char_boundary(end) {
                return None;
            }
        }
        let is_whole = end == texts.len() && lengths[ID] != ABSENT;
        is_whole.then(|| Self {
            texts: texts.into(),
            lengths,
            facts,
        })
    }

    /// The length of each text, and the texts one behind the other.
    #[cfg(feature = "index")]
    pub(crate) fn text_parts(&self) -> (&[u32; TEXTS], &str) {
        (&self.lengths, &self.texts)
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        self.text_at(ID).unwrap_or_default()
    }

    /// When it began.
    pub fn start_time(&self) -> Option<&str> {
        self.text_at(START_TIME)
    }

    /// The time of the last addition.
    pub fn last_updated(&self) -> Option<&str> {
        self.text_at(LAST_UPDATED)
    }

    /// The summary that a model wrote.
    pub fn summary(&self) -> Option<&str> {
        self.text_at(SUMMARY)
    }

    /// The first message with a text of the user's own, as the CLI shows it.
    pub fn first_user_message(&self) -> &str {
        self.text_at(OPENING).unwrap_or(message_text::NOTHING_SAID)
    }

    /// The session's name in a list: the summary, or else the first message on one line, in its own letters.
    pub fn display_name(&self) -> &str {
        let name = self.text_at(NAME).or(self.summary());
        name.unwrap_or_else(|| self.first_user_message())
    }

    /// How many records of messages there are since the last checkpoint.
    pub fn message_count(&self) -> u64 {
        self.facts.message_count
    }

    /// True if the session can be resumed.
    pub fn is_resumable(&self) -> bool {
        self.facts.is_resumable
    }

    /// True if a sub-agent wrote it.
    pub fn is_subagent(&self) -> bool {
        self.facts.is_subagent
    }

    /// True if the session cannot be resumed although it has messages: a checkpoint or a rewind hides them, or a line is torn.
    /// Such a conversation can be recovered.
    pub fn hides_content(&self) -> bool {
        let was_said = self.lengths[OPENING] != ABSENT || self.facts.unreadable_lines > 0;
        !self.facts.is_resumable && was_said
    }

    fn text_at(&self, place: usize) -> Option<&str> {
        if self.lengths[place] == ABSENT {
            return None;
        }
        let from: usize = self.lengths[..place]
            .iter()
            .copied()
            .map(present_length)
            .sum();
        self.texts
            .get(from..from + present_length(self.lengths[place]))
    }
}

/// How many bytes a text of such a length takes.
fn present_length(length: u32) -> usize {
    match length {
        ABSENT => 0,
        length => length as usize,
    }
}

impl From<&FileSummary> for CompactSummary {
    fn from(summary: &FileSummary) -> Self {
        let said = summary.first_user_message.as_deref();
        let opening = said.map(message_text::title);
        // A name that is no different is not kept twice.
        let name = match summary.summary.as_deref() {
            Some(summary) => {
                Some(message_text::printable_summary(summary)).filter(|name| name != summary)
            }
            None => message_text::own_letters(said),
        };
        let texts = [
            Some(summary.id.as_str()),
            summary.start_time.as_deref(),
            summary.last_updated.as_deref(),
            summary.summary.as_deref(),
            opening.as_deref(),
            name.as_deref(),
        ];
        // A record has at most 1 GiB, and so has each of its texts: none is left out here.
        let length = |text: &str| u32::try_from(text.len()).ok();
        let texts = texts.map(|text| text.filter(|text| length(text).is_some()));
        Self {
            lengths: texts.map(|text| text.and_then(length).unwrap_or(ABSENT)),
            texts: texts.into_iter().flatten().collect::<String>().into(),
            facts: SummaryFacts::from(summary),
        }
    }
}

impl From<&FileSummary> for SummaryFacts {
    fn from(summary: &FileSummary) -> Self {
        Self {
            message_count: summary.message_count,
            user_message_count: summary.user_message_count,
            unreadable_lines: summary.unreadable_lines,
            started: SummaryTime::parse(summary.start_time.as_deref()),
            updated: SummaryTime::parse(summary.last_updated.as_deref()),
            has_project_hash: summary.has_project_hash,
            is_subagent: summary.is_subagent,
            is_resumable: summary.is_resumable,
        }
    }
}

impl From<FileSummary> for CompactSummary {
    fn from(summary: FileSummary) -> Self {
        Self::from(&summary)
    }
}
