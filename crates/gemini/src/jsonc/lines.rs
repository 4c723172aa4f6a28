//! Where the bytes of a text are, for people: line and letter.

use std::borrow::Cow;

use crate::notice::TextPosition;

/// How many bytes are counted anew for a place. A text may be one line of any length.
const BLOCK: usize = 1024;

/// The lines of a text, so that a place does not cost more the further down it is.
#[derive(Debug)]
pub(crate) struct LineIndex<'a> {
    text: Cow<'a, str>,
    /// Where they begin.
    starts: Vec<usize>,
    /// How many letters begin before each block.
    letters: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(crate) fn new(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let blocks = text.as_bytes().chunks(BLOCK);
        let letters = blocks.scan(0, |before, block| {
            let here = *before;
            *before += count_letters(block);
            Some(here)
        });
        Self {
            starts: std::iter::once(0).chain(ends).collect(),
            letters: letters.collect(),
            text,
        }
    }

    /// Where a line begins. The first is 1.
    pub(super) fn line_start(&self, line: usize) -> usize {
        let start = self.starts.get(line.saturating_sub(1));
        start.copied().unwrap_or(self.text.len())
    }

    /// Where a byte is.
    pub(crate) fn byte_position(&self, byte: usize) -> TextPosition {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts[line - 1];
        TextPosition {
            line,
            column: self.letters_before(byte) - self.letters_before(start) + 1,
        }
    }

    /// How many letters begin before a byte.
    fn letters_before(&self, byte: usize) -> usize {
        let block = (byte / BLOCK).min(self.letters.len().saturating_sub(1));
        let letters = self.letters.get(block).copied().unwrap_or_default();
        letters + count_letters(&self.text.as_bytes()[block * BLOCK..byte])
    }
}

/// How many letters begin in these bytes of UTF-8.
fn count_letters(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .filter(|byte| (**byte & 0b1100_0000) != 0b1000_0000)
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, found by counting from the start.
    fn counted(text: &str, byte: usize) -> TextPosition {
        let before = &text[..byte];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        TextPosition {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn a_place_is_where_counting_finds_it(text in "([aé𝄞]{0,999}\n?){0,5}") {
            let lines = LineIndex::new(&text);
            let letters = text.char_indices().map(|(at, _)| at);
            for byte in letters.step_by(23).chain([text.len()]) {
                prop_assert_eq!(lines.byte_position(byte), counted(&text, byte));
            }
        }
    }
}
