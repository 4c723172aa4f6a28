//! An agent's text, as rows, while it is being written.
//!
//! Rows that cannot change any more are handed out once and for all; the rest of the current line is the [tail](LiveProse::tail_rows),
//! drawn anew with every chunk. A parser of whole documents would not do: it may reinterpret text that has scrolled away. So
//! Markdown is read line by line, and emphasis that spans lines stays as it was written.
//!
//! The rows do not depend on how the text was cut into chunks: decisions are taken at the ends of words.

use std::ops::Range;

use anstyle::Style;
use lapidary_vocab::Text;

use super::MarkSet;
use super::block::{self, BlockLine, BlockStyle, CodeFence, MarkDisplay};
use super::code;
use super::halves::SplitCharacters;
use super::inline::{self, InlineLine};
use super::page::TerminalPage;
use super::row::{Glyph, ScreenRow, StyledText};
use super::table::TableBuffer;
use super::wrap::{self, BreakPoint};
use crate::code::CodeScanner;
use crate::plain::ChunkFilter;

/// After how much text without a space a line is looked at.
const LONGEST_WORD: usize = 64;
/// How many bytes a column is worth: if a line has more bytes than the tail can hold at this rate, its marks are not waited for.
/// There are characters of no width, and marks that hide the text they enclose.
const BYTES_PER_COLUMN: usize = 4;
/// A longer line is neither a fence nor a rule.
const LONGEST_MARK: usize = 256;
/// A longer line is not one of a table.
const LONGEST_TABLE_LINE: usize = 4096;
/// The margin of a voice.
const MARGIN: usize = 2;
/// More than all that can stand before the words of a row.
const MARGINS: usize = 20;
const RULE: &str = "────────────────────────";

/// The speaker of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextSpeaker {
    pub(super) sort: super::LineKind,
    /// The text before each row. Two columns, so that no words of an agent ever stand where our own lines begin.
    pub(super) margin: &'static str,
    pub(super) style: Style,
}

/// A text that is being said.
#[derive(Debug)]
pub(super) struct LiveProse {
    pub(super) voice: TextSpeaker,
    halves: SplitCharacters,
    chunks: ChunkFilter,
    /// The line so far, without the part that was handed out already.
    pending: String,
    /// Its length when it is to be looked at next.
    next_look: usize,
    /// The kind of the line, once its first row was handed out.
    begun: Option<BlockLine>,
    fence: Option<CodeFence>,
    /// What colours the code, at the beginning of the pending text.
    scanner: Option<CodeScanner>,
    /// The lines of a table that goes on.
    table: Option<TableBuffer>,
    /// A blank line is due before the next row.
    is_gap: bool,
    has_spoken: bool,
    rows: Vec<ScreenRow>,
}

/// A line in rows.
struct WrappedLine {
    block: BlockLine,
    rows: Vec<ScreenRow>,
    /// Where in the pending text each row but the first begins, if it can be cut there.
    cuts: Vec<Option<usize>>,
}

impl WrappedLine {
    /// The last place where the line can be cut: how many rows are before it, and where it is in the text.
    fn last_cut(&self) -> Option<(usize, usize)> {
        let mut places = self.cuts.iter().enumerate().rev();
        places.find_map(|(row, at)| at.map(|at| (row + 1, at)))
    }
}

impl LiveProse {
    pub(super) fn new(voice: TextSpeaker) -> Self {
        Self {
            voice,
            halves: SplitCharacters::default(),
            chunks: ChunkFilter::default(),
            pending: String::new(),
            next_look: LONGEST_WORD,
            begun: None,
            fence: None,
            scanner: None,
            table: None,
            is_gap: false,
            has_spoken: false,
            rows: Vec::new(),
        }
    }

    /// Takes the next chunk.
    pub(super) fn push(&mut self, chunk: &Text, page: &TerminalPage) {
        let clean = self.chunks.push(&self.halves.push(chunk));
        self.take_text(&clean, page);
    }

    /// Ends the text.
    pub(super) fn end_text(&mut self, page: &TerminalPage) {
        let rest = self.chunks.push(&self.halves.take_lone_half()) + &self.chunks.finish();
        self.take_text(&rest, page);
        self.end_line(page);
        self.end_table(page);
        self.is_gap = false;
        self.has_spoken = false;
        self.fence = None;
        self.scanner = None;
    }

    /// The rows that will not change any more, since this was last asked.
    pub(super) fn take_rows(&mut self) -> Vec<ScreenRow> {
        std::mem::take(&mut self.rows)
    }

    /// The last rows of the line that is being said.
    pub(super) fn tail_rows(&self, page: &TerminalPage) -> Vec<ScreenRow> {
        let table = self
            .table
            .as_ref()
            .map(|table| self.table_rows(table, page));
        let words = (!self.pending.trim().is_empty()).then(|| self.lay_pending(page).rows);
        if table.is_none() && words.is_none() {
            return Vec::new();
        }
        let gap = self.is_gap.then(|| self.blank_row(page));
        let said = table.into_iter().chain(words).flatten();
        let mut rows: Vec<_> = gap.into_iter().chain(said).collect();
        rows.split_off(rows.len().saturating_sub(page.most_tail))
    }

