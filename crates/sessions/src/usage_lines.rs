//! The lines of a file, for counting.

use std::io::{self, Read as _};
use std::path::Path;

use lapidary_wire::lines::{DEFAULT_LIMIT, LineBuffer, RawLine};

use crate::scan::open;

/// Calls `take` for each whole line, until it returns false. A line over the limit is skipped.
pub(crate) fn each_line(path: &Path, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut file = open(path)?;
    let mut lines = LineBuffer::with_limit(DEFAULT_LIMIT);
    loop {
        while let Some(line) = lines.next_line() {
            if let RawLine::Whole(line) = line
                && !take(line)
            {
                return Ok(());
            }
        }
        match file.read(lines.room())? {
            0 => break,
            count => lines.filled(count),
        }
    }
    if let Some(RawLine::Whole(line)) = lines.last_line() {
        take(line);
    }
    Ok(())
}
