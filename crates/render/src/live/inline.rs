//! The Markdown within a line: emphasis, code and links, read while the line is still growing.
//!
//! A mark without its end is shown verbatim, and [`InlineLine::open`] says from where on more text may change the picture. Every
//! pass looks at each character a bounded number of times, because it is repeated with every word that comes.

mod delimiter;
mod link;

use std::collections::HashMap;
use std::ops::Range;

use anstyle::{AnsiColor, Style};

use super::MarkSet;
use super::row::StyledText;
use delimiter::DelimiterRun;
use link::LinkStart;

/// A line as it looks so far.
#[derive(Debug)]
pub(super) struct InlineLine {
    pub(super) glyphs: StyledText,
    /// The start of the first mark that has no end yet.
    pub(super) open: Option<usize>,
    /// What belongs together, marks included: no cut goes through it.
    pub(super) spans: Vec<Range<usize>>,
}

impl InlineLine {
    /// True if the line can be cut there: later text does not change the part before.
    pub(super) fn may_be_cut(&self, at: usize) -> bool {
        let splits = |span: &Range<usize>| span.start < at && at < span.end;
        self.open.is_none_or(|open| at <= open) && !self.spans.iter().any(splits)
    }
}

/// Text without its marks, in the style they ask for.
pub(super) fn parse(source: &str, base: Style, marks: MarkSet) -> InlineLine {
    let brackets = link::bracket_pairs(source);
    let mut parser = InlineParser {
        source,
        brackets,
        code_ends: code_ends(source),
        links: LinkParsing::Followed,
        pieces: Vec::new(),
        open: None,
    };
    parser.scan_range(0..source.len());
    let InlineParser {
        mut pieces, open, ..
    } = parser;
    let (spans, unmatched) = delimiter::pair_delimiters(&mut pieces);
    let mut inline = InlineLine {
        glyphs: StyledText::new(marks),
        open: [open, unmatched].into_iter().flatten().min(),
        spans,
    };
    inline.write_pieces(source, &pieces, base);
    inline
}

/// Text as it stands.
pub(super) fn verbatim_line(source: &str, base: Style, marks: MarkSet) -> InlineLine {
    let mut glyphs = StyledText::new(marks);
    glyphs.push_source(base, source, 0);
    InlineLine {
        glyphs,
        open: None,
        spans: Vec::new(),
    }
}

/// The pieces of a line, as ranges of its source.
#[derive(Debug)]
pub(super) enum InlinePiece {
    Text(Range<usize>),
    Code {
        whole: Range<usize>,
        inner: Range<usize>,
    },
    /// The pieces that follow, up to the link's end, are its text.
    LinkStart,
    LinkEnd(link::LinkParts),
    Address {
        whole: Range<usize>,
        inner: Range<usize>,
    },
    Delimiter(DelimiterRun),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkParsing {
    Followed,
    /// There are no links within links.
    Ignored,
}

struct InlineParser<'s> {
    source: &'s str,
    /// Where each opening bracket ends.
    brackets: HashMap<usize, usize>,
    /// Where the code that each run of backticks begins ends.
    code_ends: HashMap<usize, Range<usize>>,
    links: LinkParsing,
    pieces: Vec<InlinePiece>,
    open: Option<usize>,
}

