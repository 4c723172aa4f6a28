//! The size and the character set of the terminal.

use lapidary::render::live::{MarkSet, TerminalSize};

use crate::invocation::Invocation;

/// The size of a terminal that does not report one.
const USUAL: TerminalSize = TerminalSize {
    width: 80,
    height: 24,
};

/// The size of the terminal that stdout is.
pub(crate) fn terminal_size(invocation: &Invocation) -> TerminalSize {
    invocation.terminal_size().unwrap_or(USUAL)
}

/// The signs that the locale allows.
pub(crate) fn locale_marks(invocation: &Invocation) -> MarkSet {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut values = names
        .iter()
        .filter_map(|name| invocation.variable_value(name)?.to_str());
    marks_of(values.find(|value| !value.is_empty()))
}

/// A locale that names another encoding than UTF-8 means it, and so does `C`, which has none. Where nothing is set, as in a
/// container, the terminal is taken for a modern one.
fn marks_of(locale: Option<&str>) -> MarkSet {
    if matches!(locale, Some("C" | "POSIX")) {
        return MarkSet::Ascii;
    }
    let encoding = locale.and_then(|locale| locale.split_once('.'));
    let encoding = encoding.map(|(_, encoding)| encoding.to_ascii_lowercase());
    match encoding.as_deref() {
        Some(other) if !other.starts_with("utf-8") && !other.starts_with("utf8") => MarkSet::Ascii,
        _ => MarkSet::Unicode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_encoding_takes_the_signs_away() {
        for (locale, expected) in [
            (None, MarkSet::Unicode),
            (Some("C"), MarkSet::Ascii),
            (Some("POSIX"), MarkSet::Ascii),
            (Some("en_US"), MarkSet::Unicode),
            (Some("C.UTF-8"), MarkSet::Unicode),
            (Some("de_DE.utf8"), MarkSet::Unicode),
            (Some("de_DE.ISO-8859-1"), MarkSet::Ascii),
        ] {
            assert_eq!(marks_of(locale), expected, "{locale:?}");
        }
    }
}
