//! Classifies long records of a log by their beginning.
//!
//! Nearly all of a log is results of tools, and a list needs none of it: only the presence of a message, its author, and whether
//! it makes the session resumable. A line that begins as the CLI writes records, ends with a brace and holds the beginning of no
//! other record is one whole record: half a record is followed by the next on the same line, or is the last line. Any other line
//! is parsed in full.

use memchr::memmem::Finder;

use super::super::message_text;
use super::log::MessageCounts;

/// Shorter ones are read whole as quickly.
const WORTH_IT: usize = 256;

/// Where everything stands that has to be known.
const BEGINNING: usize = 256;

/// Looks at the beginnings of records.
#[derive(Debug)]
pub(crate) struct RecordGlance {
    objects: Finder<'static>,
}

/// The class of a record, as far as its beginning tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordClass<'l> {
    /// Its id, with its quotes.
    pub(crate) id: &'l str,
    pub(super) counts: MessageCounts,
}

impl Default for RecordGlance {
    fn default() -> Self {
        Self {
            objects: Finder::new("{\""),
        }
    }
}

impl RecordGlance {
    /// The class of a line, if its beginning tells. The line must have been ended by a newline.
    pub(crate) fn line_class<'l>(&self, line: &'l [u8]) -> Option<RecordClass<'l>> {
        if line.len() < WORTH_IT || !line.starts_with(b"{\"id\":\"") || !line.ends_with(b"}") {
            return None;
        }
        let beginning = line_beginning(line)?;
        let (id, rest) = split_string(beginning.strip_prefix("{\"id\":")?)?;
        let (_, rest) = split_string(rest.strip_prefix(",\"timestamp\":")?)?;
        let (kind, rest) = split_string(rest.strip_prefix(",\"type\":")?)?;
        let kind = kind.trim_matches('"');
        let is_resumable = glance_resumable(kind, rest.strip_prefix(",\"content\":")?)?;
        if self.holds_another(line) {
            return None;
        }
        let counts = MessageCounts {
            is_user: kind == "user",
            is_resumable,
        };
        Some(RecordClass { id, counts })
    }

    /// True if a record may begin in the middle of the line. In strings quotes are escaped, so few places look like that.
    fn holds_another(&self, line: &[u8]) -> bool {
        let mut places = self.objects.find_iter(&line[1..]).map(|at| &line[at + 3..]);
        places.any(|key| match key {
            [b'$', ..] => true,
            [b'i', b'd', b'"', b':', b'"', id @ ..] => {
                let end = memchr::memchr(b'"', id).unwrap_or(id.len());
                id[end..].starts_with(b"\",\"timestamp\"")
            }
            key => key.starts_with(b"sessionId\""),
        })
    }
}

/// The time in the record behind every other one, which says when the log was last added to and nothing else.
pub(crate) fn time_of_touch(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"$set\":{\"lastUpdated\":\"")?;
    let time = rest.strip_suffix(b"\"}}")?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:.+".contains(byte);
    (!time.is_empty() && time.iter().all(is_plain)).then_some(time)
}

fn line_beginning(line: &[u8]) -> Option<&str> {
    let beginning = &line[..BEGINNING];
    match simdutf8::compat::from_utf8(beginning) {
        Ok(text) => Some(text),
        // Only a character that is cut in two is tolerated; other invalid bytes are no text.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&beginning[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// A string without escapes, with its quotes, and the rest of the text.
fn split_string(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let end = memchr::memchr2(b'"', b'\\', inside.as_bytes())?;
    (inside.as_bytes()[end] == b'"').then(|| text.split_at(end + 2))
}

/// Decides from the first bytes whether a message makes the session resumable; `None` if they do not suffice. The message that
/// supplies the title is parsed in full in `log.rs`.
fn glance_resumable(kind: &str, content: &str) -> Option<bool> {
    match kind {
        "info" | "error" | "warning" => return Some(false),
        "user" | "gemini" => {}
        _ => return None,
    }
    if message_text::begins_with_no_text(content) {
        return Some(true);
    }
    if kind == "gemini"
        && let Some(rest) = content.strip_prefix("\"\"")
    {
        let does = [",\"thoughts\":[{", ",\"toolCalls\":[{"];
        return does
            .iter()
            .any(|list| rest.starts_with(list))
            .then_some(true);
    }
    let text = content.strip_prefix("[{\"text\":").unwrap_or(content);
    let said = message_text::beginning_of_cut(text.strip_prefix('"')?)?;
    Some(kind == "gemini" || message_text::is_of_a_user(&said))
}
