//! Long lines in rows, broken where a reader would break them.

use std::ops::Range;

use super::row::{Glyph, glyphs_width};

/// Where a row may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakPoint {
    /// Between words, and between wide characters, which have no spaces between them.
    Words,
    /// Anywhere: code and tables keep every space.
    Anywhere,
}

/// The rows, as ranges of `glyphs`. With [`BreakPoint::Words`] the spaces at a break are in none of them.
pub(super) fn wrapped_rows(glyphs: &[Glyph], most: usize, how: BreakPoint) -> Vec<Range<usize>> {
    let mut rows = RowBuilder {
        glyphs,
        most,
        how,
        start: 0,
        column: 0,
        done: Vec::new(),
    };
    let mut at = 0;
    while at < glyphs.len() {
        let end = at + unit_length(&glyphs[at..], how);
        rows.place_unit(at..end);
        at = end;
    }
    rows.end_row(glyphs.len());
    rows.done
}

struct RowBuilder<'a> {
    glyphs: &'a [Glyph],
    most: usize,
    how: BreakPoint,
    start: usize,
    column: usize,
    done: Vec<Range<usize>>,
}

impl RowBuilder<'_> {
    fn place_unit(&mut self, unit: Range<usize>) {
        let wide = glyphs_width(&self.glyphs[unit.clone()]);
        let is_space = self.how == BreakPoint::Words && self.glyphs[unit.start].ch == ' ';
        if is_space && self.column + wide > self.most && self.start < unit.start {
            self.end_row(unit.start);
            self.start = unit.end;
            self.column = 0;
        } else if is_space || self.column + wide <= self.most {
            self.column += wide;
        } else {
            self.begin_with(unit);
        }
    }

    /// A word that does not fit begins the next row; one that fits in none is broken.
    fn begin_with(&mut self, unit: Range<usize>) {
        if self.column > 0 && self.start < unit.start {
            self.end_row(unit.start);
            self.start = unit.start;
        }
        self.column = 0;
        for at in unit {
            let wide = self.glyphs[at].width;
            if self.column + wide > self.most && self.start < at {
                self.end_row(at);
                self.start = at;
                self.column = 0;
            }
            self.column += wide;
        }
    }

    fn end_row(&mut self, end: usize) {
        let row = &self.glyphs[self.start.min(end)..end];
        let trailing = match self.how {
            BreakPoint::Words => row.iter().rev().take_while(|glyph| glyph.ch == ' ').count(),
            BreakPoint::Anywhere => 0,
        };
        if trailing < row.len() {
            self.done.push(self.start..end - trailing);
        }
    }
}

/// How many characters stay together: a word, the spaces after it, or a wide character with what modifies it.
fn unit_length(glyphs: &[Glyph], how: BreakPoint) -> usize {
    let first = glyphs[0];
    let is_same = |glyph: &Glyph| {
        glyph.width == 0
            || how == BreakPoint::Words
                && first.width < 2
                && glyph.width < 2
                && (glyph.ch == ' ') == (first.ch == ' ')
    };
    1 + glyphs[1..]
        .iter()
        .take_while(|glyph| is_same(glyph))
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::MarkSet;
    use super::super::row::StyledText;
    use super::*;
    use anstyle::Style;

    fn check(text: &str, most: usize, how: BreakPoint, expected: &[&str]) {
        let mut glyphs = StyledText::new(MarkSet::Unicode);
        glyphs.push(Style::new(), text);
        let rows = wrapped_rows(&glyphs.all, most, how);
        let shown: Vec<String> = rows
            .into_iter()
            .map(|row| glyphs.all[row].iter().map(|glyph| glyph.ch).collect())
            .collect();
        assert_eq!(shown, expected, "{text:?} in {most}");
    }

    #[test]
    fn words_stay_whole_and_spaces_go_at_the_break() {
        check("one two three", 7, BreakPoint::Words, &["one two", "three"]);
        check(
            "one two   three",
            7,
            BreakPoint::Words,
            &["one two", "three"],
        );
        check("  a b", 3, BreakPoint::Words, &["  a", "b"]);
        check(
            "abcdefgh ij",
            3,
            BreakPoint::Words,
            &["abc", "def", "gh", "ij"],
        );
        check("ab cdefgh", 4, BreakPoint::Words, &["ab", "cdef", "gh"]);
        check("", 4, BreakPoint::Words, &[]);
    }

    #[test]
    fn wide_characters_break_anywhere_and_marks_stay_with_theirs() {
        check("你好世界", 5, BreakPoint::Words, &["你好", "世界"]);
        check("ab你好", 3, BreakPoint::Words, &["ab", "你", "好"]);
        check(
            "e\u{301}e\u{301}e",
            2,
            BreakPoint::Words,
            &["e\u{301}e\u{301}", "e"],
        );
        check("😀😀", 2, BreakPoint::Words, &["😀", "😀"]);
    }

    #[test]
    fn code_keeps_its_spaces() {
        check("a  b  c", 3, BreakPoint::Anywhere, &["a  ", "b  ", "c"]);
    }
}
