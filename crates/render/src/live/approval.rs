//! The subject of an approval, as rows: a command, or a change of a file.
//!
//! Nothing is left out: a user who approves has seen all of it. Each row begins with a bar of ours, also where a long line wraps,
//! so that no line of an agent passes for a question of ours.
//!
//! ```
//! use lapidary_render::live::{LiveOptions, MarkSet, TerminalSize, approval};
//! let options = LiveOptions { size: TerminalSize { width: 40, height: 24 }, colour: false, marks: MarkSet::Unicode };
//! let rows = approval::command_rows("cargo test", options);
//! assert_eq!(rows[0].text, "│ $ cargo test");
//! ```

use anstyle::Style;

use super::page::TerminalPage;
use super::row::{ScreenRow, StyledText};
use super::wrap::{self, BreakPoint};
use super::{LiveOptions, code};
use crate::code::CodeScanner;
use crate::diff::{self, DiffLine};
use crate::ink::TextInk;
use crate::plain::sanitize;

const BAR: &str = "│ ";

/// A unified diff, such as [`diff::unified`] makes.
pub fn diff_rows(unified: &str, options: LiveOptions) -> Vec<ScreenRow> {
    let page = prompt_page(options);
    let clean = sanitize(unified);
    let lines = diff::diff_lines(&clean).map(|(kind, line)| {
        let ink = match kind {
            DiffLine::Added => TextInk::Added,
            DiffLine::Removed => TextInk::Removed,
            DiffLine::Context => TextInk::Plain,
            DiffLine::Head | DiffLine::Hunk => TextInk::Faint,
        };
        let mut glyphs = StyledText::new(page.marks);
        glyphs.push(ink.ansi_style(), &line.replace('\t', "    "));
        glyphs
    });
    lines.flat_map(|line| barred_rows(&line, &page)).collect()
}

/// A command line of a shell, which may have several lines.
pub fn command_rows(command: &str, options: LiveOptions) -> Vec<ScreenRow> {
    let page = prompt_page(options);
    let clean = sanitize(command).replace('\t', "    ");
    let mut scanner = CodeScanner::new("sh");
    let lines = clean.trim_end().split('\n').enumerate().map(|(at, line)| {
        let sign = if at == 0 { "$ " } else { "  " };
        let mut glyphs = StyledText::new(page.marks);
        glyphs.push(TextInk::Faint.ansi_style(), sign);
        match &mut scanner {
            Some(scanner) => {
                glyphs
                    .extend_glyphs(&code::code_glyphs(scanner, line, Style::new(), page.marks).all);
            }
            None => glyphs.push(Style::new(), line),
        }
        glyphs
    });
    lines.flat_map(|line| barred_rows(&line, &page)).collect()
}

/// Any other text, such as arguments.
pub fn text_rows(text: &str, options: LiveOptions) -> Vec<ScreenRow> {
    let page = prompt_page(options);
    let clean = sanitize(text).replace('\t', "    ");
    let lines = clean.trim_end().split('\n').map(|line| {
        let mut glyphs = StyledText::new(page.marks);
        glyphs.push(Style::new(), line);
        glyphs
    });
    lines.flat_map(|line| barred_rows(&line, &page)).collect()
}

/// A sentence of ours with words of the agent in it. Where it goes on it stands further in than any line of ours begins.
pub fn sentence_rows(mark: &str, sentence: &str, options: LiveOptions) -> Vec<ScreenRow> {
    let marks = [(TextInk::Plain, mark), (TextInk::Plain, "    ")];
    prompt_page(options).hanging_rows(marks, TextInk::Plain, sentence, usize::MAX)
}

fn prompt_page(options: LiveOptions) -> TerminalPage {
    TerminalPage::new(options.size, options.colour, options.marks)
}

/// A line in as many rows as it takes.
fn barred_rows(line: &StyledText, page: &TerminalPage) -> Vec<ScreenRow> {
    let room = page
        .text_columns()
        .saturating_sub(BAR.chars().count())
        .max(1);
    let mut ranges = wrap::wrapped_rows(&line.all, room, BreakPoint::Anywhere);
    if ranges.is_empty() {
        ranges.push(0..0);
    }
    let row = |range: std::ops::Range<usize>| {
        let mut row = StyledText::new(page.marks);
        row.push(TextInk::Faint.ansi_style(), BAR);
        row.extend_glyphs(&line.all[range]);
        row.trim_end();
        row.to_row(page.colour)
    };
    ranges.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{MarkSet, TerminalSize};
    use super::*;

    fn options(width: u16, colour: bool) -> LiveOptions {
        LiveOptions {
            size: TerminalSize { width, height: 24 },
            colour,
            marks: MarkSet::Unicode,
        }
    }

    fn text(rows: &[ScreenRow]) -> Vec<&str> {
        rows.iter().map(|row| row.text.as_str()).collect()
    }

    #[test]
    fn every_row_of_a_change_begins_with_our_bar() {
        let unified = diff::unified("a.txt", Some("one\n"), "a line that is long\n\u{1b}[2J\n");
        let rows = diff_rows(&unified, options(20, false));
        let shown = text(&rows);
        assert!(shown.iter().all(|row| row.starts_with('│')), "{shown:?}");
        assert!(!shown.concat().contains('\u{1b}'), "{shown:?}");
        assert_eq!(shown[4..6], ["│ +a line that is l", "│ ong"]);
        let coloured = diff_rows(&unified, options(60, true));
        assert!(
            coloured
                .iter()
                .any(|row| row.text.contains("\u{1b}[31m-one"))
        );
    }

    #[test]
    fn a_command_is_shown_whole() {
        let rows = command_rows("ls\nrm -rf / # \u{202e}", options(40, false));
        assert_eq!(text(&rows), ["│ $ ls", "│   rm -rf / # \\u{202e}"]);
    }
}
