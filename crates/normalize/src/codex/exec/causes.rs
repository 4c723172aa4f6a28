//! Causes of failed turns by their words: `turn.failed` has nothing else (0.166.0).

use lapidary_json::Token;
use lapidary_vocab::{Cause, Text};

use crate::own::{self, string_token};

/// Beginnings of messages, and their causes.
const BEGINNINGS: [(&str, Cause); 6] = [
    ("unexpected status 401", Cause::AuthRequired),
    ("unexpected status 403", Cause::AuthRequired),
    (
        "exceeded retry limit, last status: 429",
        Cause::QuotaRetryable,
    ),
    ("Quota exceeded.", Cause::QuotaTerminal),
    ("You’ve hit your usage limit", Cause::QuotaTerminal),
    ("You've hit your usage limit", Cause::QuotaTerminal),
];

/// The cause of a failed turn. Messages that are not listed are errors of the API.
pub(super) fn cause_of_message(message: &str) -> Option<Cause> {
    let mut known = BEGINNINGS.iter();
    let told = known.find(|(start, _)| message.starts_with(start));
    told.map(|(_, cause)| cause.clone())
}

/// The HTTP status that a message names.
pub(super) fn http_status(message: &str) -> Option<u64> {
    let starts = ["unexpected status ", "exceeded retry limit, last status: "];
    let rest = starts
        .iter()
        .find_map(|start| message.strip_prefix(start))?;
    rest.split(' ').next()?.parse().ok()
}

/// The words of a message: some are the API's whole answer, `{"error":{"message":…}}`.
pub(super) fn readable_message(message: Token<'_>) -> Text {
    let text = message.string().unwrap_or_default();
    let answer = Token::parse(&text).ok();
    let words = answer.and_then(|it| it.get("error")?.get("message"));
    match string_token(words) {
        Some(words) => own::owned_text(words),
        None => own::owned_text(message),
    }
}
