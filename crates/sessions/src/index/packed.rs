//! The summary of a file, as one value: a column for each of its fields takes three times as long to read.

use crate::scan::{CompactSummary, FileSummary, SummaryFacts, SummaryTime, TEXTS, UnreadableFile};

/// The kind of a value.
const SESSION: u8 = 0;
const EMPTY: u8 = 1;
const TOO_LARGE: u8 = 2;
const NO_SESSION: u8 = 3;

/// How many numbers a session has.
const NUMBERS: usize = 5;

/// Packs the summary of a file: its kind, for a session its flags, numbers and the lengths of its texts, and the texts in one
/// piece, so that one check tells that all of them are UTF-8. None for an error that may be gone in a moment.
pub(super) fn pack_summary(read: Result<&FileSummary, &UnreadableFile>) -> Option<Vec<u8>> {
    let summary = match read {
        Ok(summary) => CompactSummary::from(summary),
        Err(UnreadableFile::Io(_)) => return None,
        Err(UnreadableFile::Empty) => return Some(vec![EMPTY]),
        Err(UnreadableFile::TooLarge) => return Some(vec![TOO_LARGE]),
        Err(UnreadableFile::NotASession) => return Some(vec![NO_SESSION]),
    };
    let SummaryFacts {
        message_count,
        user_message_count,
        unreadable_lines,
        started,
        updated,
        has_project_hash,
        is_subagent,
        is_resumable,
    } = summary.facts;
    let flags = [is_resumable, has_project_hash, is_subagent];
    let flags = flags.iter().rev();
    let mut bytes = vec![
        SESSION,
        flags.fold(0, |all, flag| all << 1 | u8::from(*flag)),
    ];
    for number in [message_count, user_message_count, unreadable_lines] {
        bytes.extend(number.to_le_bytes());
    }
    for time in [started, updated] {
        bytes.extend(time.to_le_bytes());
    }
    let (lengths, texts) = summary.text_parts();
    bytes.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    bytes.extend(texts.as_bytes());
    Some(bytes)
}

/// The same again. None if it is nothing that was written so.
pub(super) fn unpack_summary(bytes: &[u8]) -> Option<Result<CompactSummary, UnreadableFile>> {
    let (kind, rest) = bytes.split_first()?;
    match *kind {
        SESSION => unpack_session(rest).map(Ok),
        EMPTY => Some(Err(UnreadableFile::Empty)),
        TOO_LARGE => Some(Err(UnreadableFile::TooLarge)),
        NO_SESSION => Some(Err(UnreadableFile::NotASession)),
        _ => None,
    }
}

fn unpack_session(bytes: &[u8]) -> Option<CompactSummary> {
    let (flags, rest) = bytes.split_first()?;
    let (numbers, rest) = rest.split_first_chunk::<{ 8 * NUMBERS }>()?;
    let (lengths, rest) = rest.split_first_chunk::<{ 4 * TEXTS }>()?;
    let (numbers, _) = numbers.as_chunks();
    let (lengths, _) = lengths.as_chunks();
    let facts = SummaryFacts {
        is_resumable: flags & 1 != 0,
        has_project_hash: flags & 2 != 0,
        is_subagent: flags & 4 != 0,
        message_count: u64::from_le_bytes(numbers[0]),
        user_message_count: u64::from_le_bytes(numbers[1]),
        unreadable_lines: u64::from_le_bytes(numbers[2]),
        started: SummaryTime::from_le_bytes(numbers[3]),
        updated: SummaryTime::from_le_bytes(numbers[4]),
    };
    let texts = simdutf8::basic::from_utf8(rest).ok()?;
    let lengths = std::array::from_fn(|place| u32::from_le_bytes(lengths[place]));
    CompactSummary::parse(texts, lengths, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_summary_is_read_back_and_a_cut_one_is_refused() {
        let summary = FileSummary {
            id: "id".to_owned(),
            has_project_hash: true,
            start_time: Some(String::new()),
            last_updated: Some("später".to_owned()),
            summary: None,
            is_subagent: false,
            message_count: 3,
            user_message_count: u64::MAX,
            first_user_message: Some("日本語".to_owned()),
            is_resumable: true,
            unreadable_lines: 0,
        };
        let bytes = pack_summary(Ok(&summary)).unwrap();
        let read_again = unpack_summary(&bytes).unwrap().unwrap();
        assert_eq!(read_again, CompactSummary::from(&summary));
        assert_eq!(read_again.last_updated(), Some("später"));
        assert_eq!(read_again.first_user_message(), "");
        assert_eq!(read_again.display_name(), "日本語");
        assert_eq!((read_again.id(), read_again.summary()), ("id", None));
        for length in 0..bytes.len() {
            assert!(unpack_summary(&bytes[..length]).is_none(), "{length}");
        }
        let empty = pack_summary(Err(&UnreadableFile::Empty)).unwrap();
        assert!(matches!(
            unpack_summary(&empty),
            Some(Err(UnreadableFile::Empty))
        ));
        assert!(unpack_summary(&[9]).is_none());
    }
}
