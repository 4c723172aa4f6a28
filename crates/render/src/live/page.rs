//! The page a live view writes on: its width, colours and characters.

use super::MarkSet;
use super::block::MarkDisplay;
use super::row::{Glyph, ScreenRow, StyledText};
use super::wrap::{self, BreakPoint};
use crate::ink::TextInk;
use crate::plain::sanitize;
use crate::words;

/// A terminal's size, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// No terminal is taken to be narrower: there would be no room between the margins.
const NARROWEST: usize = 12;

/// Where words wrap on a terminal that is wider.
const WIDEST_PROSE: usize = 100;

/// A terminal's size and abilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct TerminalPage {
    pub(super) width: usize,
    pub(super) colour: bool,
    pub(super) marks: MarkSet,
    /// How many rows of an unfinished line are drawn.
    pub(super) most_tail: usize,
    /// How many rows of running calls are drawn.
    pub(super) most_calls: usize,
}

impl TerminalPage {
    pub(super) fn new(size: TerminalSize, colour: bool, marks: MarkSet) -> Self {
        let mut page = Self {
            width: 0,
            colour,
            marks,
            most_tail: 0,
            most_calls: 0,
        };
        page.resize(size);
        page
    }

    /// All that is redrawn, the status line included, must fit the screen: what scrolled away cannot be redrawn.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        let height = usize::from(size.height);
        self.width = usize::from(size.width).max(NARROWEST);
        self.most_tail = (height / 4).clamp(1, 6);
        self.most_calls = (height / 3).clamp(1, 6);
    }

    /// Columns that are written to. The last one stays free: terminals do not agree on what happens after it.
    pub(super) fn text_columns(&self) -> usize {
        self.width - 1
    }

    /// Columns that words are written to: longer rows are hard to read.
    pub(super) fn measure_of_prose(&self) -> usize {
        self.text_columns().min(WIDEST_PROSE)
    }

    pub(super) fn mark_display(&self) -> MarkDisplay {
        if self.colour {
            MarkDisplay::Styled
        } else {
            MarkDisplay::Source
        }
    }

    /// One row; the excess is cut.
    pub(super) fn cut_row(&self, pieces: &[(TextInk, &str)]) -> ScreenRow {
        let mut glyphs = self.styled_text(pieces);
        glyphs.cut_to_columns(self.text_columns());
        glyphs.to_row(self.colour)
    }

    /// How wide a text is.
    pub(super) fn text_width(&self, text: &str) -> usize {
        self.styled_text(&[(TextInk::Plain, text)]).column_width()
    }

    /// A text that is cut to this width.
    pub(super) fn cut_text(&self, text: &str, most: usize) -> String {
        let mut glyphs = self.styled_text(&[(TextInk::Plain, text)]);
        glyphs.cut_to_columns(most);
        glyphs.to_row(false).text
    }

    fn styled_text(&self, pieces: &[(TextInk, &str)]) -> StyledText {
        let mut glyphs = StyledText::new(self.marks);
        for (ink, text) in pieces {
            glyphs.push(ink.ansi_style(), text);
        }
        glyphs
    }

    /// A text in at most so many rows, with one mark before the first and another before the rows that follow. A last row says
    /// how many more there are.
    pub(super) fn hanging_rows(
        &self,
        marks: [(TextInk, &str); 2],
        ink: TextInk,
        text: &str,
        most: usize,
    ) -> Vec<ScreenRow> {
        let [first, next] = marks;
        let mark = self.text_width(first.1).max(self.text_width(next.1));
        let room = self.text_columns().saturating_sub(mark).max(1);
        let mut rows = Vec::new();
        let mut more = 0;
        for line in text.trim_end().lines() {
            // The text may be of any size: process only the part that can be shown.
            if rows.len() > most {
                more += 1;
                continue;
            }
            let (start, rest) =
                split_at_character(line, room.saturating_mul(most.saturating_add(2)));
            more += rest.chars().count().div_ceil(room);
            for words in self.wrap_glyphs(ink, start, room) {
                let mark = if rows.is_empty() { first } else { next };
                rows.push(self.marked_row(mark, &words));
            }
        }
        // A note about a single row would be as long as the row.
        if rows.len() + more > most.saturating_add(1) {
            more += rows.split_off(most.min(rows.len())).len();
            let more = words::counted_noun(more as u64, "more line");
            rows.push(self.cut_row(&[next, (TextInk::Faint, &format!("… {more}"))]));
        }
        rows
    }

    fn wrap_glyphs(&self, ink: TextInk, line: &str, room: usize) -> Vec<Vec<Glyph>> {
        let mut rows = Vec::new();
        for line in sanitize(line).split('\n') {
            let words = self.styled_text(&[(ink, line)]).all;
            let ranges = wrap::wrapped_rows(&words, room, BreakPoint::Words);
            if ranges.is_empty() {
                rows.push(Vec::new());
            }
            rows.extend(ranges.into_iter().map(|range| words[range].to_vec()));
        }
        rows
    }

    fn marked_row(&self, mark: (TextInk, &str), words: &[Glyph]) -> ScreenRow {
        let mut glyphs = self.styled_text(&[mark]);
        glyphs.extend_glyphs(words);
        glyphs.trim_end();
        glyphs.to_row(self.colour)
    }
}

/// The first characters of a text, and the others.
fn split_at_character(text: &str, characters: usize) -> (&str, &str) {
    let at = text.char_indices().nth(characters);
    text.split_at(at.map_or(text.len(), |(at, _)| at))
}
