//! The interface of normalisers that read a session file line by line.

use lapidary_vocab::Event;
use lapidary_wire::lines::{RawLine, without_mark};

/// Turns the lines of a session file into events. Memory does not grow with the file, but for a few bytes for each line.
///
/// The end of some files decides about their beginning: a prompt may be taken back, a name be given, a response be spread over
/// several records. Such a file is read twice: all lines are surveyed first, and then pushed.
pub trait SessionNormalizer {
    /// Whether all lines have to be surveyed before the first one is pushed.
    fn reads_twice(&self) -> bool;

    /// Takes in a line for the survey. A blank one is none.
    fn survey(&mut self, line: RawLine<'_>);

    /// Translates a line. A blank one is none.
    fn push(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event));

    /// The closing diagnostic, if records were counted.
    fn finish(&mut self, sink: &mut dyn FnMut(Event));
}

/// Translates a session file that is in memory.
pub fn session_events_of(
    normalizer: &mut dyn SessionNormalizer,
    bytes: &[u8],
    sink: &mut dyn FnMut(Event),
) {
    let lines = || {
        let lines = without_mark(bytes).split(|byte| *byte == b'\n');
        lines.map(RawLine::Whole)
    };
    if normalizer.reads_twice() {
        lines().for_each(|line| normalizer.survey(line));
    }
    lines().for_each(|line| normalizer.push(line, sink));
    normalizer.finish(sink);
}
