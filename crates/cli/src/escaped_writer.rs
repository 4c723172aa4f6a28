//! Escapes characters that JSON allows in a string but a terminal obeys: DEL, C1 control characters, and characters that change the
//! direction of writing. They are written as `\uXXXX`. Output that is not JSON is filtered earlier.

use std::io::{self, Write};

/// Passes bytes on to a terminal.
pub(crate) struct EscapedWriter<W> {
    to: W,
    /// The beginning of a character whose rest has not come.
    cut: Vec<u8>,
}

impl<W: Write> EscapedWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        let cut = Vec::new();
        Self { to, cut }
    }

    /// Passes on all but the beginning of a character at the end, and says how many bytes that has.
    fn pass_escaped(&mut self, mut rest: &[u8]) -> io::Result<usize> {
        while let Some(at) = rest
            .iter()
            .position(|byte| matches!(byte, 0x7f | 0xc2 | 0xe2))
        {
            let (before, character) = rest.split_at(at);
            self.to.write_all(before)?;
            let length = match character[0] {
                0x7f => 1,
                0xc2 => 2,
                _ => 3,
            };
            let Some((character, behind)) = character.split_at_checked(length) else {
                return Ok(character.len());
            };
            if let Some(code) = std::str::from_utf8(character)
                .ok()
                .and_then(harmful_code_point)
            {
                write!(self.to, "\\u{code:04x}")?;
                rest = behind;
            } else {
                self.to.write_all(&character[..1])?;
                rest = &rest[at + 1..];
            }
        }
        self.to.write_all(rest)?;
        Ok(0)
    }
}

fn harmful_code_point(character: &str) -> Option<u32> {
    let character = character.chars().next()?;
    let is_harmful = matches!(
        character,
        '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_harmful.then_some(character.into())
}

impl<W: Write> Write for EscapedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let left = self.pass_escaped(&all)?;
        self.cut = all.split_off(all.len() - left);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded_by_json_wherever_the_pieces_are_cut() {
        let said = "{\"a\":\"\u{7f}\u{9b}31m \u{202e}\u{2066}x€ ©â\u{200b}\u{a0}\"}\n".as_bytes();
        let shown = "{\"a\":\"\\u007f\\u009b31m \\u202e\\u2066x€ ©â\u{200b}\u{a0}\"}\n";
        for at in 0..=said.len() {
            let mut seen = Vec::new();
            let mut escaped = EscapedWriter::new(&mut seen);
            let (before, after) = said.split_at(at);
            escaped.write_all(before).unwrap();
            escaped.write_all(after).unwrap();
            assert_eq!(String::from_utf8(seen).unwrap(), shown, "{at}");
        }
    }
}
