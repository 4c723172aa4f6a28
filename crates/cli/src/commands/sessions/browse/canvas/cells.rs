//! The cells themselves. A wide character is in the first of its cells and covers the others.

use unicode_segmentation::UnicodeSegmentation as _;

use super::super::text::text_width;
use super::{CellPosition, Rect};

/// Colour, bold, dim, underlined and reversed.
pub(in super::super) type CellStyle = crossterm::style::ContentStyle;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cell {
    /// One character with its accents; nothing is a blank.
    pub(super) text: String,
    pub(super) style: CellStyle,
    /// A wide character to the left reaches over it.
    is_covered: bool,
}

/// A screen that is drawn on.
#[derive(Debug, Clone)]
pub(in super::super) struct Canvas {
    pub(in super::super) area: Rect,
    /// Row by row.
    cells: Vec<Cell>,
}

impl Canvas {
    /// An empty one.
    pub(in super::super) fn new(area: Rect) -> Self {
        let count = usize::from(area.width) * usize::from(area.height);
        Self {
            area,
            cells: vec![Cell::default(); count],
        }
    }

    /// Puts a text into the first row of an area, as far as it fits there. Characters of no width of their own are left out.
    pub(in super::super) fn put_text(&mut self, area: Rect, text: &str, style: CellStyle) {
        let area = area.intersection(self.area);
        let mut x = area.x;
        for character in text.graphemes(true) {
            let wide = u16::try_from(text_width(character)).unwrap_or(u16::MAX);
            if wide == 0 || area.is_empty() || character.contains(char::is_control) {
                continue;
            }
            if wide > area.right_edge() - x {
                return;
            }
            self.put_character(CellPosition { x, y: area.y }, character, wide, style);
            x += wide;
        }
    }

    fn put_character(&mut self, at: CellPosition, text: &str, wide: u16, style: CellStyle) {
        let first = self.cell_index(at);
        let end = first + usize::from(wide);
        self.blank_wide_character(first);
        let row_end = self.cell_index(CellPosition { x: 0, ..at }) + usize::from(self.area.width);
        if end < row_end {
            self.blank_wide_character(end);
        }
        for (place, cell) in self.cells[first..end].iter_mut().enumerate() {
            cell.style = style;
            cell.is_covered = place > 0;
            cell.text.clear();
        }
        if text != " " {
            self.cells[first].text.push_str(text);
        }
    }

    /// Blanks a wide character that begins before this cell and reaches over it: half of one cannot be shown.
    fn blank_wide_character(&mut self, at: usize) {
        if !self.cells[at].is_covered {
            return;
        }
        let start = self.cells[..at].iter().rposition(|it| !it.is_covered);
        let covered = self.cells[at..].iter().take_while(|it| it.is_covered);
        let end = at + covered.count();
        for cell in &mut self.cells[start.unwrap_or(at)..end] {
            cell.text.clear();
            cell.is_covered = false;
        }
    }

    /// Has every cell of an area changed in style.
    pub(in super::super) fn restyle_area(&mut self, area: Rect, change: impl Fn(&mut CellStyle)) {
        let area = area.intersection(self.area);
        for y in area.y..area.bottom_edge() {
            for x in area.x..area.right_edge() {
                let at = self.cell_index(CellPosition { x, y });
                change(&mut self.cells[at].style);
            }
        }
    }

    /// The cells that differ from those of another canvas of the same size.
    pub(super) fn changed_cells<'c>(
        &'c self,
        before: &'c Self,
    ) -> impl Iterator<Item = (CellPosition, &'c str, CellStyle)> {
        let differs = |place: &usize| self.cells[*place] != before.cells[*place];
        let places = (0..self.cells.len()).filter(differs);
        let drawn = places.filter(|place| !self.cells[*place].is_covered);
        drawn.map(|place| {
            let cell = &self.cells[place];
            let text = if cell.text.is_empty() {
                " "
            } else {
                &cell.text
            };
            (self.cell_position(place), text, cell.style)
        })
    }

    fn cell_position(&self, place: usize) -> CellPosition {
        let width = usize::from(self.area.width);
        let short =
            |number: usize| u16::try_from(number).expect("a screen has 65,535 rows at most");
        CellPosition {
            x: self.area.x + short(place % width),
            y: self.area.y + short(place / width),
        }
    }

    fn cell_index(&self, at: CellPosition) -> usize {
        let row = usize::from(at.y.saturating_sub(self.area.y));
        let column = at.x.saturating_sub(self.area.x);
        row * usize::from(self.area.width) + usize::from(column)
    }

    /// The rows as text, without the blanks at their ends.
    #[cfg(test)]
    pub(in super::super) fn rows_text(&self) -> String {
        let mut text = String::new();
        for row in self.cells.chunks(usize::from(self.area.width).max(1)) {
            let mut line = String::new();
            for cell in row.iter().filter(|it| !it.is_covered) {
                line += if cell.text.is_empty() {
                    " "
                } else {
                    &cell.text
                };
            }
            text += line.trim_end();
            text += "\n";
        }
        text
    }

    /// The styles, row by row.
    #[cfg(test)]
    pub(in super::super) fn cell_styles(&self) -> impl Iterator<Item = CellStyle> {
        self.cells.iter().map(|it| it.style)
    }
}
