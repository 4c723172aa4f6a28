//! What JavaScript's strings do otherwise than Rust's.

pub mod regex;

use std::cmp::Ordering;

/// What JavaScript takes for white space.
pub fn is_space(letter: char) -> bool {
    letter == '\u{feff}' || (letter.is_whitespace() && letter != '\u{85}')
}

/// The same as `trim()`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The same as `localeCompare()` without a locale, for ASCII names: letters in dictionary order, lowercase before uppercase where nothing
/// else differs. Other characters sort after ASCII by code point, which is not where every dictionary puts them.
pub fn locale_compare(one: &str, other: &str) -> Ordering {
    let weights = |text: &str| {
        text.chars()
            .filter_map(collation_weight)
            .collect::<Vec<_>>()
    };
    let capitals = |text: &str| {
        let counted = text
            .chars()
            .filter(|letter| collation_weight(*letter).is_some());
        counted
            .map(|letter| letter.is_ascii_uppercase())
            .collect::<Vec<_>>()
    };
    let first = weights(one).cmp(&weights(other));
    first.then_with(|| capitals(one).cmp(&capitals(other)))
}

/// The place of a character among others. None for control characters, which count for nothing.
fn collation_weight(letter: char) -> Option<u32> {
    const BEFORE_LETTERS: &str =
        "\t\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029} _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
    let lower = letter.to_ascii_lowercase();
    if lower.is_ascii_lowercase() {
        return Some(1000 + u32::from(lower));
    }
    match BEFORE_LETTERS.find(letter) {
        Some(place) => u32::try_from(place).ok(),
        None if letter.is_ascii() => None,
        None => Some(2000 + u32::from(letter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_a_dictionary_has_them() {
        // As Node 20 sorts them.
        let sorted = [
            "", "\u{2028}", " ", "_a", "-a", "1", "10", "2", "a", "A", "a b", "a-b", "a1", "ab",
            "aB", "Ab", "AB", "abc", "b", "z", "é",
        ];
        for pair in sorted.windows(2) {
            assert_eq!(locale_compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(locale_compare("a\u{1}b", "ab"), Ordering::Equal);
    }
}