    fn take_text(&mut self, clean: &str, page: &TerminalPage) {
        for ch in clean.chars() {
            match ch {
                '\n' => {
                    self.end_line(page);
                    continue;
                }
                '\t' => self.pending.push_str("    "),
                _ => self.pending.push(ch),
            }
            if ch == ' ' || self.pending.len() >= self.next_look {
                self.take_settled_rows(page);
                self.next_look = self.pending.len() + LONGEST_WORD;
            }
        }
    }

    /// Hands out the rows of the line that are settled.
    fn take_settled_rows(&mut self, page: &TerminalPage) {
        if self.pending.len() + MARGINS < page.measure_of_prose() && page.marks == MarkSet::Unicode
        {
            return;
        }
        let laid = self.lay_pending(page);
        let is_decided = matches!(laid.block.sort, BlockStyle::Words | BlockStyle::Verbatim);
        let longest_mark = match laid.block.sort {
            BlockStyle::Table => LONGEST_TABLE_LINE,
            _ => LONGEST_MARK,
        };
        if !is_decided && self.pending.len() < longest_mark {
            return;
        }
        let longest = page.most_tail * page.width * BYTES_PER_COLUMN;
        if let Some(cut) = laid.last_cut().filter(|_| is_decided) {
            self.commit_rows(laid, cut, page);
        } else if laid.rows.len() > page.most_tail || self.pending.len() > longest {
            self.give_up(page);
        }
    }

    /// An open mark has waited for its end too long: the marks so far are taken as text.
    fn give_up(&mut self, page: &TerminalPage) {
        let mut block = self.pending_block(page);
        let sort = std::mem::replace(&mut block.sort, BlockStyle::Verbatim);
        let mut laid = self.lay_as(block, page);
        if sort == BlockStyle::Words {
            laid.block.sort = sort; // the rest may have marks of its own
        }
        let whole = (laid.rows.len(), self.pending.len());
        let cut = laid.last_cut().unwrap_or(whole);
        self.commit_rows(laid, cut, page);
    }

    fn commit_rows(&mut self, laid: WrappedLine, (count, at): (usize, usize), page: &TerminalPage) {
        let WrappedLine {
            block, mut rows, ..
        } = laid;
        rows.truncate(count);
        self.push_rows(rows, page);
        let body = block.body.min(at);
        if let Some(scanner) = &mut self.scanner {
            scanner.scan_part(&self.pending[body..at]);
        }
        self.begun.get_or_insert(block);
        self.pending.drain(..at);
    }

    fn end_line(&mut self, page: &TerminalPage) {
        let is_blank = self.pending.trim().is_empty();
        match (is_blank, self.begun.is_some(), self.fence.is_some()) {
            // All of it was handed out.
            (true, true, _) => {}
            (true, false, true) => self.push_rows(vec![self.blank_row(page)], page),
            // One blank line is as good as ten.
            (true, false, false) => {
                self.end_table(page);
                self.is_gap = self.has_spoken;
            }
            (false, ..) => self.end_words(page),
        }
        if let Some(scanner) = &mut self.scanner {
            scanner.end_line();
        }
        self.pending.clear();
        self.begun = None;
        self.next_look = LONGEST_WORD;
    }

    fn end_words(&mut self, page: &TerminalPage) {
        let laid = self.lay_pending(page);
        match laid.block.sort {
            BlockStyle::Table if self.begun.is_none() => self.end_table_line(page),
            BlockStyle::Fence(fence) => {
                self.end_table(page);
                self.end_fence(fence, laid.rows, page);
            }
            _ => {
                self.push_rows(laid.rows, page);
                if let Some(scanner) = &mut self.scanner {
                    scanner.scan_line(&self.pending[laid.block.body..], &mut |_, _| {});
                }
            }
        }
    }

    fn end_fence(&mut self, fence: CodeFence, rows: Vec<ScreenRow>, page: &TerminalPage) {
        let closes = self.fence.is_some();
        let is_styled = page.mark_display() == MarkDisplay::Styled;
        let language = Some(fence.language_name()).filter(|_| is_styled && !closes);
        self.scanner = language.and_then(CodeScanner::new);
        self.fence = (!closes).then_some(fence);
        if is_styled {
            self.is_gap = self.has_spoken;
        } else {
            self.push_rows(rows, page);
        }
    }

    /// A line of a table waits for the others.
    fn end_table_line(&mut self, page: &TerminalPage) {
        let table = self.table.get_or_insert_default();
        table.push(&self.pending);
        if table.is_refuted() {
            self.end_table(page);
        } else if table.is_full() {
            self.end_table(page);
            self.table = Some(TableBuffer::new_continued());
        }
    }

    fn end_table(&mut self, page: &TerminalPage) {
        if let Some(table) = self.table.take() {
            let rows = self.table_rows(&table, page);
            self.push_rows(rows, page);
        }
    }

