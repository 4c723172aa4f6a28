//! Writes clean text with margins and, if wanted, colours. All that reaches the terminal goes through here.

use std::io::{self, Write};

use anstyle::Style;

use crate::ink::TextInk;
use crate::live::MarkSet;
use crate::plain::{ChunkFilter, one_line, sanitize};

/// Knows where on the line it stands, so that chunks continue and lines begin where they should.
#[derive(Debug)]
pub(super) struct LinePen {
    colour: bool,
    pub(super) marks: MarkSet,
    chunks: ChunkFilter,
    /// The margin and ink of the text that is being written in chunks.
    speaking: Option<(&'static str, TextInk)>,
    is_within_line: bool,
}

impl LinePen {
    pub(super) fn new(colour: bool) -> Self {
        Self {
            colour,
            marks: MarkSet::default(),
            chunks: ChunkFilter::default(),
            speaking: None,
            is_within_line: false,
        }
    }

    /// Writes one line of its own. Newlines within the text do not get through.
    pub(super) fn write_line(
        &mut self,
        ink: TextInk,
        text: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.end_line(out)?;
        self.write_inked(ink, one_line(text).trim_end(), out)?;
        out.write_all(b"\n")
    }

    /// Writes a mark, a name and its subject on one line.
    pub(super) fn write_headline(
        &mut self,
        mark: &str,
        name: &str,
        subject: Option<&str>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.end_line(out)?;
        self.write_inked(TextInk::Tool, &format!("{mark}{}", sanitize(name)), out)?;
        if let Some(subject) = subject {
            self.write_inked(TextInk::Plain, &format!(" {}", sanitize(subject)), out)?;
        }
        out.write_all(b"\n")
    }

    /// Writes a text with the same margin before each line.
    pub(super) fn write_block(
        &mut self,
        margin: &str,
        ink: TextInk,
        text: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for line in sanitize(text.trim_end_matches('\n')).split('\n') {
            self.write_line(ink, format!("{margin}{line}").trim_end(), out)?;
        }
        Ok(())
    }

    /// Writes a text behind a mark, further lines indented as far.
    pub(super) fn write_hanging(
        &mut self,
        mark: &str,
        ink: TextInk,
        text: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let indent = " ".repeat(mark.chars().count());
        for (i, line) in sanitize(text.trim()).split('\n').enumerate() {
            let margin = if i == 0 { mark } else { &indent };
            self.write_line(ink, format!("{margin}{line}").trim_end(), out)?;
        }
        Ok(())
    }

    /// Continues a text, or begins one if another was being written.
    pub(super) fn continue_text(
        &mut self,
        margin: &'static str,
        ink: TextInk,
        chunk: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self
            .speaking
            .is_some_and(|speaking| speaking != (margin, ink))
        {
            self.end_line(out)?;
        }
        self.speaking = Some((margin, ink));
        let clean = self.chunks.push(chunk);
        self.write_chunk(&clean, out)
    }

    /// Ends the text that was being written, on a line of its own.
    pub(super) fn end_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rest = self.chunks.finish();
        self.write_chunk(&rest, out)?;
        self.speaking = None;
        if std::mem::take(&mut self.is_within_line) {
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, clean: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some((margin, ink)) = self.speaking else {
            return Ok(());
        };
        for piece in clean.split_inclusive('\n') {
            let (line, ends) = piece
                .strip_suffix('\n')
                .map_or((piece, false), |line| (line, true));
            let margin = if self.is_within_line { "" } else { margin };
            let is_blank = !self.is_within_line && ends && line.is_empty();
            let margin = if is_blank { margin.trim_end() } else { margin };
            self.write_inked(ink, &format!("{margin}{line}"), out)?;
            self.is_within_line = !ends;
            if ends {
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    fn write_inked(&self, ink: TextInk, clean: &str, out: &mut dyn Write) -> io::Result<()> {
        let style = ink.ansi_style();
        let clean = self.marks.spell_text(clean);
        if self.colour && !clean.is_empty() && style != Style::new() {
            write!(out, "{style}{clean}{style:#}")
        } else {
            out.write_all(clean.as_bytes())
        }
    }
}
