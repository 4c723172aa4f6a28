//! A session file that is read line by line, from its beginning as often as needed. It is opened once: a file that is replaced
//! meanwhile is read as it was, and one that is cut short ends there. A compressed file is unpacked on the way.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_normalize::SessionNormalizer;
use lapidary_vocab::Event;
use lapidary_wire::lines::{DEFAULT_LIMIT, LineBuffer, RawLine};

use crate::unpacked::{is_compressed, unpacked};

thread_local! {
    /// The buffer of the file that was read before: many session files are smaller than a buffer.
    static BUFFER: Cell<Option<LineBuffer>> = const { Cell::new(None) };
}

/// A buffer that the next file uses again.
struct HeldBuffer(LineBuffer);

impl HeldBuffer {
    fn take(limit: usize) -> Self {
        let held = BUFFER.take().unwrap_or_default();
        Self(held.emptied(limit))
    }
}

impl Drop for HeldBuffer {
    fn drop(&mut self) {
        BUFFER.set(Some(std::mem::take(&mut self.0)));
    }
}

/// A session file.
#[derive(Debug)]
pub struct SessionLines {
    file: File,
}

impl SessionLines {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
        })
    }

    /// Hands on each line, from the first one. Lines over the limit come as their beginning.
    pub fn each_line(
        &mut self,
        limit: usize,
        take: &mut dyn FnMut(RawLine<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.file.rewind()?;
        let mut lines = HeldBuffer::take(limit);
        let lines = &mut lines.0;
        let count = self.file.read(lines.room())?;
        if is_compressed(&lines.room()[..count]) {
            return hand_on(lines, &mut *unpacked(self.file.try_clone()?)?, take);
        }
        lines.filled(count);
        hand_on(lines, &mut self.file, take)
    }

    /// Hands on the events of the session.
    pub fn replay(
        &mut self,
        normalizer: &mut dyn SessionNormalizer,
        take: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        if normalizer.reads_twice() {
            self.each_line(DEFAULT_LIMIT, &mut |line| {
                normalizer.survey(line);
                ControlFlow::Continue(())
            })?;
        }
        self.each_line(DEFAULT_LIMIT, &mut |line| {
            normalizer.push(line, take);
            ControlFlow::Continue(())
        })?;
        normalizer.finish(take);
        Ok(())
    }
}

/// Hands on the lines in the buffer, and those of the content behind it.
fn hand_on(
    lines: &mut LineBuffer,
    content: &mut dyn Read,
    take: &mut dyn FnMut(RawLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    loop {
        while let Some(line) = lines.next_line() {
            if take(line).is_break() {
                return Ok(());
            }
        }
        match content.read(lines.room())? {
            0 => break,
            count => lines.filled(count),
        }
    }
    if let Some(line) = lines.last_line() {
        let _ = take(line);
    }
    Ok(())
}
