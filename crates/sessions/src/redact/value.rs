//! Where a value begins and ends in a text.

use std::ops::Range;

/// The shortest value within quotes, and without.
const SHORTEST_QUOTED: usize = 4;
const SHORTEST_BARE: usize = 6;

/// The value after a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssignedValue {
    pub(super) range: Range<usize>,
    pub(super) is_quoted: bool,
}

/// The values of one text. Names may stand within values, so many values can end at one place: each end is looked for once only.
#[derive(Debug)]
pub(super) struct AssignedValues<'a> {
    text: &'a [u8],
    /// Where the stretch ends that was looked at last: without a quote, and for each quote.
    ends: [Range<usize>; 4],
}

const QUOTES: &[u8; 3] = b"\"'`";

impl<'a> AssignedValues<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let ends = [0..0, 0..0, 0..0, 0..0];
        Self { text, ends }
    }

    /// The first of the values assigned there that is the wanted one: in `password: &str = "…"` a type comes first.
    pub(super) fn assigned_at(
        &mut self,
        start: usize,
        is_wanted: impl Fn(&AssignedValue) -> bool,
    ) -> Option<Range<usize>> {
        if let Some(value) = self.value_at(start).filter(&is_wanted) {
            return Some(value.range);
        }
        let value = self.value_at(behind_type(self.text, start)?)?;
        is_wanted(&value).then_some(value.range)
    }

    /// The value that begins there. A quoted one may hold any byte but its quote; a bare one ends where a shell or a URL would
    /// end it.
    pub(super) fn value_at(&mut self, start: usize) -> Option<AssignedValue> {
        let start = self.behind_marks(start);
        let escapes = prefix_length(&self.text[start..], |byte| byte == b'\\');
        let quote = self.text.get(start + escapes)?;
        if let Some(place) = QUOTES.iter().position(|it| it == quote) {
            return self.quoted_value(start + escapes + 1, place);
        }
        let end = self.value_end(start, 3, is_bare);
        let word = &self.text[start..end];
        // `password:` alone on its line, and the next name below it; or `token::Kind`.
        if word.ends_with(b":") || word.starts_with(b":") {
            return None;
        }
        // A full stop ends a sentence, unless more of the value follows.
        let length = word.strip_suffix(b".").unwrap_or(word).len();
        (length >= SHORTEST_BARE).then(|| AssignedValue {
            range: start..start + length,
            is_quoted: false,
        })
    }

    fn quoted_value(&mut self, start: usize, place: usize) -> Option<AssignedValue> {
        let quote = QUOTES[place];
        let end = self.value_end(start, place, |byte| {
            byte != quote && !b"\r\n\\".contains(&byte)
        });
        let rest = &self.text[end..];
        let escapes = prefix_length(rest, |byte| byte == b'\\');
        let is_closed = rest.get(escapes).is_none_or(|byte| *byte == quote);
        (is_closed && end - start >= SHORTEST_QUOTED).then_some(AssignedValue {
            range: start..end,
            is_quoted: true,
        })
    }

    /// Skips signs that may stand before a quote: `b"…"`, `["…"]`.
    fn behind_marks(&self, start: usize) -> usize {
        match self.text.get(start..start + 2) {
            Some([b'b' | b'r' | b'u' | b'f' | b'B' | b'@' | b'[', quote])
                if QUOTES.contains(quote) || *quote == b'\\' =>
            {
                start + 1
            }
            _ => start,
        }
    }

    fn value_end(&mut self, start: usize, place: usize, is_part: impl Fn(u8) -> bool) -> usize {
        let last = &mut self.ends[place];
        if !last.contains(&start) {
            *last = start..start + prefix_length(&self.text[start..], is_part);
        }
        last.end
    }
}

/// Where the value begins behind a type: `&str = `.
fn behind_type(text: &[u8], start: usize) -> Option<usize> {
    const LONGEST_TYPE: usize = 32;
    let rest = &text[start..text.len().min(start + LONGEST_TYPE)];
    let of_type = prefix_length(rest, |byte| {
        byte.is_ascii_alphanumeric() || b"_&'<>[]. ".contains(&byte)
    });
    let sign = rest[of_type..].strip_prefix(b"=")?;
    let blanks = prefix_length(sign, |byte| byte == b' ');
    Some(start + of_type + 1 + blanks)
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`,;&|<>(){}[]$\\\x0b".contains(&byte)
}

fn prefix_length(text: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_part(**byte)).count()
}
