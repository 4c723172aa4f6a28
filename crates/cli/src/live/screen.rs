//! The bottom of a terminal, redrawn in place.
//!
//! Only rows that differ are written, over the old ones, each in one go: nothing is erased to be drawn again, so nothing
//! flickers. The cursor stays visible, at the end of the last row: a program that is killed must not take it along.

use std::fmt;
use std::io::{self, Write};

use lapidary::render::live::{ScreenRow, TerminalSize};

/// Erases the rest of the row.
const ERASE_ROW: &str = "\x1b[K";
/// Erases all that is below and to the right.
const ERASE_BELOW: &str = "\x1b[J";
/// Rows that are wider than we think are cut at the margin, instead of becoming two, which would put all others out of place.
const CUT_ROWS: &str = "\x1b[?7l";
const WRAP_ROWS: &str = "\x1b[?7h";

/// A terminal that is written from where its cursor stands.
#[derive(Debug)]
pub(super) struct LiveScreen<W: Write> {
    out: W,
    size: TerminalSize,
    /// The rows that may be redrawn, with the cursor at the end of the last one.
    shown: Vec<ScreenRow>,
    /// The screen may differ from `shown`.
    is_stale: bool,
}

impl<W: Write> LiveScreen<W> {
    pub(super) fn new(out: W, size: TerminalSize) -> Self {
        Self {
            out,
            size,
            shown: Vec::new(),
            is_stale: false,
        }
    }

    /// Writes rows for good, and below them rows that will be drawn again.
    pub(super) fn draw_rows(
        &mut self,
        settled: &[ScreenRow],
        mut changing: Vec<ScreenRow>,
    ) -> io::Result<()> {
        // Rows that have scrolled away cannot be drawn again.
        let most = usize::from(self.size.height).max(1);
        let changing = changing.split_off(changing.len().saturating_sub(most));
        let mut bytes = Vec::new();
        if !settled.is_empty() || changing.len() != self.shown.len() || self.is_stale {
            self.redraw_rows(settled, &changing, &mut bytes)?;
        } else {
            self.touch_up(&changing, &mut bytes)?;
        }
        self.shown = changing;
        self.is_stale = false;
        if bytes.is_empty() {
            return Ok(());
        }
        self.out.write_all(&bytes)?;
        self.out.flush()
    }

    /// Makes the next draw rewrite all rows: the screen may differ from `shown`.
    pub(super) fn forget_shown(&mut self) {
        self.is_stale = true;
    }

    /// Terminals break rows that have become too wide, so there may be more of them now.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        let width = usize::from(size.width).max(1);
        let broken = |row: &ScreenRow| row.width.div_ceil(width).max(1);
        let rows = self.shown.iter().map(broken).sum();
        if !self.shown.is_empty() {
            self.shown.resize(rows, ScreenRow::default());
        }
        self.size = size;
        self.is_stale = true;
    }

    /// Writes everything anew, from the first row on.
    fn redraw_rows(
        &self,
        settled: &[ScreenRow],
        changing: &[ScreenRow],
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        write!(out, "{}\r", CursorUp(self.shown.len().saturating_sub(1)))?;
        if self.is_stale {
            // Rows that the terminal has broken remember that they belong together, even when they are written over.
            write!(out, "{ERASE_BELOW}")?;
        }
        for row in settled {
            write!(out, "{}{ERASE_ROW}\r\n", row.text)?;
        }
        for (at, row) in changing.iter().enumerate() {
            let break_before = if at == 0 { "" } else { "\r\n" };
            write!(out, "{break_before}{}", CutRow(row))?;
        }
        // Rows that were there before and are not written over.
        let is_shorter = self.shown.len() > settled.len() + changing.len();
        if is_shorter || changing.is_empty() {
            write!(out, "{ERASE_BELOW}")?;
        }
        Ok(())
    }

    /// Writes the rows that differ, each where it stands.
    fn touch_up(&self, changing: &[ScreenRow], out: &mut Vec<u8>) -> io::Result<()> {
        let pairs = self.shown.iter().zip(changing).enumerate();
        for (at, (_, new)) in pairs.filter(|(_, (old, new))| old != new) {
            let below = changing.len() - 1 - at;
            write!(
                out,
                "{}\r{}{}",
                CursorUp(below),
                CutRow(new),
                CursorDown(below)
            )?;
        }
        Ok(())
    }
}

/// A row that is cut at the margin if need be.
struct CutRow<'r>(&'r ScreenRow);

impl fmt::Display for CutRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CUT_ROWS}{}{WRAP_ROWS}{ERASE_ROW}", self.0.text)
    }
}

/// Moves the cursor so many rows up.
struct CursorUp(usize);

impl fmt::Display for CursorUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            rows => write!(f, "\x1b[{rows}A"),
        }
    }
}

/// Moves the cursor so many rows down.
struct CursorDown(usize);

impl fmt::Display for CursorDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            rows => write!(f, "\x1b[{rows}B"),
        }
    }
}
