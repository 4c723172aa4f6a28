//! Data to stdout, talk to stderr.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use lapidary::render::live::MarkSet;

use crate::escaped_writer::EscapedWriter;
use crate::invocation::Invocation;
use crate::live::terminal;
use crate::terminal_filter::TerminalFilter;

/// How much is collected before it is written, when more is there to be written.
const BUFFER: usize = 128 * 1024;

/// The command's stdout, whether it is a terminal, and whether colours may be used.
pub(crate) struct Printer {
    /// The call of the program whose output this is.
    pub(crate) invocation: Arc<Invocation>,
    /// Not the standard library's handle, which looks for newlines in all that passes.
    out: BufWriter<Box<dyn Write>>,
    /// The line that is being put together.
    line: Vec<u8>,
    pub(crate) is_terminal: bool,
    pub(crate) colour: bool,
}

impl Printer {
    pub(crate) fn new(invocation: Arc<Invocation>) -> Self {
        let is_terminal = invocation.is_stdout_terminal();
        let colour = is_terminal && invocation.can_colour();
        let out: Box<dyn Write> = if is_terminal {
            Box::new(EscapedWriter::new(invocation.stdout_writer()))
        } else {
            invocation.stdout_writer()
        };
        Self {
            invocation,
            out: BufWriter::with_capacity(BUFFER, out),
            line: Vec::new(),
            is_terminal,
            colour,
        }
    }

    /// A printer into a file, which is not a terminal.
    pub(crate) fn into_file(file: File, invocation: Arc<Invocation>) -> Self {
        Self {
            invocation,
            out: BufWriter::with_capacity(BUFFER, Box::new(file)),
            line: Vec::new(),
            is_terminal: false,
            colour: false,
        }
    }

    /// Writes the line that `push` appends to an empty buffer.
    pub(crate) fn write_line(&mut self, push: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.line.clear();
        push(&mut self.line);
        self.out.write_all(&self.line)?;
        // A line may have megabytes; the next one has not.
        self.line.shrink_to(BUFFER);
        Ok(())
    }

    /// Writes the buffered rest. A closed pipe does not change how the command ended.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match self.out.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }

    /// How many columns there are, on a terminal that says so.
    pub(crate) fn terminal_width(&self) -> Option<usize> {
        let size = self.invocation.terminal_size().filter(|_| self.is_terminal);
        size.map(|size| usize::from(size.width))
    }

    /// The signs that its reader can show: a file takes all of them.
    pub(crate) fn mark_set(&self) -> MarkSet {
        if self.is_terminal {
            terminal::locale_marks(&self.invocation)
        } else {
            MarkSet::Unicode
        }
    }

    /// Prints a message on stderr.
    pub(crate) fn print_message(&self, text: &str) {
        self.invocation.print_message(text);
    }

    /// A writer for bytes of other programs, such as an agent's output: filtered on a terminal, else unchanged.
    pub(crate) fn foreign_bytes(&mut self) -> TerminalFilter<&mut Self> {
        let is_terminal = self.is_terminal;
        TerminalFilter::new(self, is_terminal)
    }

    /// A remark to the user, beside the data.
    pub(crate) fn print_note(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        self.print_message(&format!("note: {text}"));
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
