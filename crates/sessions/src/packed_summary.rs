//! The facts of sessions of other agents as bytes, for an index: texts with their lengths before them, and numbers.

use lapidary_vocab::session::HiddenReason;

#[cfg(feature = "index")]
use crate::agent_summary::StoredSummary;
use crate::agent_summary::{AgentSummary, SkippedBecause};

/// Stands for the length of a text that is not there.
const ABSENT: u32 = u32::MAX;

/// The kind of a value: a session, or a file that is none.
#[cfg(feature = "index")]
const SESSION: u64 = 0;
#[cfg(feature = "index")]
const SKIPPED: u64 = 1;

/// Writes values one behind the other.
#[derive(Debug, Default)]
pub(crate) struct PackedWriter {
    pub(crate) bytes: Vec<u8>,
}

impl PackedWriter {
    pub(crate) fn number(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }

    /// A text. One of 4 GB or more is as if it were not there.
    pub(crate) fn text(&mut self, text: Option<&str>) {
        let length = text.and_then(|text| u32::try_from(text.len()).ok());
        let length = length.unwrap_or(ABSENT);
        self.bytes.extend(length.to_le_bytes());
        let text = text.filter(|_| length != ABSENT);
        self.bytes.extend(text.unwrap_or_default().as_bytes());
    }

    pub(crate) fn summary(&mut self, summary: &AgentSummary) {
        let AgentSummary {
            directory,
            directory_hash,
            started,
            updated,
            messages,
            prompts,
            first_prompt,
            title,
        } = summary;
        let texts = [
            directory,
            directory_hash,
            started,
            updated,
            first_prompt,
            title,
        ];
        for text in texts {
            self.text(text.as_deref());
        }
        self.number(*messages);
        self.number(*prompts);
    }

    pub(crate) fn skipped(&mut self, (reason, why): &SkippedBecause) {
        self.text(Some(&reason.to_string()));
        self.text(Some(why));
    }
}

/// Reads what a [`PackedWriter`] wrote. None where it is cut off.
#[derive(Debug)]
pub(crate) struct PackedReader<'b> {
    pub(crate) bytes: &'b [u8],
}

impl PackedReader<'_> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*number))
    }

    #[expect(
        clippy::option_option,
        reason = "None for damaged bytes, Some(None) for no text"
    )]
    pub(crate) fn text(&mut self) -> Option<Option<String>> {
        let (length, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        let length = u32::from_le_bytes(*length);
        if length == ABSENT {
            return Some(None);
        }
        let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        let text = simdutf8::basic::from_utf8(text).ok()?;
        Some(Some(text.to_owned()))
    }

    pub(crate) fn summary(&mut self) -> Option<AgentSummary> {
        Some(AgentSummary {
            directory: self.text()?,
            directory_hash: self.text()?,
            started: self.text()?,
            updated: self.text()?,
            first_prompt: self.text()?,
            title: self.text()?,
            messages: self.number()?,
            prompts: self.number()?,
        })
    }

    pub(crate) fn skipped(&mut self) -> Option<SkippedBecause> {
        let reason = self.text()??;
        Some((HiddenReason::from(reason.as_str()), self.text()??))
    }
}

/// A session's facts, or why it is none. None for an error that may be gone in a moment.
#[cfg(feature = "index")]
pub(crate) fn pack_stored(summary: &StoredSummary) -> Option<Vec<u8>> {
    let mut packed = PackedWriter::default();
    match summary {
        Ok((id, summary)) => {
            packed.number(SESSION);
            packed.text(Some(id));
            packed.summary(summary);
        }
        Err((HiddenReason::Unreadable, _)) => return None,
        Err(skipped) => {
            packed.number(SKIPPED);
            packed.skipped(skipped);
        }
    }
    Some(packed.bytes)
}

/// The same again. None if it is nothing that was written so.
#[cfg(feature = "index")]
pub(crate) fn unpack_stored(bytes: &[u8]) -> Option<StoredSummary> {
    let mut packed = PackedReader { bytes };
    let summary = match packed.number()? {
        SESSION => Ok((packed.text()??, packed.summary()?)),
        SKIPPED => Err(packed.skipped()?),
        _ => return None,
    };
    packed.bytes.is_empty().then_some(summary)
}

#[cfg(all(test, feature = "index"))]
mod tests {
    use super::*;

    #[test]
    fn packed_facts_are_read_back_and_cut_ones_are_refused() {
        let summary = AgentSummary {
            directory: Some("/tmp/p".to_owned()),
            started: Some("2026-01-01T00:00:00Z".to_owned()),
            first_prompt: Some("日本語\nx".to_owned()),
            messages: 3,
            prompts: u64::MAX,
            ..AgentSummary::default()
        };
        let session: StoredSummary = Ok(("id".to_owned(), summary));
        let empty: StoredSummary = Err((HiddenReason::Empty, "it is empty".to_owned()));
        for stored in [session, empty] {
            let bytes = pack_stored(&stored).unwrap();
            assert_eq!(unpack_stored(&bytes), Some(stored));
            for length in 0..bytes.len() {
                assert_eq!(unpack_stored(&bytes[..length]), None, "{length}");
            }
            assert_eq!(unpack_stored(&[&bytes[..], b"x"].concat()), None);
        }
        let unreadable = Err((HiddenReason::Unreadable, "not now".to_owned()));
        assert_eq!(pack_stored(&unreadable), None);
    }
}
