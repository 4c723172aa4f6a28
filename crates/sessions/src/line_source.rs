//! A session file that is read line by line, from its beginning as often as needed. It is opened once: a file that is replaced
//! meanwhile is read as it was, and one that is cut short ends there. A compressed file is unpacked on the way.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_normalize::SessionNormalizer;
use lapidary_vocab::Event;
use lapidary_wire::lines::{DEFAULT_LIMIT, LineBuffer, RawLine};

use crate::unpacked::unpacked;

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
        let mut content = unpacked(self.file.try_clone()?)?;
        let mut lines = LineBuffer::with_limit(limit);
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
