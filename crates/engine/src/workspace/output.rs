//! The end of a terminal's output.

/// How many bytes may be kept beyond the limit, so that not every new byte moves all others.
const SLACK: usize = 64 * 1024;

/// The end of a text that grows. It never holds more than twice its limit and a bit.
#[derive(Debug)]
pub(super) struct OutputTail {
    text: String,
    /// The start of a character whose end has not come yet.
    partial: Vec<u8>,
    limit: usize,
    dropped: bool,
}

impl OutputTail {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            partial: Vec::new(),
            limit,
            dropped: false,
        }
    }

    /// Adds new bytes. Bytes that are no characters read as U+FFFD.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, behind) = rest.split_at(error.valid_up_to());
            self.text.push_str(&String::from_utf8_lossy(valid));
            let Some(invalid) = error.error_len() else {
                self.partial = behind.to_vec();
                rest = &[];
                break;
            };
            self.text.push(char::REPLACEMENT_CHARACTER);
            rest = &behind[invalid..];
        }
        self.text.push_str(&String::from_utf8_lossy(rest));
        self.cut_excess();
    }

    /// Nothing comes any more: half a character stays half.
    pub(super) fn finish(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// The end of it, within the limit and from a character on.
    pub(super) fn tail_text(&self) -> &str {
        &self.text[self.tail_start()..]
    }

    /// Whether that is not all.
    pub(super) fn is_truncated(&self) -> bool {
        self.dropped || self.tail_start() > 0
    }

    fn tail_start(&self) -> usize {
        let start = self.text.len().saturating_sub(self.limit);
        self.text.ceil_char_boundary(start)
    }

    fn cut_excess(&mut self) {
        if self.text.len() > self.limit.saturating_mul(2).saturating_add(SLACK) {
            self.text.drain(..self.tail_start());
            self.dropped = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(limit: usize, parts: &[&[u8]]) -> OutputTail {
        let mut output = OutputTail::new(limit);
        for part in parts {
            output.push(part);
        }
        output
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let mut output = filled(100, &[b"caf\xc3"]);
        assert_eq!(output.tail_text(), "caf");
        output.push(b"\xa9");
        assert_eq!(output.tail_text(), "caf\u{e9}");
        output.push(b"\xf0\x9f");
        output.finish();
        assert_eq!(output.tail_text(), "caf\u{e9}\u{fffd}");
    }

    #[test]
    fn the_kept_output_begins_between_characters() {
        let output = filled(4, &["a\u{20ac}\u{20ac}".as_bytes()]);
        assert_eq!(
            (output.tail_text(), output.is_truncated()),
            ("\u{20ac}", true)
        );
        let output = filled(7, &["a\u{20ac}\u{20ac}".as_bytes()]);
        assert_eq!(
            (output.tail_text(), output.is_truncated()),
            ("a\u{20ac}\u{20ac}", false)
        );
        let output = filled(0, &[b"a"]);
        assert_eq!((output.tail_text(), output.is_truncated()), ("", true));
    }

    #[test]
    fn the_buffer_of_an_output_tail_does_not_grow() {
        let mut output = OutputTail::new(1000);
        for _ in 0..1000 {
            output.push(&[b'x'; 10_000]);
            assert!(output.text.capacity() < 4 * SLACK);
        }
        assert_eq!(output.tail_text().len(), 1000);
    }

    proptest! {
        #[test]
        fn output_reads_the_same_in_any_chunks(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            limit in 0_usize..300,
        ) {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut output = OutputTail::new(limit);
            for pair in cuts.windows(2) {
                output.push(&bytes[pair[0]..pair[1]]);
            }
            output.finish();
            let all = String::from_utf8_lossy(&bytes);
            prop_assert!(output.tail_text().len() <= limit);
            prop_assert!(all.ends_with(output.tail_text()));
            prop_assert_eq!(output.is_truncated(), output.tail_text() != all);
        }
    }
}
