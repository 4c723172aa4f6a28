//! Markdown tables with aligned columns.
//!
//! A column is as wide as its widest cell, so the lines of a table are held until it is over. Where the columns do not fit,
//! the widest ones are narrowed and their cells wrap; where even that leaves too little room, each row becomes a list.

use anstyle::Style;

use super::block::MarkDisplay;
use super::inline;
use super::page::TerminalPage;
use super::row::StyledText;
use super::wrap::{self, BreakPoint};

/// How many lines of a table are held, and so many bytes. Later lines are drawn as a table of their own, without a header.
const MOST_LINES: usize = 100;
const MOST_BYTES: usize = 16 * 1024;
/// A column that has to be narrower than this is not worth reading.
const NARROWEST_COLUMN: usize = 6;
/// More columns are not drawn as such.
const MOST_COLUMNS: usize = 64;
/// The separator of two columns.
const BETWEEN: &str = " │ ";

/// Lines that may be a table.
#[derive(Debug, Default)]
pub(super) struct TableBuffer {
    lines: Vec<String>,
    bytes: usize,
    /// It goes on with a table whose header was drawn.
    is_continued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnAlign {
    Left,
    Centre,
    Right,
}

impl TableBuffer {
    /// A table that goes on after its first lines were drawn.
    pub(super) fn new_continued() -> Self {
        Self {
            is_continued: true,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, line: &str) {
        self.bytes += line.len();
        self.lines.push(line.to_owned());
    }

    pub(super) fn source_lines(&self) -> &[String] {
        &self.lines
    }

    /// True if its second line is there and is no line of dashes.
    pub(super) fn is_refuted(&self) -> bool {
        !self.is_continued
            && self
                .lines
                .get(1)
                .is_some_and(|line| column_alignments(line).is_none())
    }

    /// True if it is known to be a table.
    pub(super) fn is_certain(&self) -> bool {
        self.is_continued || self.lines.len() > 1 && !self.is_refuted()
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= MOST_LINES || self.bytes >= MOST_BYTES
    }

    /// The table, row by row, in at most so many columns of the terminal.
    pub(super) fn draw_table(
        &self,
        room: usize,
        base: Style,
        page: &TerminalPage,
    ) -> Vec<StyledText> {
        let (header, aligns, body) = self.table_parts();
        let style = |is_header: bool| if is_header { base.bold() } else { base };
        let cells = |line: &String, is_header| -> Vec<StyledText> {
            let cells = line_cells(line);
            let cells = cells.iter().take(MOST_COLUMNS);
            cells
                .map(|cell| styled_cell(cell, style(is_header), page))
                .collect()
        };
        let header: Option<Vec<_>> = header.map(|line| cells(line, true));
        let body: Vec<_> = body.iter().map(|line| cells(line, false)).collect();
        let grid = TableGrid {
            header,
            body,
            aligns,
            base,
            page,
        };
        match grid.column_widths(room) {
            Some(widths) => grid.aligned_table(&widths),
            None => grid.rows_as_lists(room),
        }
    }

    fn table_parts(&self) -> (Option<&String>, Vec<ColumnAlign>, &[String]) {
        match self.lines.as_slice() {
            [header, dashes, body @ ..] if !self.is_continued => (
                Some(header),
                column_alignments(dashes).unwrap_or_default(),
                body,
            ),
            body => (None, Vec::new(), body),
        }
    }
}

/// Cells that are ready to be drawn.
struct TableGrid<'p> {
    header: Option<Vec<StyledText>>,
    body: Vec<Vec<StyledText>>,
    aligns: Vec<ColumnAlign>,
    base: Style,
    page: &'p TerminalPage,
}

impl TableGrid<'_> {
    fn cell_rows(&self) -> impl Iterator<Item = &Vec<StyledText>> {
        self.header.iter().chain(&self.body)
    }

