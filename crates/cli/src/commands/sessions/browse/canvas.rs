//! The screen of the browser in memory: cells with a text and a style. Only changed cells are written.

mod cells;
mod geometry;

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute, SetStyle};
use crossterm::terminal::{Clear, ClearType};

pub(super) use cells::{Canvas, CellStyle};
pub(super) use geometry::{CellPosition, Rect};

/// A terminal, and the cells that it shows.
#[derive(Debug)]
pub(super) struct CellTerminal<W: Write> {
    out: W,
    shown: Canvas,
}

impl<W: Write> CellTerminal<W> {
    /// A terminal whose screen is empty.
    pub(super) fn new(out: W, area: Rect) -> Self {
        Self {
            out,
            shown: Canvas::new(area),
        }
    }

    /// Lets `draw` fill an empty canvas of this size, and writes the changes and the cursor.
    pub(super) fn draw_canvas(
        &mut self,
        area: Rect,
        draw: impl FnOnce(&mut Canvas) -> Option<CellPosition>,
    ) -> io::Result<()> {
        if area != self.shown.area {
            queue!(self.out, Clear(ClearType::All))?;
            self.shown = Canvas::new(area);
        }
        let mut canvas = Canvas::new(area);
        let cursor = draw(&mut canvas);
        self.write_changes(&canvas)?;
        self.shown = canvas;
        match cursor {
            Some(at) => queue!(self.out, Show, MoveTo(at.x, at.y))?,
            None => queue!(self.out, Hide)?,
        }
        self.out.flush()
    }

    fn write_changes(&mut self, canvas: &Canvas) -> io::Result<()> {
        let mut style = CellStyle::default();
        let mut next = None;
        for (at, text, its_style) in canvas.changed_cells(&self.shown) {
            // Terminals disagree about the width of some characters: the place behind one column alone is certain.
            if next != Some(at) {
                queue!(self.out, MoveTo(at.x, at.y))?;
            }
            if style != its_style {
                queue!(
                    self.out,
                    SetAttribute(Attribute::Reset),
                    SetStyle(its_style)
                )?;
                style = its_style;
            }
            queue!(self.out, Print(text))?;
            next = text
                .is_ascii()
                .then_some(CellPosition { x: at.x + 1, ..at });
        }
        queue!(self.out, SetAttribute(Attribute::Reset))
    }
}

#[cfg(test)]
mod tests;
