//! Text from files, made fit for a screen: harmless, measured in columns, cut and broken where they end.

use std::borrow::Cow;

use lapidary::render::live::MarkSet;
use lapidary::render::plain::sanitize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How many combining marks one letter keeps. More of them would reach into the rows around it.
const MOST_ACCENTS: usize = 2;

/// How far a tab goes.
const TAB: usize = 4;

/// A text on one line, with nothing in it that a terminal obeys, and only characters whose width is certain.
pub(super) fn one_line(text: &str, marks: MarkSet) -> String {
    let mut line = String::with_capacity(text.len());
    let mut accents = 0;
    for letter in sanitize(text).chars() {
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        if is_unseen(letter) {
            continue;
        }
        if letter.width() == Some(0) {
            accents += 1;
            if accents > MOST_ACCENTS || line.is_empty() {
                continue;
            }
        } else {
            accents = 0;
        }
        line.push(letter);
    }
    match marks {
        MarkSet::Unicode => line,
        MarkSet::Ascii => ascii_text(&line),
    }
}

/// A text as lines, each as [`one_line`] has it; how they are indented stays.
pub(super) fn harmless_lines(text: &str, marks: MarkSet) -> Vec<String> {
    let text = sanitize(text);
    text.lines()
        .map(|line| one_line(&line.replace('\t', &" ".repeat(TAB)), marks))
        .collect()
}

/// Invisible characters that change the visible ones: joiners, selectors of shapes, directions, tags.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The same in ASCII: our own signs by ones that look like them, any other by a question mark.
pub(super) fn ascii_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            ' '..='~' => plain.push(letter),
            '●' | '•' => plain.push('*'),
            '✓' | '✔' => plain.push('+'),
            '✗' | '✘' | '×' => plain.push('x'),
            '│' | '▎' | '▌' => plain.push('|'),
            '·' | '−' | '─' | '–' => plain.push('-'),
            '—' => plain.push_str("--"),
            '…' => plain.push_str("..."),
            '↑' => plain.push('^'),
            '↓' => plain.push('v'),
            letter if letter.width() == Some(0) => {}
            _ => plain.push('?'),
        }
    }
    plain
}

/// How many columns a text takes.
pub(super) fn text_width(text: &str) -> usize {
    text.width()
}

/// A text that fits, with a sign that it goes on.
pub(super) fn shorten_text(text: &str, room: usize, marks: MarkSet) -> Cow<'_, str> {
    if text_width(text) <= room {
        return Cow::Borrowed(text);
    }
    let sign = match marks {
        MarkSet::Unicode => "…",
        MarkSet::Ascii => "...",
    };
    let sign = if text_width(sign) > room { "" } else { sign };
    let (start, _) = split_at_width(text, room - text_width(sign));
    Cow::Owned(format!("{}{sign}", start.trim_end()))
}

/// As much of a text as fits, and the rest.
pub(super) fn split_at_width(text: &str, room: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > room {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// Breaks a line into rows: between words where there are any. Further rows have the indentation of the first.
pub(super) fn wrap_line(line: &str, room: usize, mut row: impl FnMut(&str)) {
    let room = room.max(1);
    let indent = line.len() - line.trim_start().len();
    let indent = " ".repeat(indent.min(room / 2));
    let (mut start, mut rest) = break_line(line, room);
    row(start);
    while !rest.is_empty() {
        let before = rest.len();
        (start, rest) = break_line(rest, room - indent.len());
        if rest.len() == before {
            // A character that is wider than the screen is not shown.
            rest = rest.char_indices().nth(1).map_or("", |(at, _)| &rest[at..]);
            continue;
        }
        row(&format!("{indent}{start}"));
    }
}

fn break_line(line: &str, room: usize) -> (&str, &str) {
    let (start, rest) = split_at_width(line, room);
    if rest.is_empty() {
        return (start, rest);
    }
    if let Some(rest) = rest.strip_prefix(' ') {
        return (start, rest.trim_start());
    }
    match start.rfind(' ') {
        // Not in the indentation, and not where half of the row would stay empty.
        Some(at) if !start[..at].trim().is_empty() && at >= start.len() / 2 => {
            (&line[..at], line[at..].trim_start())
        }
        _ => (start, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_or_that_is_not_seen_is_left() {
        let hostile =
            "a\u{1b}]0;t\u{7}b\u{1b}[2J\rc\u{202e}d\u{200d}e\u{2028}f\tg\u{e0041}h\u{9b}1m";
        assert_eq!(one_line(hostile, MarkSet::Unicode), "ab c\\u{202e}de f gh");
        let tower = format!("e{}!", "\u{301}".repeat(50));
        assert_eq!(one_line(&tower, MarkSet::Unicode), "e\u{301}\u{301}!");
        assert_eq!(one_line("\u{301}a", MarkSet::Unicode), "a");
        assert_eq!(one_line("● 日本 — é…", MarkSet::Ascii), "* ?? -- ?...");
    }

    #[test]
    fn shortened_text_fits_its_width_with_wide_characters_too() {
        assert_eq!(shorten_text("abcdef", 6, MarkSet::Unicode), "abcdef");
        assert_eq!(shorten_text("abcdef", 4, MarkSet::Unicode), "abc…");
        assert_eq!(shorten_text("abcdef", 4, MarkSet::Ascii), "a...");
        assert_eq!(shorten_text("日本語", 5, MarkSet::Unicode), "日本…");
        assert_eq!(shorten_text("日本語", 4, MarkSet::Unicode), "日…");
        assert_eq!(shorten_text("abc", 0, MarkSet::Unicode), "");
    }

    fn wrapped(line: &str, room: usize) -> Vec<String> {
        let mut rows = Vec::new();
        wrap_line(line, room, |row| rows.push(row.to_owned()));
        rows
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indentation() {
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("日本語", 1), [""], "too wide for one column");
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
    }

    proptest::proptest! {
        #[test]
        fn every_row_fits(line in "[a-z 日é]{0,60}", room in 2usize..20) {
            for row in wrapped(&line, room) {
                proptest::prop_assert!(text_width(&row) <= room, "{row:?}");
            }
        }
    }
}
