//! Styles. Without colour there is still bold, dim and reverse; and the selected row has a mark as well.

use crossterm::style::{Attribute, Attributes, Color};

use super::super::canvas::CellStyle;

#[derive(Debug, Clone, Copy)]
pub(super) struct BrowserInk {
    pub(super) colour: bool,
}

impl BrowserInk {
    /// For the most important text.
    pub(super) const STRONG: CellStyle = plain_with(Attribute::Bold);
    /// For the least important text.
    pub(super) const DIM: CellStyle = plain_with(Attribute::Dim);

    /// For the row under the cursor.
    pub(super) fn select_row(style: &mut CellStyle) {
        style.attributes.set(Attribute::Reverse);
    }

    /// For matches of a search.
    pub(super) fn match_style(self) -> CellStyle {
        let mut style = Self::STRONG;
        style.attributes.set(Attribute::Underlined);
        self.with_colour(style, Color::DarkYellow)
    }

    /// For messages of the user.
    pub(super) fn user_style(self) -> CellStyle {
        self.with_colour(Self::STRONG, Color::DarkCyan)
    }

    fn with_colour(self, mut style: CellStyle, colour: Color) -> CellStyle {
        if self.colour {
            style.foreground_color = Some(colour);
        }
        style
    }
}

const fn plain_with(attribute: Attribute) -> CellStyle {
    CellStyle {
        foreground_color: None,
        background_color: None,
        underline_color: None,
        attributes: Attributes::none().with(attribute),
    }
}
