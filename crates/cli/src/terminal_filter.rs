//! A writer for an agent's bytes. A terminal obeys control characters, so for a terminal they are filtered out; for a pipe or a
//! file all bytes pass unchanged.

use std::io::{self, Write};

use lapidary::render::plain::ChunkFilter;

/// Passes bytes on, harmless ones if they go to a terminal.
pub(crate) struct TerminalFilter<W> {
    to: W,
    filter: Option<FilterState>,
}

#[derive(Default)]
struct FilterState {
    chunks: ChunkFilter,
    /// The beginning of a character whose rest has not come.
    cut: Vec<u8>,
}

impl<W: Write> TerminalFilter<W> {
    pub(crate) fn new(to: W, is_terminal: bool) -> Self {
        let filter = is_terminal.then(FilterState::default);
        Self { to, filter }
    }

    /// Writes the bytes that were held back as a possible beginning of a character or sequence.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Some(filter) = &mut self.filter {
            let cut = std::mem::take(&mut filter.cut);
            let mut text = filter.chunks.push(&String::from_utf8_lossy(&cut));
            text.push_str(&filter.chunks.finish());
            self.to.write_all(text.as_bytes())?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for TerminalFilter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.filter {
            None => self.to.write(bytes),
            Some(filter) => {
                let text = filter.push(bytes);
                self.to.write_all(text.as_bytes())?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl FilterState {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.cut.extend_from_slice(bytes);
        let whole = self.cut.len() - cut_short(&self.cut);
        let rest = self.cut.split_off(whole);
        let bytes = std::mem::replace(&mut self.cut, rest);
        self.chunks.push(&String::from_utf8_lossy(&bytes))
    }
}

/// How many bytes at the end are the beginning of a character.
fn cut_short(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last().map(|chunk| chunk.invalid()) {
        // Up to three bytes may be the beginning of a character. Four or more invalid bytes are not.
        Some(invalid)
            if invalid.len() < 4
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) =>
        {
            invalid.len()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]], is_terminal: bool) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut harmless = TerminalFilter::new(&mut shown, is_terminal);
        for piece in pieces {
            harmless.write_all(piece).unwrap();
        }
        harmless.finish().unwrap();
        shown
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        let pieces: [&[u8]; 3] = [b"\x1b[31mred\xff", b"\xe2\x82", b"\xac\r\n\0"];
        assert_eq!(shown(&pieces, false), pieces.concat());
    }

    #[test]
    fn a_terminal_is_not_commanded_wherever_the_pieces_are_cut() {
        let said = "a\u{1b}]0;title\u{7}b € \u{1b}[2Jc\u{9b}31md\n".as_bytes();
        for at in 0..said.len() {
            let (before, after) = said.split_at(at);
            assert_eq!(
                shown(&[before, after], true),
                "ab € cd\n".as_bytes(),
                "{at}"
            );
        }
        assert_eq!(shown(&[b"x\xe2\x82"], true), "x\u{fffd}".as_bytes());
        assert_eq!(
            shown(&[b"\xff\xfe", b"y"], true),
            "\u{fffd}\u{fffd}y".as_bytes()
        );
    }
}
