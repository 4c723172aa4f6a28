//! Styles. Without colour there is still bold, dim and reverse; and what is selected has a mark as well.

use ratatui::style::{Color, Modifier, Style};

#[derive(Debug, Clone, Copy)]
pub(super) struct Ink {
    pub(super) colour: bool,
}

impl Ink {
    /// What is under the cursor.
    pub(super) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
    /// What is looked at first.
    pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
    /// What is looked at last.
    pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);

    /// What was searched.
    pub(super) fn found(self) -> Style {
        let style = Self::STRONG.add_modifier(Modifier::UNDERLINED);
        self.coloured(style, Color::Yellow)
    }

    /// What the user said.
    pub(super) fn user(self) -> Style {
        self.coloured(Self::STRONG, Color::Cyan)
    }

    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }
}
