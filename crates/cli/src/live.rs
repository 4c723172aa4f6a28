//! The live view of a run on a terminal: finished rows scroll by, and below them the line that the agent is writing, the running
//! calls and a status line are redrawn in place.
//!
//! [`lapidary::render::live`] makes the rows; this module writes them to the terminal. It never clears the screen and never
//! switches to the alternate screen: after the run its rows stand in the scrollback like the output of any other command.

mod screen;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::time::Duration;

use lapidary::render::live::{LiveOptions, Narrator, ScreenRow, TerminalSize};
use lapidary::vocab::Event;

use screen::LiveScreen;

/// How often a second the spinner turns.
const FRAMES_PER_SECOND: u128 = 8;

/// The last row after the first Ctrl-C.
const CANCELLING: &str = "cancelling… (Ctrl-C again to kill)";

/// The live view of one run.
#[derive(Debug)]
pub(crate) struct LiveView<W: Write> {
    narrator: Narrator,
    screen: LiveScreen<W>,
    /// The duration of the run at the last tick.
    elapsed: Duration,
    is_cancelling: bool,
    /// Another writer has the terminal, such as a permission prompt.
    is_suspended: bool,
}

impl<W: Write> LiveView<W> {
    /// A view that writes to a terminal, whose cursor stands at the beginning of a line.
    pub(crate) fn new(out: W, options: LiveOptions) -> Self {
        Self {
            narrator: Narrator::new(options),
            screen: LiveScreen::new(out, options.size),
            elapsed: Duration::ZERO,
            is_cancelling: false,
            is_suspended: false,
        }
    }

    /// Shows the next event.
    pub(crate) fn show_event(&mut self, event: &Event) -> io::Result<()> {
        self.narrator.event(event, self.elapsed);
        self.draw_rows()
    }

    /// Says how long the run has taken. To be called several times a second: it turns the spinner.
    pub(crate) fn show_elapsed(&mut self, elapsed: Duration) -> io::Result<()> {
        self.elapsed = elapsed;
        self.draw_rows()
    }

    /// Takes the new size of the terminal. Finished rows stay as they are.
    ///
    /// Call it before any other output: rows that were drawn for the old size end up in the wrong place. Asking for the size
    /// before each tick is cheap, and safer than to wait for a signal.
    pub(crate) fn resize(&mut self, size: TerminalSize) -> io::Result<()> {
        self.narrator.resize(size);
        self.screen.resize(size);
        self.draw_rows()
    }

    /// The user has asked for an end, and can ask again.
    pub(crate) fn show_cancelling(&mut self) -> io::Result<()> {
        self.is_cancelling = true;
        // The terminal has echoed `^C` at an unknown place.
        self.screen.forget_shown();
        self.draw_rows()
    }

    /// Leaves the terminal to another writer, with the cursor at the beginning of a line.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.is_suspended = true;
        self.screen
            .draw_rows(&self.narrator.take_rows(), Vec::new())
    }

    /// Goes on, from where the cursor stands: at the beginning of a line.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.is_suspended = false;
        self.draw_rows()
    }

    /// Draws the remaining rows, and leaves the cursor below them, at the beginning of a line.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.narrator.finish();
        self.screen
            .draw_rows(&self.narrator.take_rows(), Vec::new())
    }

    fn draw_rows(&mut self) -> io::Result<()> {
        if self.is_suspended {
            return Ok(());
        }
        let settled = self.narrator.take_rows();
        let mut changing = self
            .narrator
            .changing_rows(self.spinner_frame(), self.elapsed);
        changing.push(self.status_row());
        self.screen.draw_rows(&settled, changing)
    }

    fn status_row(&self) -> ScreenRow {
        let doing = self.is_cancelling.then_some(CANCELLING);
        self.narrator
            .status(self.spinner_frame(), self.elapsed, doing)
    }

    fn spinner_frame(&self) -> usize {
        let frame = self.elapsed.as_millis() * FRAMES_PER_SECOND / 1000;
        usize::try_from(frame).unwrap_or_default()
    }
}