impl InlineParser<'_> {
    fn scan_range(&mut self, range: Range<usize>) {
        let (mut at, mut text) = (range.start, range.start);
        while let Some(ch) = self.source[at..range.end].chars().next() {
            let end = match ch {
                '\\' => self.parse_escape(at, text),
                '`' => Some(self.parse_code(at, text, range.end)),
                '[' if self.links == LinkParsing::Followed => self.parse_link(at, text, range.end),
                '<' => self.parse_address(at, text, range.end),
                '*' | '_' | '~' => self.parse_delimiter(at, text, ch),
                _ => None,
            };
            at = end.unwrap_or(at + ch.len_utf8());
            text = end.unwrap_or(text);
        }
        self.push_text(text..range.end);
    }

    fn push_text(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(InlinePiece::Text(range));
        }
    }

    fn note_open(&mut self, at: usize) {
        self.open = Some(self.open.map_or(at, |open| open.min(at)));
    }

    /// A backslash takes the meaning from the mark after it.
    fn parse_escape(&mut self, at: usize, text: usize) -> Option<usize> {
        let after = self.source[at + 1..].chars().next();
        if after.is_none() {
            self.note_open(at);
        }
        after.filter(char::is_ascii_punctuation)?;
        self.push_text(text..at);
        self.push_text(at + 1..at + 2);
        Some(at + 2)
    }

    fn parse_code(&mut self, at: usize, text: usize, end: usize) -> usize {
        let run = run_length(&self.source[at..]);
        let closing = self.code_ends.get(&at).filter(|ticks| ticks.end <= end);
        let Some(closing) = closing.cloned() else {
            self.note_open(at);
            // The whole run is text: its second tick begins nothing.
            self.push_text(text..at + run);
            return at + run;
        };
        self.push_text(text..at);
        let whole = at..closing.end;
        let inner = at + run..closing.start;
        self.pieces.push(InlinePiece::Code { whole, inner });
        closing.end
    }

    fn parse_link(&mut self, at: usize, text: usize, end: usize) -> Option<usize> {
        let found = match link::link_at(self.source, at, &self.brackets) {
            LinkStart::Whole(found) if found.whole.end <= end => found,
            LinkStart::Unfinished => {
                self.note_open(at);
                return None;
            }
            LinkStart::Whole(_) | LinkStart::None => return None,
        };
        self.push_text(text..at);
        self.pieces.push(InlinePiece::LinkStart);
        self.links = LinkParsing::Ignored;
        self.scan_range(found.text.clone());
        self.links = LinkParsing::Followed;
        let end = found.whole.end;
        self.pieces.push(InlinePiece::LinkEnd(found));
        Some(end)
    }

    /// An address in angle brackets.
    fn parse_address(&mut self, at: usize, text: usize, end: usize) -> Option<usize> {
        let whole = at..at + link::address_length(&self.source[at..end])?;
        self.push_text(text..at);
        let inner = whole.start + 1..whole.end - 1;
        self.pieces.push(InlinePiece::Address {
            whole: whole.clone(),
            inner,
        });
        Some(whole.end)
    }

    fn parse_delimiter(&mut self, at: usize, text: usize, ch: char) -> Option<usize> {
        let length = run_length(&self.source[at..]);
        let delimiter = DelimiterRun::new(self.source, at..at + length, ch)?;
        self.push_text(text..at);
        let end = delimiter.range.end;
        self.pieces.push(InlinePiece::Delimiter(delimiter));
        Some(end)
    }
}

/// How often the first character is repeated.
fn run_length(text: &str) -> usize {
    let first = text.as_bytes().first();
    text.bytes().take_while(|byte| Some(byte) == first).count()
}

/// For each run of backticks the next one of the same length, which ends the code that it begins.
fn code_ends(source: &str) -> HashMap<usize, Range<usize>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find('`').map(|start| at + start) {
        at = start + run_length(&source[start..]);
        runs.push(start..at);
    }
    let mut next_of_length = HashMap::new();
    let mut ends = HashMap::new();
    for run in runs.into_iter().rev() {
        if let Some(next) = next_of_length.insert(run.len(), run.clone()) {
            ends.insert(run.start, next);
        }
    }
    ends
}

const CODE: Style = AnsiColor::Cyan.on_default();

impl InlineLine {
    fn write_pieces(&mut self, source: &str, pieces: &[InlinePiece], base: Style) {
        let mut emphasis = delimiter::EmphasisDepth::default();
        let mut is_link = false;
        for piece in pieces {
            let style = emphasis.emphasis_style(base);
            let style = if is_link { style.underline() } else { style };
            match piece {
                InlinePiece::Text(range) => self.write_text(style, source, range.clone()),
                InlinePiece::Code { whole, inner } => {
                    let style = style | CODE.get_effects();
                    let style = style.fg_color(CODE.get_fg_color());
                    self.write_text(style, source, inner.clone());
                    self.spans.push(whole.clone());
                }
                InlinePiece::Address { whole, inner } => {
                    self.write_text(style.underline(), source, inner.clone());
                    self.spans.push(whole.clone());
                }
                InlinePiece::LinkStart => is_link = true,
                InlinePiece::LinkEnd(found) => {
                    is_link = false;
                    self.write_link_target(source, found, emphasis.emphasis_style(base));
                }
                InlinePiece::Delimiter(mark) if mark.is_paired => emphasis.apply_mark(mark),
                InlinePiece::Delimiter(mark) => self.write_text(style, source, mark.range.clone()),
            }
        }
    }

