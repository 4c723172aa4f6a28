//! The beginning of a record, as Qwen Code writes it.

use crate::line_head::leading_member;

/// `{"uuid":"…","parentUuid":"…","sessionId":"…","timestamp":"…","type":"…"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QwenHead<'l> {
    pub(super) timestamp: &'l [u8],
    pub(super) kind: &'l [u8],
}

impl<'l> QwenHead<'l> {
    /// None for a line that begins in another way.
    pub(super) fn read(line: &'l [u8]) -> Option<Self> {
        let (_, rest) = leading_member(line, "{\"uuid\":\"")?;
        let rest = match rest.strip_prefix(b",\"parentUuid\":null") {
            Some(rest) => rest,
            None => leading_member(rest, ",\"parentUuid\":\"")?.1,
        };
        let (_, rest) = leading_member(rest, ",\"sessionId\":\"")?;
        let (timestamp, rest) = leading_member(rest, ",\"timestamp\":\"")?;
        let (kind, _) = leading_member(rest, ",\"type\":\"")?;
        Some(Self { timestamp, kind })
    }

    /// The time of a whole line that is the result of a tool, of which a list needs no more.
    pub(super) fn result_time(line: &'l [u8]) -> Option<&'l str> {
        let head = Self::read(line).filter(|_| line.ends_with(b"}}"))?;
        let time = std::str::from_utf8(head.timestamp).ok();
        time.filter(|_| head.kind == b"tool_result")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_needs_the_time_only_of_a_whole_result() {
        let line = r#"{"uuid":"u","parentUuid":"p","sessionId":"s","timestamp":"t","type":"tool_result","message":{}}"#;
        assert_eq!(QwenHead::result_time(line.as_bytes()), Some("t"));
        assert_eq!(
            QwenHead::result_time(&line.as_bytes()[..line.len() - 1]),
            None
        );
        let first = line.replace("\"p\"", "null");
        assert_eq!(QwenHead::result_time(first.as_bytes()), Some("t"));
        let said = line.replace("tool_result", "user");
        assert_eq!(QwenHead::result_time(said.as_bytes()), None);
        let other = line.replacen("uuid", "id", 1);
        assert_eq!(QwenHead::result_time(other.as_bytes()), None);
    }
}
