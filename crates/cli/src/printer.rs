//! Data to stdout, talk to stderr.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use lapidary::render::plain::sanitize;

/// How much is collected before it is written, when more is there to be written.
const BUFFER: usize = 128 * 1024;

/// The command's stdout, and what is known about it.
#[derive(Debug)]
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    pub(crate) is_terminal: bool,
    pub(crate) colour: bool,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout().lock();
        let is_terminal = stdout.is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            out: BufWriter::with_capacity(BUFFER, stdout),
            is_terminal,
            colour: is_terminal && !no_colour,
        }
    }

    /// A remark to the user, beside the data.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        complain(&format!("note: {text}"));
        Ok(())
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Says something on stderr. File names and the like may hold anything, so nothing reaches the terminal unfiltered.
pub(crate) fn complain(text: &str) {
    // There is nobody left to tell if stderr is closed.
    let _ = writeln!(io::stderr(), "{}", sanitize(text));
}
