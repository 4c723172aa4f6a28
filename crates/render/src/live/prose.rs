//! What an agent says, as rows, while it says it.
//!
//! Rows that cannot change any more are handed out once and for all; what is left of the line that is being said is the
//! [tail](Prose::tail), drawn anew with every chunk. A parser of whole documents would not do: it may change its mind about what has
//! scrolled away. So Markdown is read line by line, and emphasis that spans lines stays as it was written.
//!
//! The rows do not depend on how the text was cut into chunks: what is decided, is decided at the ends of words.

use std::ops::Range;

use anstyle::Style;
use lapidary_vocab::Text;

use super::Marks;
use super::block::{self, Block, Fence, Looks, Sort};
use super::code;
use super::halves::Halves;
use super::inline::{self, Inline};
use super::page::Page;
use super::row::{Glyph, Glyphs, Row};
use super::table::Table;
use super::wrap::{self, Break};
use crate::code::Scanner;
use crate::plain::Chunks;

/// After how much text without a space a line is looked at.
const LONGEST_WORD: usize = 64;
/// How many bytes a column is worth: of lines with more than fit the tail at this rate, the marks are not waited for. There
/// are characters that take no room, and marks that hide what they enclose.
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

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Voice {
    pub(super) sort: super::Sort,
    /// What stands before each row. Two columns, so that no words of an agent ever stand where our own lines begin.
    pub(super) margin: &'static str,
    pub(super) style: Style,
}

/// A text that is being said.
#[derive(Debug)]
pub(super) struct Prose {
    pub(super) voice: Voice,
    halves: Halves,
    chunks: Chunks,
    /// The line so far, without what was handed out already.
    pending: String,
    /// Its length when it is to be looked at next.
    next_look: usize,
    /// What the line is, once its first row was handed out.
    begun: Option<Block>,
    fence: Option<Fence>,
    /// What colours the code, at the beginning of the pending text.
    scanner: Option<Scanner>,
    /// The lines of a table that goes on.
    table: Option<Table>,
    /// A blank line is due if anything follows.
    is_gap: bool,
    has_spoken: bool,
    rows: Vec<Row>,
}

/// A line in rows.
struct Laid {
    block: Block,
    rows: Vec<Row>,
    /// Where in the pending text each row but the first begins, if it can be cut there.
    cuts: Vec<Option<usize>>,
}

impl Laid {
    /// The last place where the line can be cut: how many rows are before it, and where it is in the text.
    fn last_cut(&self) -> Option<(usize, usize)> {
        let mut places = self.cuts.iter().enumerate().rev();
        places.find_map(|(row, at)| at.map(|at| (row + 1, at)))
    }
}

impl Prose {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            voice,
            halves: Halves::default(),
            chunks: Chunks::default(),
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
    pub(super) fn push(&mut self, chunk: &Text, page: &Page) {
        let clean = self.chunks.push(&self.halves.push(chunk));
        self.take(&clean, page);
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, page: &Page) {
        let rest = self.chunks.push(&self.halves.finish()) + &self.chunks.finish();
        self.take(&rest, page);
        self.end_line(page);
        self.end_table(page);
        self.is_gap = false;
        self.has_spoken = false;
        self.fence = None;
        self.scanner = None;
    }

    /// The rows that will not change any more, since this was last asked.
    pub(super) fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// The last rows of the line that is being said.
    pub(super) fn tail(&self, page: &Page) -> Vec<Row> {
        let table = self.table.as_ref().map(|table| self.drawn(table, page));
        let words = (!self.pending.trim().is_empty()).then(|| self.lay(page).rows);
        if table.is_none() && words.is_none() {
            return Vec::new();
        }
        let gap = self.is_gap.then(|| self.blank(page));
        let said = table.into_iter().chain(words).flatten();
        let mut rows: Vec<_> = gap.into_iter().chain(said).collect();
        rows.split_off(rows.len().saturating_sub(page.most_tail))
    }