    /// How wide each column is, if there is room for all.
    fn column_widths(&self, room: usize) -> Option<Vec<usize>> {
        let columns = self.cell_rows().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; columns];
        for row in self.cell_rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.column_width().max(*width);
            }
        }
        let between = BETWEEN.chars().count() * columns.saturating_sub(1);
        let room = room.checked_sub(between)?;
        let cap = (1..=room)
            .rev()
            .find(|cap| widths.iter().map(|width| width.min(cap)).sum::<usize>() <= room)?;
        let is_cut = widths.iter().any(|width| *width > cap);
        for width in &mut widths {
            *width = cap.min(*width);
        }
        (!is_cut || cap >= NARROWEST_COLUMN).then_some(widths)
    }

    fn aligned_table(&self, widths: &[usize]) -> Vec<StyledText> {
        let wraps = |row: &Vec<StyledText>| {
            row.iter()
                .zip(widths)
                .any(|(cell, width)| cell.column_width() > *width)
        };
        let is_spaced = self.body.iter().any(wraps);
        let mut drawn = Vec::new();
        for (at, row) in self.cell_rows().enumerate() {
            if at > 0 && (is_spaced || at == 1 && self.header.is_some()) {
                drawn.push(self.header_rule(widths));
            }
            drawn.extend(self.aligned_row(row, widths));
        }
        drawn
    }

    fn header_rule(&self, widths: &[usize]) -> StyledText {
        let dashes: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let mut rule = StyledText::new(self.page.marks);
        rule.push(self.base.dimmed(), &dashes.join("─┼─"));
        rule
    }

    /// A row of cells, which takes as many rows of the terminal as its longest cell.
    fn aligned_row(&self, cells: &[StyledText], widths: &[usize]) -> Vec<StyledText> {
        let wrapped: Vec<_> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| wrap::wrapped_rows(&cell.all, *width, BreakPoint::Words))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let line = |at: usize| {
            let mut line = StyledText::new(self.page.marks);
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(self.base.dimmed(), BETWEEN);
                }
                let range = wrapped.get(column).and_then(|ranges| ranges.get(at));
                let words = range.map_or(&[][..], |range| &cells[column].all[range.clone()]);
                let left = width.saturating_sub(super::row::glyphs_width(words));
                let before = match self.aligns.get(column) {
                    Some(ColumnAlign::Right) => left,
                    Some(ColumnAlign::Centre) => left / 2,
                    _ => 0,
                };
                line.push(self.base, &" ".repeat(before));
                line.extend_glyphs(words);
                line.push(self.base, &" ".repeat(left - before));
            }
            line.trim_end();
            line
        };
        (0..height).map(line).collect()
    }

    /// Each row as a list of its cells, behind the names of their columns.
    fn rows_as_lists(&self, room: usize) -> Vec<StyledText> {
        let mut drawn = Vec::new();
        for (at, row) in self.body.iter().enumerate() {
            if at > 0 {
                drawn.push(StyledText::new(self.page.marks));
            }
            let cells = row.iter().enumerate();
            for (column, cell) in cells.filter(|(_, cell)| cell.column_width() > 0) {
                drawn.extend(self.named_cell(column, cell, room));
            }
        }
        if self.body.is_empty() {
            let header = self.header.iter().flatten();
            drawn.extend(header.flat_map(|cell| wrapped_cell(cell, room, self.page)));
        }
        drawn
    }

    fn named_cell(&self, column: usize, cell: &StyledText, room: usize) -> Vec<StyledText> {
        let name = self.header.as_ref().and_then(|header| header.get(column));
        let mut line = StyledText::new(self.page.marks);
        if let Some(name) = name.filter(|name| name.column_width() > 0) {
            line.extend_glyphs(&name.all);
            line.push(self.base, ": ");
        }
        line.extend_glyphs(&cell.all);
        wrapped_cell(&line, room, self.page)
    }
}

