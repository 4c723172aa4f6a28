//! The paper a live view writes on: how wide it is, and what can be shown on it.

use super::Marks;
use super::block::Looks;
use super::row::{Glyphs, Row};
use super::wrap::{self, Break};
use crate::ink::Ink;
use crate::plain::sanitize;

/// A terminal's size, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// No terminal is taken to be narrower: there would be no room between the margins.
const NARROWEST: usize = 12;

/// A terminal's size and abilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) colour: bool,
    pub(super) marks: Marks,
    /// How many rows of an unfinished line are drawn.
    pub(super) most_tail: usize,
    /// How many rows of running calls are drawn.
    pub(super) most_calls: usize,
}

impl Page {
    pub(super) fn new(size: Size, colour: bool, marks: Marks) -> Self {
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
    pub(super) fn resize(&mut self, size: Size) {
        let height = usize::from(size.height);
        self.width = usize::from(size.width).max(NARROWEST);
        self.most_tail = (height / 4).clamp(1, 6);
        self.most_calls = (height / 3).clamp(1, 6);
    }

    /// Columns that are written to. The last one stays free: terminals do not agree on what happens after it.
    pub(super) fn room(&self) -> usize {
        self.width - 1
    }

    pub(super) fn looks(&self) -> Looks {
        if self.colour {
            Looks::Styled
        } else {
            Looks::Source
        }
    }

    /// One row; what does not fit is left out.
    pub(super) fn row(&self, pieces: &[(Ink, &str)]) -> Row {
        let mut glyphs = self.glyphs(pieces);
        glyphs.shorten(self.room());
        glyphs.row(self.colour)
    }

    /// How wide a text is.
    pub(super) fn measure(&self, text: &str) -> usize {
        self.glyphs(&[(Ink::Plain, text)]).width()
    }

    /// A text that is cut to this width.
    pub(super) fn fitted(&self, text: &str, most: usize) -> String {
        let mut glyphs = self.glyphs(&[(Ink::Plain, text)]);
        glyphs.shorten(most);
        glyphs.row(false).text
    }

    fn glyphs(&self, pieces: &[(Ink, &str)]) -> Glyphs {
        let mut glyphs = Glyphs::new(self.marks);
        for (ink, text) in pieces {
            glyphs.push(ink.style(), text);
        }
        glyphs
    }

    /// Rows with one mark before the first and another before those that follow.
    pub(super) fn hanging(&self, marks: [(Ink, &str); 2], ink: Ink, text: &str) -> Vec<Row> {
        let [first, next] = marks;
        let mut rows = Vec::new();
        for line in sanitize(text.trim_end()).split('\n') {
            let words = self.glyphs(&[(ink, line)]);
            let room = self.room().saturating_sub(self.measure(first.1)).max(1);
            let mut ranges = wrap::rows(&words.all, room, Break::Words);
            if ranges.is_empty() {
                ranges.push(0..0);
            }
            for range in ranges {
                let mark = if rows.is_empty() { first } else { next };
                let mut glyphs = self.glyphs(&[mark]);
                glyphs.extend(&words.all[range]);
                glyphs.trim_end();
                rows.push(glyphs.row(self.colour));
            }
        }
        rows
    }

    /// At most so many rows, and how many more there are.
    pub(super) fn at_most(&self, most: usize, mark: &str, mut rows: Vec<Row>) -> Vec<Row> {
        // A note about a single row would be as long as the row.
        if rows.len() > most + 1 {
            let more = rows.split_off(most).len() as u64;
            let more = crate::words::count(more, "more line");
            rows.push(self.row(&[(Ink::Faint, mark), (Ink::Faint, &format!("… {more}"))]));
        }
        rows
    }
}
