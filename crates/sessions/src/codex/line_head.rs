//! The beginning of a record of a rollout, as Codex CLI writes it.

use crate::line_head::leading_member;

/// `{"timestamp":"…","ordinal":1,"type":"…","payload":{"type":"…"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RolloutHead<'l> {
    pub(super) timestamp: &'l [u8],
    pub(super) kind: &'l [u8],
    /// The type of the payload, if it comes first in it.
    pub(super) payload: Option<&'l [u8]>,
}

impl<'l> RolloutHead<'l> {
    /// None for a line that begins in another way.
    pub(super) fn read(line: &'l [u8]) -> Option<Self> {
        let (timestamp, rest) = leading_member(line, "{\"timestamp\":\"")?;
        let mut rest = rest.strip_prefix(b",")?;
        if let Some(ordinal) = rest.strip_prefix(b"\"ordinal\":") {
            let digits = ordinal.iter().take_while(|it| it.is_ascii_digit()).count();
            rest = ordinal[digits..].strip_prefix(b",")?;
        }
        let (kind, rest) = leading_member(rest, "\"type\":\"")?;
        let payload = leading_member(rest, ",\"payload\":{\"type\":\"");
        Some(Self {
            timestamp,
            kind,
            payload: payload.map(|(kind, _)| kind),
        })
    }

    /// The time of a whole line of which a list needs no more: an item that is no message, or a notice.
    pub(super) fn only_time(line: &'l [u8]) -> Option<&'l str> {
        let head = Self::read(line).filter(|_| line.ends_with(b"}}"))?;
        let has_no_message = match (head.kind, head.payload) {
            (b"response_item", Some(payload)) => payload != b"message",
            (b"event_msg", Some(_)) => true,
            _ => false,
        };
        let time = std::str::from_utf8(head.timestamp).ok();
        time.filter(|_| has_no_message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_needs_the_time_only_of_items_that_are_no_messages() {
        let line = |rest: &str| format!("{{\"timestamp\":\"t\",{rest}").into_bytes();
        let output = line(
            r#""type":"response_item","payload":{"type":"function_call_output","output":"x"}}"#,
        );
        assert_eq!(RolloutHead::only_time(&output), Some("t"));
        assert_eq!(RolloutHead::only_time(&output[..output.len() - 3]), None);
        let numbered = line(r#""ordinal":12,"type":"event_msg","payload":{"type":"token_count"}}"#);
        assert_eq!(RolloutHead::only_time(&numbered), Some("t"));
        let message = line(r#""type":"response_item","payload":{"type":"message","role":"user"}}"#);
        assert_eq!(RolloutHead::only_time(&message), None);
        let beginning = line(r#""type":"session_meta","payload":{"type":"x"}}"#);
        assert_eq!(RolloutHead::only_time(&beginning), None);
    }
}