    fn take(&mut self, clean: &str, page: &Page) {
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
                self.look(page);
                self.next_look = self.pending.len() + LONGEST_WORD;
            }
        }
    }

    /// Hands out the rows of the line that are settled.
    fn look(&mut self, page: &Page) {
        if self.pending.len() + MARGINS < page.measure_of_prose() && page.marks == Marks::Unicode {
            return;
        }
        let laid = self.lay(page);
        let is_decided = matches!(laid.block.sort, Sort::Words | Sort::Verbatim);
        let longest_mark = match laid.block.sort {
            Sort::Table => LONGEST_TABLE_LINE,
            _ => LONGEST_MARK,
        };
        if !is_decided && self.pending.len() < longest_mark {
            return;
        }
        let longest = page.most_tail * page.width * BYTES_PER_COLUMN;
        if let Some(cut) = laid.last_cut().filter(|_| is_decided) {
            self.commit(laid, cut, page);
        } else if laid.rows.len() > page.most_tail || self.pending.len() > longest {
            self.give_up(page);
        }
    }

    /// What is open stays open for too long: the marks so far are taken as text.
    fn give_up(&mut self, page: &Page) {
        let mut block = self.block(page);
        let sort = std::mem::replace(&mut block.sort, Sort::Verbatim);
        let mut laid = self.lay_as(block, page);
        if sort == Sort::Words {
            laid.block.sort = sort; // what follows may have marks of its own
        }
        let whole = (laid.rows.len(), self.pending.len());
        let cut = laid.last_cut().unwrap_or(whole);
        self.commit(laid, cut, page);
    }

    fn commit(&mut self, laid: Laid, (count, at): (usize, usize), page: &Page) {
        let Laid {
            block, mut rows, ..
        } = laid;
        rows.truncate(count);
        self.say(rows, page);
        let body = block.body.min(at);
        if let Some(scanner) = &mut self.scanner {
            scanner.part(&self.pending[body..at]);
        }
        self.begun.get_or_insert(block);
        self.pending.drain(..at);
    }

    fn end_line(&mut self, page: &Page) {
        let is_blank = self.pending.trim().is_empty();
        match (is_blank, self.begun.is_some(), self.fence.is_some()) {
            // All of it was handed out.
            (true, true, _) => {}
            (true, false, true) => self.say(vec![self.blank(page)], page),
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

    fn end_words(&mut self, page: &Page) {
        let laid = self.lay(page);
        match laid.block.sort {
            Sort::Table if self.begun.is_none() => self.end_table_line(page),
            Sort::Fence(fence) => {
                self.end_table(page);
                self.end_fence(fence, laid.rows, page);
            }
            _ => {
                self.say(laid.rows, page);
                if let Some(scanner) = &mut self.scanner {
                    scanner.line(&self.pending[laid.block.body..], &mut |_, _| {});
                }
            }
        }
    }

    fn end_fence(&mut self, fence: Fence, rows: Vec<Row>, page: &Page) {
        let closes = self.fence.is_some();
        let is_styled = page.looks() == Looks::Styled;
        let language = Some(fence.language()).filter(|_| is_styled && !closes);
        self.scanner = language.and_then(Scanner::new);
        self.fence = (!closes).then_some(fence);
        if is_styled {
            self.is_gap = self.has_spoken;
        } else {
            self.say(rows, page);
        }
    }

    /// A line of a table waits for the others.
    fn end_table_line(&mut self, page: &Page) {
        let table = self.table.get_or_insert_default();
        table.push(&self.pending);
        if table.is_refuted() {
            self.end_table(page);
        } else if table.is_full() {
            self.end_table(page);
            self.table = Some(Table::continued());
        }
    }

    fn end_table(&mut self, page: &Page) {
        if let Some(table) = self.table.take() {
            let rows = self.drawn(&table, page);
            self.say(rows, page);
        }
    }

    /// A table as rows; lines that are none as they stand.
    fn drawn(&self, table: &Table, page: &Page) -> Vec<Row> {
        let room = page.room().saturating_sub(MARGIN).max(1);
        if table.is_certain() {
            let rows = table.drawn(room, self.voice.style, page);
            let rows = rows
                .iter()
                .map(|row| self.row("", Style::new(), &row.all, page));
            return rows.collect();
        }
        let mut rows = Vec::new();
        for line in table.lines() {
            let line = inline::verbatim(line, self.voice.style, page.marks).glyphs;
            let ranges = wrap::rows(&line.all, room, Break::Anywhere);
            rows.extend(
                ranges
                    .into_iter()
                    .map(|range| self.row("", Style::new(), &line.all[range], page)),
            );
        }
        rows
    }

    fn say(&mut self, rows: Vec<Row>, page: &Page) {
        if rows.is_empty() {
            return;
        }
        self.end_table(page);
        if std::mem::take(&mut self.is_gap) {
            self.rows.push(self.blank(page));
        }
        self.has_spoken = true;
        self.rows.extend(rows);
    }

    /// What the pending text is, or continues.
    fn block(&self, page: &Page) -> Block {
        match &self.begun {
            None => block::classify(&self.pending, self.fence.as_ref(), page.looks()),
            Some(begun) => Block {
                mark: begun.hang.clone(),
                body: 0,
                ..begun.clone()
            },
        }
    }

    fn lay(&self, page: &Page) -> Laid {
        self.lay_as(self.block(page), page)
    }

    fn lay_as(&self, block: Block, page: &Page) -> Laid {
        let body = &self.pending[block.body..];
        let style = over(self.voice.style, block.style);
        let inline = match block.sort {
            Sort::Words => inline::parse(body, style, page.marks),
            Sort::Verbatim => self.verbatim(body, style, page),
            Sort::Fence(_) | Sort::Table => inline::verbatim(body, style, page.marks),
            Sort::Rule => inline::verbatim(RULE, style.dimmed(), page.marks),
        };
        let mark = narrowed(&block.mark, page);
        let hang = narrowed(&block.hang, page);
        let room = match block.breaks {
            Break::Words => page.measure_of_prose(),
            Break::Anywhere => page.room(),
        };
        let room = room.saturating_sub(MARGIN + mark.chars().count());
        let ranges = wrap::rows(&inline.glyphs.all, room.max(1), block.breaks);
        let row = |(index, range): (usize, &Range<usize>)| {
            let mark = if index == 0 { mark } else { hang };
            self.row(
                mark,
                block.mark_style,
                &inline.glyphs.all[range.clone()],
                page,
            )
        };
        let mut rows: Vec<_> = ranges.iter().enumerate().map(row).collect();
        if rows.is_empty() && !block.mark.trim().is_empty() {
            rows.push(self.row(mark, block.mark_style, &[], page));
        }
        let cut = |range: &Range<usize>| {
            let at = inline.glyphs.all[range.start].at;
            inline.may_be_cut(at).then_some(block.body + at)
        };
        let cuts = ranges.iter().skip(1).map(cut).collect();
        Laid { block, rows, cuts }
    }

    /// Text as it stands: code of a known language in its colours.
    fn verbatim(&self, body: &str, style: Style, page: &Page) -> Inline {
        match &self.scanner {
            Some(scanner) => Inline {
                glyphs: code::glyphs(&mut scanner.clone(), body, self.voice.style, page.marks),
                open: None,
                spans: Vec::new(),
            },
            None => inline::verbatim(body, style, page.marks),
        }
    }

    fn row(&self, mark: &str, mark_style: Style, words: &[Glyph], page: &Page) -> Row {
        let mut glyphs = Glyphs::new(page.marks);
        glyphs.push(self.voice.style, self.voice.margin);
        glyphs.push(over(self.voice.style, mark_style), mark);
        glyphs.extend(words);
        glyphs.trim_end();
        glyphs.row(page.colour)
    }

    fn blank(&self, page: &Page) -> Row {
        self.row("", Style::new(), &[], page)
    }
}

/// One style on top of another.
fn over(below: Style, above: Style) -> Style {
    (below | above.get_effects()).fg_color(above.get_fg_color().or(below.get_fg_color()))
}

/// A mark that leaves at least half of the row to the words: its indentation goes first.
fn narrowed<'m>(mark: &'m str, page: &Page) -> &'m str {
    let indent = mark.len() - mark.trim_start_matches(' ').len();
    let excess = mark.chars().count().saturating_sub(page.room() / 2);
    &mark[excess.min(indent)..]
}