    fn write_text(&mut self, style: Style, source: &str, range: Range<usize>) {
        self.glyphs
            .push_source(style, &source[range.clone()], range.start);
    }

    /// Where a link leads is said, not hidden behind its words.
    fn write_link_target(&mut self, source: &str, link: &link::LinkParts, style: Style) {
        self.spans.push(link.whole.clone());
        if source[link.text.clone()] == source[link.target.clone()] {
            return;
        }
        let style = style.dimmed();
        let at = link.target.start;
        self.glyphs.push_source(style, " ", at);
        self.glyphs.push_source(style, "(", at);
        self.write_text(style, source, link.target.clone());
        self.glyphs.push_source(style, ")", link.target.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown, with bold as `B(…)`, italic as `I(…)`, struck as `S(…)`, code as `C(…)`, links as `L(…)`.
    fn outline(source: &str) -> String {
        use anstyle::Effects;
        let inline = parse(source, Style::new(), MarkSet::Unicode);
        let letter = |style: Style| {
            let effects = style.get_effects();
            let has = |effect, letter| if effects.contains(effect) { letter } else { "" };
            let code = style.get_fg_color().map_or("", |_| "C");
            has(Effects::BOLD, "B").to_owned()
                + has(Effects::ITALIC, "I")
                + has(Effects::STRIKETHROUGH, "S")
                + has(Effects::UNDERLINE, "L")
                + code
        };
        let mut text = String::new();
        let mut current = String::new();
        for glyph in &inline.glyphs.all {
            let new = letter(glyph.style);
            if new != current {
                text += if current.is_empty() { "" } else { ")" };
                text += &new;
                text += if new.is_empty() { "" } else { "(" };
                current = new;
            }
            text.push(glyph.ch);
        }
        text + if current.is_empty() { "" } else { ")" }
    }

    #[test]
    fn marks_become_styles() {
        for (source, expected) in [
            ("a **b** c", "a B(b) c"),
            ("*a* _b_ __c__ ~~d~~", "I(a) I(b) B(c) S(d)"),
            ("**a *b* c**", "B(a )BI(b)B( c)"),
            ("***both***", "BI(both)"),
            ("`a*b*` ``x`y``", "C(a*b*) C(x`y)"),
            ("**`a`**", "BC(a)"),
            ("[a](https://b.example)", "L(a) (https://b.example)"),
            ("[`a` *b*](c)", "LC(a)L( )IL(b) (c)"),
            ("[a](a)", "L(a)"),
            ("<https://a.example>", "L(https://a.example)"),
            (r"\*a\* \n", r"*a* \n"),
        ] {
            assert_eq!(outline(source), expected, "{source}");
        }
    }

    #[test]
    fn text_without_markup_stays_as_it_is() {
        for source in [
            "2 * 3 * 4",
            "snake_case_name",
            "*.rs and *.toml",
            "a[0] = b[1]",
            "**open",
            "`open",
            "[open](",
            "a ~ b ~ c",
            "<b>x</b> a<b",
            "[x]",
            "****",
        ] {
            assert_eq!(outline(source), source);
        }
    }

    #[test]
    fn a_line_is_only_cut_where_nothing_can_change_any_more() {
        let cut = |source: &str| {
            let inline = parse(source, Style::new(), MarkSet::Unicode);
            let places = (0..=source.len()).filter(|at| inline.may_be_cut(*at));
            places.collect::<Vec<_>>()
        };
        assert_eq!(cut("ab"), [0, 1, 2]);
        assert_eq!(cut("a **b"), [0, 1, 2]);
        assert_eq!(cut("a *b* c"), [0, 1, 2, 5, 6, 7]);
        assert_eq!(cut("`a` b"), [0, 3, 4, 5]);
        assert_eq!(cut("[a](b"), [0]);
    }
}