fn wrapped_cell(line: &StyledText, room: usize, page: &TerminalPage) -> Vec<StyledText> {
    let rows = wrap::wrapped_rows(&line.all, room.max(1), BreakPoint::Words).into_iter();
    rows.map(|range| {
        let mut row = StyledText::new(page.marks);
        row.extend_glyphs(&line.all[range]);
        row
    })
    .collect()
}

fn styled_cell(cell: &str, style: Style, page: &TerminalPage) -> StyledText {
    let inline = match page.mark_display() {
        MarkDisplay::Styled => inline::parse(cell, style, page.marks),
        MarkDisplay::Source => inline::verbatim_line(cell, style, page.marks),
    };
    inline.glyphs
}

/// The cells of a line: the texts between bars that are not escaped.
fn line_cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = line.trim().chars().peekable();
    while let Some(ch) = chars.next() {
        match ch {
            '\\' if chars.peek() == Some(&'|') => {
                cells.last_mut().expect("there is one").extend(chars.next());
            }
            '|' => cells.push(String::new()),
            ch => cells.last_mut().expect("there is one").push(ch),
        }
    }
    // The bars at the edges enclose nothing.
    let is_blank = |cell: Option<&String>| cell.is_some_and(|cell| cell.trim().is_empty());
    if is_blank(cells.first()) {
        cells.remove(0);
    }
    if is_blank(cells.last()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// How the columns are aligned, if the line is one of dashes.
fn column_alignments(line: &str) -> Option<Vec<ColumnAlign>> {
    let cells = line_cells(line);
    let align = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        let is_dashes = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
        is_dashes.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => ColumnAlign::Centre,
            (false, true) => ColumnAlign::Right,
            _ => ColumnAlign::Left,
        })
    };
    let aligns: Option<Vec<_>> = cells.iter().map(align).collect();
    aligns.filter(|aligns| !aligns.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{MarkSet, TerminalSize};
    use super::*;

    fn drawn(lines: &[&str], width: u16, marks: MarkSet) -> String {
        let page = TerminalPage::new(TerminalSize { width, height: 24 }, false, marks);
        let mut table = TableBuffer::default();
        for line in lines {
            table.push(line);
        }
        let rows = table.draw_table(usize::from(width), Style::new(), &page);
        let rows: Vec<_> = rows.iter().map(|row| row.to_row(false).text).collect();
        rows.join("\n")
    }

    const LINES: [&str; 4] = [
        "| file | lines | what it is for |",
        "|:--|--:|---|",
        "| a.rs | 12 | reads `a\\|b` |",
        "| long_name.rs | 1234 | |",
    ];

    #[test]
    fn columns_are_aligned() {
        insta::assert_snapshot!(drawn(&LINES, 60, MarkSet::Unicode), @"
        file         │ lines │ what it is for
        ─────────────┼───────┼───────────────
        a.rs         │    12 │ reads `a|b`
        long_name.rs │  1234 │
        ");
    }

    #[test]
    fn cells_wrap_where_there_is_little_room_and_rows_become_lists_where_there_is_none() {
        insta::assert_snapshot!(drawn(&LINES, 30, MarkSet::Ascii), @"
        file      | lines | what it
                  |       | is for
        ----------+-------+----------
        a.rs      |    12 | reads
                  |       | `a|b`
        ----------+-------+----------
        long_name |  1234 |
        .rs       |       |
        ");
        insta::assert_snapshot!(drawn(&LINES, 20, MarkSet::Unicode), @"
        file: a.rs
        lines: 12
        what it is for:
        reads `a|b`

        file: long_name.rs
        lines: 1234
        ");
    }

    #[test]
    fn only_a_line_of_dashes_makes_a_table() {
        let table = |lines: &[&str]| {
            let mut table = TableBuffer::default();
            for line in lines {
                table.push(line);
            }
            (table.is_certain(), table.is_refuted())
        };
        assert_eq!(table(&["| a |"]), (false, false));
        assert_eq!(table(&["| a |", "|---|"]), (true, false));
        assert_eq!(table(&["| a |", "| b |"]), (false, true));
    }
}
