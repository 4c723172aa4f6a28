//! The lines of a file, for counting.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_wire::lines::{DEFAULT_LIMIT, RawLine};

use crate::line_source::SessionLines;

/// Calls `take` for each whole line, until it returns false. A line over the limit is skipped.
pub(crate) fn each_line(path: &Path, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    SessionLines::open(path)?.each_line(DEFAULT_LIMIT, &mut |line| match line {
        RawLine::Whole(line) if !take(line) => ControlFlow::Break(()),
        RawLine::Whole(_) | RawLine::TooLong { .. } => ControlFlow::Continue(()),
    })
}