    /// A table as rows; lines that are none as they stand.
    fn table_rows(&self, table: &TableBuffer, page: &TerminalPage) -> Vec<ScreenRow> {
        let room = page.text_columns().saturating_sub(MARGIN).max(1);
        if table.is_certain() {
            let rows = table.draw_table(room, self.voice.style, page);
            let rows = rows
                .iter()
                .map(|row| self.voice_row("", Style::new(), &row.all, page));
            return rows.collect();
        }
        let mut rows = Vec::new();
        for line in table.source_lines() {
            let line = inline::verbatim_line(line, self.voice.style, page.marks).glyphs;
            let ranges = wrap::wrapped_rows(&line.all, room, BreakPoint::Anywhere);
            rows.extend(
                ranges
                    .into_iter()
                    .map(|range| self.voice_row("", Style::new(), &line.all[range], page)),
            );
        }
        rows
    }

    fn push_rows(&mut self, rows: Vec<ScreenRow>, page: &TerminalPage) {
        if rows.is_empty() {
            return;
        }
        self.end_table(page);
        if std::mem::take(&mut self.is_gap) {
            self.rows.push(self.blank_row(page));
        }
        self.has_spoken = true;
        self.rows.extend(rows);
    }

    /// The block that the pending text is, or continues.
    fn pending_block(&self, page: &TerminalPage) -> BlockLine {
        match &self.begun {
            None => block::classify_line(&self.pending, self.fence.as_ref(), page.mark_display()),
            Some(begun) => BlockLine {
                mark: begun.hang.clone(),
                body: 0,
                ..begun.clone()
            },
        }
    }

    fn lay_pending(&self, page: &TerminalPage) -> WrappedLine {
        self.lay_as(self.pending_block(page), page)
    }

    fn lay_as(&self, block: BlockLine, page: &TerminalPage) -> WrappedLine {
        let body = &self.pending[block.body..];
        let style = layered_style(self.voice.style, block.style);
        let inline = match block.sort {
            BlockStyle::Words => inline::parse(body, style, page.marks),
            BlockStyle::Verbatim => self.verbatim_line(body, style, page),
            BlockStyle::Fence(_) | BlockStyle::Table => {
                inline::verbatim_line(body, style, page.marks)
            }
            BlockStyle::Rule => inline::verbatim_line(RULE, style.dimmed(), page.marks),
        };
        let mark = narrowed_mark(&block.mark, page);
        let hang = narrowed_mark(&block.hang, page);
        let room = match block.breaks {
            BreakPoint::Words => page.measure_of_prose(),
            BreakPoint::Anywhere => page.text_columns(),
        };
        let room = room.saturating_sub(MARGIN + mark.chars().count());
        let ranges = wrap::wrapped_rows(&inline.glyphs.all, room.max(1), block.breaks);
        let row = |(index, range): (usize, &Range<usize>)| {
            let mark = if index == 0 { mark } else { hang };
            self.voice_row(
                mark,
                block.mark_style,
                &inline.glyphs.all[range.clone()],
                page,
            )
        };
        let mut rows: Vec<_> = ranges.iter().enumerate().map(row).collect();
        if rows.is_empty() && !block.mark.trim().is_empty() {
            rows.push(self.voice_row(mark, block.mark_style, &[], page));
        }
        let cut = |range: &Range<usize>| {
            let at = inline.glyphs.all[range.start].at;
            inline.may_be_cut(at).then_some(block.body + at)
        };
        let cuts = ranges.iter().skip(1).map(cut).collect();
        WrappedLine { block, rows, cuts }
    }

    /// Text as it stands: code of a known language in its colours.
    fn verbatim_line(&self, body: &str, style: Style, page: &TerminalPage) -> InlineLine {
        match &self.scanner {
            Some(scanner) => InlineLine {
                glyphs: code::code_glyphs(&mut scanner.clone(), body, self.voice.style, page.marks),
                open: None,
                spans: Vec::new(),
            },
            None => inline::verbatim_line(body, style, page.marks),
        }
    }

    fn voice_row(
        &self,
        mark: &str,
        mark_style: Style,
        words: &[Glyph],
        page: &TerminalPage,
    ) -> ScreenRow {
        let mut glyphs = StyledText::new(page.marks);
        glyphs.push(self.voice.style, self.voice.margin);
        glyphs.push(layered_style(self.voice.style, mark_style), mark);
        glyphs.extend_glyphs(words);
        glyphs.trim_end();
        glyphs.to_row(page.colour)
    }

    fn blank_row(&self, page: &TerminalPage) -> ScreenRow {
        self.voice_row("", Style::new(), &[], page)
    }
}

/// One style on top of another.
fn layered_style(below: Style, above: Style) -> Style {
    (below | above.get_effects()).fg_color(above.get_fg_color().or(below.get_fg_color()))
}

/// A mark that leaves at least half of the row to the words: its indentation goes first.
fn narrowed_mark<'m>(mark: &'m str, page: &TerminalPage) -> &'m str {
    let indent = mark.len() - mark.trim_start_matches(' ').len();
    let excess = mark.chars().count().saturating_sub(page.text_columns() / 2);
    &mark[excess.min(indent)..]
}
