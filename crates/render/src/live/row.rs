//! Rows of a terminal: styled characters, measured, cut and written. All that a live view shows goes through here.

use anstyle::Style;
use unicode_width::UnicodeWidthChar as _;

use super::MarkSet;
use crate::plain::sanitize;

/// A row, ready for the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScreenRow {
    /// Its text; its only escape sequences are colours of ours.
    pub text: String,
    /// How many columns it takes.
    pub width: usize,
}

/// A character, how it looks and how wide it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Glyph {
    pub(super) ch: char,
    pub(super) style: Style,
    pub(super) width: usize,
    /// Where in its source it comes from.
    pub(super) at: usize,
}

/// Styled characters in a row.
#[derive(Debug, Clone, Default)]
pub(super) struct StyledText {
    pub(super) all: Vec<Glyph>,
    marks: MarkSet,
}

impl StyledText {
    pub(super) fn new(marks: MarkSet) -> Self {
        Self {
            all: Vec::new(),
            marks,
        }
    }

    /// Adds a text that has no place in a source.
    pub(super) fn push(&mut self, style: Style, text: &str) {
        for ch in sanitize(text).chars() {
            self.push_glyph(ch, style, 0);
        }
    }

    /// Adds a text that stands in its source at `at`.
    pub(super) fn push_source(&mut self, style: Style, text: &str, at: usize) {
        for (offset, ch) in text.char_indices() {
            self.push_glyph(ch, style, at + offset);
        }
    }

    fn push_glyph(&mut self, ch: char, style: Style, at: usize) {
        let mut add = |ch: char| {
            let is_space = ch.is_whitespace() && ch != UNBROKEN;
            let ch = if is_space { ' ' } else { ch };
            let glyph = Glyph {
                ch,
                style,
                width: ch.width().unwrap_or(0),
                at,
            };
            match self.all.last_mut() {
                // Terminals do not agree on how wide this makes a character. Too much is harmless, too little is not.
                Some(last) if ch == EMOJI_STYLE && last.width == 1 => last.width = 2,
                _ => {}
            }
            if !ch.is_control() {
                self.all.push(glyph);
            }
        };
        match self.marks {
            MarkSet::Unicode => add(ch),
            MarkSet::Ascii => MarkSet::spell_in_ascii(ch, &mut add),
        }
    }

    pub(super) fn extend_glyphs(&mut self, other: &[Glyph]) {
        self.all.extend_from_slice(other);
    }

    pub(super) fn column_width(&self) -> usize {
        glyphs_width(&self.all)
    }

    pub(super) fn trim_end(&mut self) {
        while self.all.last().is_some_and(|glyph| glyph.ch == ' ') {
            self.all.pop();
        }
    }

    /// Cuts the glyphs to `most` columns, and ends them with an ellipsis.
    pub(super) fn cut_to_columns(&mut self, most: usize) {
        if self.column_width() <= most {
            return;
        }
        let mut ellipsis = Self::new(self.marks);
        ellipsis.push(self.all.last().map_or(Style::new(), |last| last.style), "…");
        let mut left = most.saturating_sub(ellipsis.column_width());
        let fits = |glyph: &&Glyph| {
            let does = glyph.width <= left;
            left = left.saturating_sub(glyph.width);
            does
        };
        let kept = self.all.iter().take_while(fits).count();
        self.all.truncate(kept);
        if ellipsis.column_width() <= most {
            self.all.append(&mut ellipsis.all);
        }
    }

    /// The row these characters make.
    pub(super) fn to_row(&self, colour: bool) -> ScreenRow {
        let mut text = String::new();
        let mut current = Style::new();
        for glyph in &self.all {
            if colour && glyph.style != current {
                text += &current.render_reset().to_string();
                text += &glyph.style.render().to_string();
                current = glyph.style;
            }
            text.push(if glyph.ch == UNBROKEN { ' ' } else { glyph.ch });
        }
        text += &current.render_reset().to_string();
        ScreenRow {
            text,
            width: self.column_width(),
        }
    }
}

/// A space where no row ends.
pub(super) const UNBROKEN: char = '\u{a0}';

/// Asks for the picture instead of the sign.
const EMOJI_STYLE: char = '\u{fe0f}';

pub(super) fn glyphs_width(glyphs: &[Glyph]) -> usize {
    glyphs.iter().map(|glyph| glyph.width).sum()
}
