//! What was read of a file, as one value: a column for each of its fields takes three times as long to read.

use crate::scan::{Summary, Unreadable};

/// Of what kind it is.
const SESSION: u8 = 0;
const EMPTY: u8 = 1;
const TOO_LARGE: u8 = 2;
const NO_SESSION: u8 = 3;

/// Stands for the length of a text that is not there.
const ABSENT: u32 = u32::MAX;

/// What was read of a file. None if that may be different in a moment.
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
        project_hash,
        start_time,
        last_updated,
        summary,
        kind,
        message_count,
        user_message_count,
        first_user_message,
        is_resumable,
        unreadable_lines,
    } = summary;
    let mut bytes = vec![SESSION, u8::from(*is_resumable)];
    for number in [message_count, user_message_count, unreadable_lines] {
        bytes.extend(number.to_le_bytes());
    }
    let texts = [
        project_hash,
        start_time,
        last_updated,
        summary,
        kind,
        first_user_message,
    ];
    add(&mut bytes, Some(id))?;
    for text in texts {
        add(&mut bytes, text.as_ref())?;
    }
    Some(bytes)
}

fn add(bytes: &mut Vec<u8>, text: Option<&String>) -> Option<()> {
    let length = match text {
        Some(text) => u32::try_from(text.len()).ok()?,
        None => ABSENT,
    };
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.map(String::as_bytes).unwrap_or_default());
    Some(())
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
    let (is_resumable, mut rest) = bytes.split_first()?;
    Some(Summary {
        is_resumable: *is_resumable != 0,
        message_count: number(&mut rest)?,
        user_message_count: number(&mut rest)?,
        unreadable_lines: number(&mut rest)?,
        id: text(&mut rest)??,
        project_hash: text(&mut rest)?,
        start_time: text(&mut rest)?,
        last_updated: text(&mut rest)?,
        summary: text(&mut rest)?,
        kind: text(&mut rest)?,
        first_user_message: text(&mut rest)?,
    })
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk::<8>()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

/// A text, if it is there; and none at all if it cannot be read.
#[expect(clippy::option_option, reason = "a text may be absent")]
fn text(rest: &mut &[u8]) -> Option<Option<String>> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    if length == ABSENT {
        *rest = behind;
        return Some(None);
    }
    let (text, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    let text = simdutf8::basic::from_utf8(text).ok()?;
    Some(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_nothing_else() {
        let summary = Summary {
            id: "id".to_owned(),
            project_hash: None,
            start_time: Some(String::new()),
            last_updated: Some("später".to_owned()),
            summary: None,
            kind: Some("main".to_owned()),
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
