//! Writing a session's final state as a log that Gemini CLI reads.

use std::io::{self, Write};

use lapidary_json::{TokenKind, compact};

use super::ReplayedLog;

impl ReplayedLog<'_> {
    /// Writes the session in its final state, a header and then one message a line, for `--session-file` and for `--resume`.
    ///
    /// Fields that the CLI requires are added where they are missing: a project's hash, without which it does not take the file
    /// for its own, and ids of messages, without which it skips them.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_header(out)?;
        for (message, number) in self.messages().zip(1_u64..) {
            let text = compact(message);
            let has_id = message
                .get("id")
                .is_some_and(|id| id.kind() == TokenKind::String);
            match text.strip_prefix('{').filter(|_| !has_id) {
                Some(rest) => {
                    let is_empty = rest.trim_start().starts_with('}');
                    let comma = if is_empty { "" } else { "," };
                    // Last, since of two members of one name the last counts.
                    let rest = rest.strip_suffix('}').unwrap_or(rest);
                    writeln!(out, "{{{rest}{comma}\"id\":\"message-{number}\"}}")?;
                }
                None => writeln!(out, "{text}")?,
            }
        }
        Ok(())
    }

    fn write_header(&self, out: &mut impl Write) -> io::Result<()> {
        let mut comma = "{";
        for (key, value) in self.metadata() {
            write!(out, "{comma}{}:{}", key.as_str(), compact(value))?;
            comma = ",";
        }
        for name in ["sessionId", "projectHash"] {
            let is_there = self
                .get(name)
                .is_some_and(|value| value.kind() == TokenKind::String && value.is_truthy());
            if !is_there {
                write!(out, "{comma}\"{name}\":\"unknown\"")?;
                comma = ",";
            }
        }
        out.write_all(b"}\n")
    }
}
