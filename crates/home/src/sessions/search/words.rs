//! What a word is: for the search through the files, for the index, and for what is looked for.
//!
//! A run of letters and digits, whatever their case. Everything else parts words: `read_file` is two. Only ASCII letters read as
//! ASCII letters (the Kelvin sign is no `k`), so that a word's ASCII part can be looked for in the bytes of a file.

use std::ops::Range;

/// A longer run is no word: it is a picture, a key, a hash of hashes.
const LONGEST: usize = 128;

/// Where the words of a text are.
pub(in crate::sessions) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// The words of a text, in order: see [`words`].
#[derive(Debug)]
pub(in crate::sessions) struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl Words<'_> {
    /// Where the run ends that begins at `from`.
    fn end_of_run(&self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii() {
                if !byte.is_ascii_alphanumeric() {
                    break;
                }
                at += 1;
            } else {
                match self.text[at..].chars().next() {
                    Some(letter) if letter.is_alphanumeric() => at += letter.len_utf8(),
                    _ => break,
                }
            }
        }
        at
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let from = self.at;
            self.at = self.end_of_run(from);
            if self.at == from {
                self.at += if byte.is_ascii() {
                    1
                } else {
                    self.text[from..].chars().next().map_or(1, char::len_utf8)
                };
            } else if self.at - from <= LONGEST {
                return Some(from..self.at);
            }
        }
        None
    }
}

/// Adds a word as words are compared: in small letters.
pub(in crate::sessions) fn fold_into(word: &str, folded: &mut String) {
    if word.is_ascii() {
        let from = folded.len();
        folded.push_str(word);
        folded[from..].make_ascii_lowercase();
    } else {
        folded.extend(word.chars().flat_map(fold));
    }
}

/// A word as words are compared.
pub(in crate::sessions) fn folded(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold_into(word, &mut folded);
    folded
}

/// True if a word of a text reads so.
pub(in crate::sessions) fn is(word: &str, folded: &str) -> bool {
    if word.is_ascii() {
        return word.eq_ignore_ascii_case(folded);
    }
    word.chars().flat_map(fold).eq(folded.chars())
}

/// True if a word of a text begins so.
pub(in crate::sessions) fn begins(word: &str, folded: &str) -> bool {
    if word.is_ascii() {
        let start = word.as_bytes().get(..folded.len());
        return start.is_some_and(|start| start.eq_ignore_ascii_case(folded.as_bytes()));
    }
    let mut letters = word.chars().flat_map(fold);
    folded
        .chars()
        .all(|expected| letters.next() == Some(expected))
}

/// A letter in small, without any that is not ASCII ever becoming one that is.
fn fold(letter: char) -> impl Iterator<Item = char> {
    let is_kept = letter.is_ascii() || !letter.to_lowercase().any(|small| small.is_ascii());
    let small = is_kept.then(|| letter.to_lowercase());
    let itself = (!is_kept).then_some(letter);
    small.into_iter().flatten().chain(itself)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).map(|word| folded(&text[word])).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(
            of("Read_file(\"src/main.rs\")"),
            ["read", "file", "src", "main", "rs"]
        );
        assert_eq!(
            of("Straße CAFÉ Привет 日本語 x2"),
            ["straße", "café", "привет", "日本語", "x2"]
        );
        assert_eq!(of(""), Vec::<String>::new());
        assert_eq!(of(" \u{1f600} "), Vec::<String>::new());
    }

    #[test]
    fn a_run_that_nobody_would_type_is_no_word() {
        let long = "a".repeat(LONGEST);
        assert_eq!(of(&format!("{long} {long}b c")), [long, "c".to_owned()]);
    }

    #[test]
    fn no_other_letter_becomes_an_ascii_letter() {
        assert_eq!(of("\u{212a}elvin \u{130}x"), ["\u{212a}elvin", "\u{130}x"]);
        assert!(!is("\u{212a}elvin", "kelvin"));
        assert!(!begins("\u{130}x", "i"));
        assert!(is("ÉCOLE", "école") && begins("ÉCOLE", "éc") && begins("abc", "ab"));
    }
}
