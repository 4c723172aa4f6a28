//! What was read of a file, as one value: a column for each of its fields takes three times as long to read.

use crate::scan::{Summary, Unreadable};

/// Of what kind it is.
const SESSION: u8 = 0;
const EMPTY: u8 = 1;
const TOO_LARGE: u8 = 2;
const NO_SESSION: u8 = 3;

/// Stands for the length of a text that is not there.
const ABSENT: u32 = u32::MAX;

/// How many numbers a session has, and how many texts.
const NUMBERS: usize = 3;
const TEXTS: usize = 5;

/// What was read of a file: its kind, for a session its flags, numbers and the lengths of its texts, and the texts in one piece, so that
/// one look tells that all of them are UTF-8. None if that may be different in a moment.
pub(super) fn write(read: Result<&Summary, &Unreadable>) -> Option<Vec<u8>> {
    let summary = match read {
        Ok(summary) => summary,
        Err(Unreadable::Io(_)) => return None,
        Err(Unreadable::Empty) => return Some(vec![EMPTY]),
        Err(Unreadable::TooLarge) => return Some(vec![TOO_LARGE]),
        Err(Unreadable::NotASession) => return Some(vec![NO_SESSION]),
    };
    let Summary {
        id,
        has_project_hash,
        start_time,
        last_updated,
        summary,
        is_subagent,
        message_count,
        user_message_count,
        first_user_message,
        is_resumable,
        unreadable_lines,
    } = summary;
    let flags = [is_resumable, has_project_hash, is_subagent];
    let flags = flags.iter().rev();
    let mut bytes = vec![
        SESSION,
        flags.fold(0, |all, flag| all << 1 | u8::from(**flag)),
    ];
    for number in [message_count, user_message_count, unreadable_lines] {
        bytes.extend(number.to_le_bytes());
    }
    let texts = [start_time, last_updated, summary, first_user_message];
    let texts = texts.map(Option::as_deref);
    let texts = [&[Some(id.as_str())], &texts[..]].concat();
    for text in &texts {
        bytes.extend(length(*text)?.to_le_bytes());
    }
    bytes.extend(texts.into_iter().flatten().flat_map(str::as_bytes));
    Some(bytes)
}

fn length(text: Option<&str>) -> Option<u32> {
    match text {
        Some(text) => u32::try_from(text.len()).ok().filter(|it| *it != ABSENT),
        None => Some(ABSENT),
    }
}

/// The same again. None if it is nothing that was written so.
pub(super) fn read(bytes: &[u8]) -> Option<Result<Summary, Unreadable>> {
    let (kind, rest) = bytes.split_first()?;
    match *kind {
        SESSION => summary(rest).map(Ok),
        EMPTY => Some(Err(Unreadable::Empty)),
        TOO_LARGE => Some(Err(Unreadable::TooLarge)),
        NO_SESSION => Some(Err(Unreadable::NotASession)),
        _ => None,
    }
}

fn summary(bytes: &[u8]) -> Option<Summary> {
    let (flags, rest) = bytes.split_first()?;
    let (numbers, rest) = rest.split_first_chunk::<{ 8 * NUMBERS }>()?;
    let (lengths, rest) = rest.split_first_chunk::<{ 4 * TEXTS }>()?;
    let (numbers, _) = numbers.as_chunks();
    let (lengths, _) = lengths.as_chunks();
    let mut texts = Texts {
        lengths: lengths.iter(),
        rest: simdutf8::basic::from_utf8(rest).ok()?,
    };
    let summary = Summary {
        is_resumable: flags & 1 != 0,
        has_project_hash: flags & 2 != 0,
        is_subagent: flags & 4 != 0,
        message_count: u64::from_le_bytes(numbers[0]),
        user_message_count: u64::from_le_bytes(numbers[1]),
        unreadable_lines: u64::from_le_bytes(numbers[2]),
        id: texts.next()??,
        start_time: texts.next()?,
        last_updated: texts.next()?,
        summary: texts.next()?,
        first_user_message: texts.next()?,
    };
    texts.rest.is_empty().then_some(summary)
}

/// The texts of a session, one after the other.
struct Texts<'b> {
    lengths: std::slice::Iter<'b, [u8; 4]>,
    rest: &'b str,
}

impl Texts<'_> {
    /// A text, if it is there; and none at all if it cannot be read.
    #[expect(clippy::option_option, reason = "a text may be absent")]
    fn next(&mut self) -> Option<Option<String>> {
        let length = u32::from_le_bytes(*self.lengths.next()?);
        if length == ABSENT {
            return Some(None);
        }
        let length = usize::try_from(length).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Some(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_nothing_else() {
        let summary = Summary {
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
        let bytes = write(Ok(&summary)).unwrap();
        assert_eq!(read(&bytes).unwrap().unwrap(), summary);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_none(), "{length}");
        }
        let empty = write(Err(&Unreadable::Empty)).unwrap();
        assert!(matches!(read(&empty), Some(Err(Unreadable::Empty))));
        assert!(read(&[9]).is_none());
    }
}
