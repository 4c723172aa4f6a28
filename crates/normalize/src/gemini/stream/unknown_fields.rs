//! Messages about lines with unknown or missing fields.

use std::borrow::Cow;
use std::collections::BTreeSet;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_wire::gemini::stream::{LineContent, StreamLine};

use super::line::{CurrentLine, LineFlaw};
use crate::excerpt::shortened_name;
use crate::stream_run::unreadable_text;

/// How many different unknown fields are reported. They are all kept; this only bounds the reports.
pub(crate) const MOST_REPORTED: usize = 64;

/// The unknown fields that were reported already.
#[derive(Debug, Default)]
pub(super) struct ReportedFields(BTreeSet<String>);

impl ReportedFields {
    /// Keeps unknown fields as extensions, and reports each of them once.
    pub(super) fn unknown_fields(
        &mut self,
        line: &StreamLine<'_>,
        fields: &[(Cow<'_, str>, Token<'_>)],
        current: &mut CurrentLine<'_>,
    ) {
        for (key, value) in fields {
            current.add_extension(key, *value);
            let name = format!("{}.{}", type_name(line), shortened_name(key));
            if self.0.len() >= MOST_REPORTED || !self.0.insert(name.clone()) {
                continue;
            }
            let message = if self.0.len() == MOST_REPORTED {
                format!("unknown field `{name}`; further ones are kept but not reported")
            } else {
                format!("unknown field `{name}`")
            };
            current.add_complaint(DiagnosticKind::UnknownField, message);
        }
    }
}

/// More unknown fields than are taken out of a line. They are in its `raw`.
pub(super) fn more_unknown(count: usize, current: &mut CurrentLine<'_>) {
    if count > 0 {
        let message = format!("{count} more unknown fields, which are not in `extensions`");
        current.add_complaint(DiagnosticKind::UnknownField, message);
    }
}

/// Keys that stand twice: one report for a line, however many there are.
pub(super) fn repeated_keys(keys: &[Cow<'_, str>], current: &mut CurrentLine<'_>) {
    let message = match keys {
        [] => return,
        [key] => format!(
            "the key `{}` stands twice; the last value was taken",
            shortened_name(key)
        ),
        [key, more @ ..] => format!(
            "the key `{}` and {} more stand twice; the last values were taken",
            shortened_name(key),
            more.len()
        ),
    };
    current.add_complaint(DiagnosticKind::DuplicateKey, message);
}

/// A line of a known type that lacks a required field.
pub(super) fn flaw_message(line: &StreamLine<'_>, flaw: &LineFlaw) -> String {
    let place = format!("`{}.{}`", type_name(line), flaw.field);
    match flaw.found {
        Some(TokenKind::String) => format!("{place} has a value we do not know"),
        Some(kind) => format!("{place} is {}, not a string", kind.described()),
        None => format!("{place} is missing"),
    }
}

/// A line of no known type.
pub(super) fn untranslatable_line(
    content: &LineContent<'_>,
    text: &str,
) -> (DiagnosticKind, String) {
    match content {
        LineContent::UnknownType(name) => {
            let message = format!("unknown event type {}", shortened_name(name.as_str()));
            (DiagnosticKind::UnknownType, message)
        }
        LineContent::Untyped => {
            let message = "an object without a type".to_owned();
            (DiagnosticKind::UnknownType, message)
        }
        LineContent::NotAnObject(kind) => {
            let message = format!("{} instead of an object", kind.described());
            (DiagnosticKind::MalformedLine, message)
        }
        LineContent::NotJson(invalid) => unreadable_text(text, &invalid.to_string()),
        LineContent::Known(line) => {
            let message = format!("an odd `{}` line", type_name(line));
            (DiagnosticKind::InvalidField, message)
        }
    }
}

fn type_name(line: &StreamLine<'_>) -> &'static str {
    match line {
        StreamLine::Init(_) => "init",
        StreamLine::Message(_) => "message",
        StreamLine::ToolUse(_) => "tool_use",
        StreamLine::ToolResult(_) => "tool_result",
        StreamLine::Error(_) => "error",
        StreamLine::Result(_) => "result",
    }
}
