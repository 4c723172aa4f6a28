//! Texts that fit into so many columns.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A text that fits into so many columns, with a sign that it goes on. Grapheme clusters are not cut.
pub(in crate::commands) fn shorten_to_width(text: &str, room: usize) -> String {
    let mut line = String::new();
    add_shortened(&mut line, text, room);
    line
}

/// Adds such a text to a line.
pub(super) fn add_shortened(line: &mut String, text: &str, room: usize) {
    match kept_bytes(text, room) {
        None => line.push_str(text),
        Some(kept) => {
            line.push_str(&text[..kept]);
            line.push_str(&"..."[..room.min(3)]);
        }
    }
}

/// How many bytes stay of a text that does not fit into so many columns. None if it fits.
fn kept_bytes(text: &str, room: usize) -> Option<usize> {
    let left = room.saturating_sub(3);
    if text.is_ascii() {
        return (text.len() > room).then_some(left);
    }
    let (mut at, mut columns, mut kept) = (0, 0, 0);
    // No more is measured than has room: a title may be long.
    while at < text.len() {
        let rest = &text[at..];
        let alone = plain_characters(rest);
        if alone == 0 {
            let letter = rest.graphemes(true).next().unwrap_or(rest);
            columns += letter.width();
            at += letter.len();
            if columns <= left {
                kept = at;
            }
        } else {
            if let Some(more) = left.checked_sub(columns) {
                kept = at + alone.min(more);
            }
            columns += alone;
            at += alone;
        }
        if columns > room {
            return Some(kept);
        }
    }
    None
}

/// How many characters a text begins with that have a byte and a column each. To find the bounds of others takes a hundred times as long.
fn plain_characters(text: &str) -> usize {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    let plain = text.bytes().take_while(is_plain).count();
    // A mark may follow that belongs to the last one.
    if plain == text.len() {
        plain
    } else {
        plain.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cut_by_columns_and_between_characters() {
        assert_eq!(shorten_to_width("abcdef", 6), "abcdef");
        assert_eq!(shorten_to_width("abcdefg", 6), "abc...");
        assert_eq!(shorten_to_width("日本語の勉強", 12), "日本語の勉強");
        assert_eq!(shorten_to_width("日本語の勉強", 11), "日本語の...");
        assert_eq!(shorten_to_width("日本語の勉強", 10), "日本語...");
        assert_eq!(shorten_to_width("cafe\u{301} noir", 7), "cafe\u{301}...");
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(
            shorten_to_width(&format!("ab{family}cdef"), 7),
            format!("ab{family}...")
        );
        assert_eq!(shorten_to_width(&format!("abc{family}def"), 7), "abc...");
        assert_eq!(shorten_to_width("Größe naïve", 11), "Größe naïve");
        assert_eq!(shorten_to_width("Größe naïve", 10), "Größe n...");
        assert_eq!(shorten_to_width("Größe abcdef", 8), "Größe...");
        assert_eq!(shorten_to_width("é", 0), "");
        assert_eq!(shorten_to_width("aé", 1), ".");
        assert_eq!(shorten_to_width("abcd", 2), "..");
        assert_eq!(shorten_to_width("abcd", 0), "");
    }
}
