//! Styles. Without colour there is still bold, dim and reverse; and what is selected has a mark as well.

use ratatui::style::{Color, Modifier, Style};

#[derive(Debug, Clone, Copy)]
pub(super) struct Ink {
    pub(super) colour: bool,
}

impl Ink {
    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// What is under the cursor.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is looked at first.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is looked at last.
    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What was searched.
    pub(super) fn found(self) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        self.coloured(style, Color::Yellow)
    }

    /// What the user said.
    pub(super) fn user(self) -> Style {
        self.coloured(self.strong(), Color::Cyan)
    }
}
