//! Emphasis: runs of `*`, `_` and `~`, and which of them belong together.

use std::ops::Range;

use anstyle::Style;

use super::InlinePiece;

/// How far back an opening mark is looked for. Emphasis is not nested deeper in practice, and hostile text must not make the
/// search long.
const MOST_OPEN: usize = 16;

/// A run of marks that may begin or end emphasis.
#[derive(Debug)]
pub(in super::super) struct DelimiterRun {
    pub(super) range: Range<usize>,
    ch: char,
    may_open: bool,
    may_close: bool,
    pub(super) is_paired: bool,
}

impl DelimiterRun {
    /// The run at `range`; none if it is only punctuation.
    pub(super) fn new(source: &str, range: Range<usize>, ch: char) -> Option<Self> {
        let before = source[..range.start].chars().next_back();
        let after = source[range.end..].chars().next();
        let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_mark = |c: Option<char>| !is_space(c) && !is_word(c);
        let opens = !is_space(after) && (!is_mark(after) || !is_word(before));
        let closes = !is_space(before) && (!is_mark(before) || !is_word(after));
        // Names are written with underscores, so within words they mean nothing.
        let within = ch == '_' && is_word(before) && is_word(after);
        let length = range.len();
        let has_meaning = if ch == '~' { length == 2 } else { length <= 3 };
        let (may_open, may_close) = (opens && !within, closes && !within);
        (has_meaning && (may_open || may_close)).then_some(Self {
            range,
            ch,
            may_open,
            may_close,
            is_paired: false,
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        self.ch == other.ch && self.range.len() == other.range.len()
    }
}

/// Pairs the marks. Returns what each pair spans, and where the first mark stands that still waits for its partner.
pub(super) fn pair_delimiters(pieces: &mut [InlinePiece]) -> (Vec<Range<usize>>, Option<usize>) {
    let mut open: Vec<usize> = Vec::new();
    let mut spans = Vec::new();
    for at in 0..pieces.len() {
        let InlinePiece::Delimiter(mark) = &pieces[at] else {
            continue;
        };
        let is_its = |place: &&usize| matches!(&pieces[**place], InlinePiece::Delimiter(other) if other.is_like(mark));
        let partner = open.iter().rev().take(MOST_OPEN).find(is_its).copied();
        if let Some(partner) = partner.filter(|_| mark.may_close) {
            let from = paired_range(&mut pieces[partner], DelimiterRole::Opens);
            let to = paired_range(&mut pieces[at], DelimiterRole::Closes);
            spans.push(from.start..to.end);
            // Marks that were opened in between are not closed any more: they are text.
            open.retain(|place| *place < partner);
        } else if mark.may_open {
            open.push(at);
        }
    }
    let first = open.first().and_then(|place| match &pieces[*place] {
        InlinePiece::Delimiter(mark) => Some(mark.range.start),
        _ => None,
    });
    (spans, first)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DelimiterRole {
    Opens,
    Closes,
}

fn paired_range(piece: &mut InlinePiece, role: DelimiterRole) -> Range<usize> {
    match piece {
        InlinePiece::Delimiter(mark) => {
            mark.is_paired = true;
            mark.may_open = role == DelimiterRole::Opens;
            mark.range.clone()
        }
        _ => 0..0,
    }
}

/// How many emphases of each sort are in force.
#[derive(Debug, Default)]
pub(super) struct EmphasisDepth {
    bold: usize,
    italic: usize,
    struck: usize,
}

impl EmphasisDepth {
    /// Takes a paired mark into account.
    pub(super) fn apply_mark(&mut self, mark: &DelimiterRun) {
        let by = |depth: &mut usize| {
            *depth = if mark.may_open {
                *depth + 1
            } else {
                depth.saturating_sub(1)
            };
        };
        match (mark.ch, mark.range.len()) {
            ('~', _) => by(&mut self.struck),
            (_, 1) => by(&mut self.italic),
            (_, 2) => by(&mut self.bold),
            _ => {
                by(&mut self.italic);
                by(&mut self.bold);
            }
        }
    }

    pub(super) fn emphasis_style(&self, base: Style) -> Style {
        let style = if self.bold > 0 { base.bold() } else { base };
        let style = if self.italic > 0 {
            style.italic()
        } else {
            style
        };
        if self.struck > 0 {
            style.strikethrough()
        } else {
            style
        }
    }
}
