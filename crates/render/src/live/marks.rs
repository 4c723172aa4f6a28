//! The signs a terminal can show.

use std::borrow::Cow;

use super::row::UNBROKEN;

/// Which signs may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MarkSet {
    /// All of them.
    #[default]
    Unicode,
    /// ASCII only, because the locale is not UTF-8. Everything else is spelled out: in such a terminal the bytes of an
    /// innocent character may be a command.
    Ascii,
}

impl MarkSet {
    /// The frames of the activity indicator.
    pub fn spinner(self) -> &'static [&'static str] {
        match self {
            Self::Unicode => &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
            Self::Ascii => &["|", "/", "-", "\\"],
        }
    }

    /// A text in these signs.
    pub(crate) fn spell_text(self, text: &str) -> Cow<'_, str> {
        if self == Self::Unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut spelled = String::with_capacity(text.len());
        for ch in text.chars() {
            match ch {
                '\n' | '\t' => spelled.push(ch),
                ch => Self::spell_in_ascii(ch, &mut |ch| spelled.push(ch)),
            }
        }
        Cow::Owned(spelled)
    }

    /// A character in ASCII: a sign of ours by one that looks like it, any other by its number.
    pub(super) fn spell_in_ascii(ch: char, add: &mut impl FnMut(char)) {
        let alike = match ch {
            ' '..='~' | UNBROKEN => return add(ch),
            '·' | '−' | '⊘' | '─' => "-",
            '…' => "...",
            '—' => "--",
            '•' | '●' => "*",
            '│' | '▎' => "|",
            '┆' => ":",
            '↳' => ">",
            '┼' | '✔' | '✓' => "+",
            '✘' | '✗' => "x",
            _ => return ch.escape_unicode().for_each(add),
        };
        alike.chars().for_each(add);
    }
}
