//! Data to stdout, talk to stderr.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use lapidary::render::live::MarkSet;
use lapidary::render::plain::sanitize;

use crate::escaped_writer::EscapedWriter;
use crate::live::terminal;
use crate::system;

/// How much is collected before it is written, when more is there to be written.
const BUFFER: usize = 128 * 1024;

/// The command's stdout, whether it is a terminal, and whether colours may be used.
pub(crate) struct Printer {
    /// Not the standard library's handle, which looks for newlines in all that passes.
    out: BufWriter<Box<dyn Write>>,
    pub(crate) is_terminal: bool,
    pub(crate) colour: bool,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let out = if is_terminal {
            Box::new(EscapedWriter::new(system::stdout())) as Box<dyn Write>
        } else {
            system::stdout()
        };
        Self {
            out: BufWriter::with_capacity(BUFFER, out),
            is_terminal,
            colour: is_terminal && !no_colour,
        }
    }

    /// A printer into a file, which is not a terminal.
    pub(crate) fn into_file(file: File) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER, Box::new(file)),
            is_terminal: false,
            colour: false,
        }
    }

    /// Writes the buffered rest. A closed pipe does not change how the command ended.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match self.out.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }

    /// How many columns there are, on a terminal that says so.
    pub(crate) fn width(&self) -> Option<usize> {
        let size = self.is_terminal.then(system::terminal_size).flatten();
        size.map(|size| usize::from(size.width))
    }

    /// The signs that its reader can show: a file takes all of them.
    pub(crate) fn marks(&self) -> MarkSet {
        if self.is_terminal {
            terminal::marks()
        } else {
            MarkSet::Unicode
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

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints a message on stderr. File names and other foreign text in it may hold control characters, so it is filtered.
pub(crate) fn complain(text: &str) {
    // A closed stderr is ignored: there is no other place for the message. Further lines are indented, so that foreign text in a
    // message cannot pass for a message of ours.
    let text = sanitize(text).replace('\n', "\n  ");
    let _ = writeln!(io::stderr(), "{text}");
}
