//! Styles. Without colour there is still bold, dim and reverse; and what is selected has a mark as well.

use crossterm::style::{Attribute, Attributes, Color};

use super::super::canvas::CellStyle;

#[derive(Debug, Clone, Copy)]
pub(super) struct BrowserInk {
    pub(super) colour: bool,
}

impl BrowserInk {
    /// What is looked at first.
    pub(super) const STRONG: CellStyle = plain_with(Attribute::Bold);
    /// What is looked at last.
    pub(super) const DIM: CellStyle = plain_with(Attribute::Dim);

    /// What is under the cursor.
    pub(super) fn select(style: &mut CellStyle) {
        style.attributes.set(Attribute::Reverse);
    }

    /// What was searched.
    pub(super) fn found(self) -> CellStyle {
        let mut style = Self::STRONG;
        style.attributes.set(Attribute::Underlined);
        self.coloured(style, Color::DarkYellow)
    }

    /// What the user said.
    pub(super) fn user(self) -> CellStyle {
        self.coloured(Self::STRONG, Color::DarkCyan)
    }

    fn coloured(self, mut style: CellStyle, colour: Color) -> CellStyle {
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
