//! The colours of a terminal, by the role of the text.

use anstyle::{AnsiColor, Style};

/// The role of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextInk {
    Plain,
    Prompt,
    Thought,
    Tool,
    Faint,
    Good,
    Warning,
    Error,
    Added,
    Removed,
}

impl TextInk {
    pub(crate) fn ansi_style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Prompt => colour(AnsiColor::Cyan).bold(),
            Self::Thought => Style::new().dimmed().italic(),
            Self::Tool => colour(AnsiColor::Blue).bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good | Self::Added => colour(AnsiColor::Green),
            Self::Warning => colour(AnsiColor::Yellow),
            Self::Error | Self::Removed => colour(AnsiColor::Red),
        }
    }
}
