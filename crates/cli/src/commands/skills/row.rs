//! Foreign text within our own lines.

use std::io::{self, Write as _};

use lapidary::render::plain::sanitize;
use unicode_width::UnicodeWidthStr as _;

use crate::printer::Printer;

/// Narrower than that, lines are left to the terminal.
const NARROWEST: usize = 12;

/// Foreign text within our own lines: control characters are filtered, and further lines are indented so that they cannot pass
/// for ours.
pub(crate) fn on_a_line(text: &str, indent: &str) -> String {
    let text = sanitize(text);
    let text = text.trim_end();
    text.replace('\n', &format!("\n{indent}"))
}

/// Writes a text behind a label. On a terminal, long text continues below its beginning.
pub(crate) fn write_row(out: &mut Printer, start: &str, text: &str) -> io::Result<()> {
    let indent = " ".repeat(start.width());
    let room = out
        .terminal_width()
        .map(|width| width.saturating_sub(start.width()));
    let text = match room.filter(|room| *room >= NARROWEST) {
        Some(room) => fold_text(&sanitize(text), room),
        None => text.to_owned(),
    };
    writeln!(out, "{start}{}", on_a_line(&text, &indent))
}

/// Breaks lines between words. A word stays whole: it may be a path to copy.
fn fold_text(text: &str, room: usize) -> String {
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut row = String::new();
        for word in line.split(' ') {
            if !row.is_empty() && row.width() + 1 + word.width() > room {
                rows.push(std::mem::take(&mut row));
            } else if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        rows.push(row);
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::fold_text;

    #[test]
    fn lines_are_broken_between_words_and_nowhere_else() {
        assert_eq!(fold_text("one two three", 7), "one two\nthree");
        assert_eq!(fold_text("a /very/long/path b", 6), "a\n/very/long/path\nb");
        assert_eq!(fold_text("one\ntwo  x", 7), "one\ntwo  x");
        assert_eq!(fold_text("漢字 漢字", 8), "漢字\n漢字");
        assert_eq!(fold_text("", 8), "");
    }
}
