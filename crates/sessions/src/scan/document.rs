//! A session that is one document.

use lapidary_json::{Token, TokenKind, scan_object_and_list};

use super::super::message_text;
use super::FileSummary;
use super::log::{LogReading, RecordFields};

/// A session as one document, as up to 0.38. None if the text is no such document.
pub(super) fn parse_document(text: &str) -> Option<FileSummary> {
    let mut is_session = false;
    let mut counted = FileSummary::default();
    let mut reading = LogReading::default();
    let mut is_titled = false;
    let whole = scan_object_and_list(
        text,
        "messages",
        |message| count_message(message, &mut counted, &mut is_titled),
        |key, value| {
            is_session |= key.as_str() == "\"sessionId\"" && value.kind() == TokenKind::String;
            reading.read_metadata_field(key, value);
        },
    );
    whole.ok()?;
    let summary = FileSummary {
        message_count: counted.message_count,
        user_message_count: counted.user_message_count,
        first_user_message: counted.first_user_message,
        is_resumable: counted.is_resumable,
        ..reading.summary
    };
    is_session.then_some(summary)
}

/// Counts a message. Only the first resumable message of the user can give the title, even if it has no text.
fn count_message(message: Token<'_>, summary: &mut FileSummary, is_titled: &mut bool) {
    summary.message_count += 1;
    let mut members = message.members();
    let kind = members.find(|(key, _)| key.as_str() == "\"type\"");
    let is_user = kind.is_some_and(|(_, kind)| kind.is("user"));
    summary.user_message_count += u64::from(is_user);
    let is_untitled = is_user && !*is_titled;
    if summary.is_resumable && !is_untitled {
        return;
    }
    let fields = RecordFields::from_record(message);
    let counts = fields.message_counts();
    summary.is_resumable |= counts.is_resumable;
    if is_untitled && counts.is_resumable {
        *is_titled = true;
        let said = fields.content.map(message_text::says).unwrap_or_default();
        summary.first_user_message = (!said.is_empty()).then(|| said.into_owned());
    }
}
