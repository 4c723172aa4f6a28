//! Names of arguments, however an agent spells them: `file_path`, `filePath` and `FilePath` are the same word.

use lapidary_json::Token;

/// A longer name is none that anybody looks for.
const LONGEST: usize = 32;

/// A name in small letters, without what stands between its words.
pub(super) fn word(name: Token<'_>) -> String {
    let name = name.string().unwrap_or_default();
    let is_between = |letter: &char| matches!(letter, '_' | '-' | ' ' | '.');
    let letters = name.chars().filter(|letter| !is_between(letter));
    let mut word = String::with_capacity(name.len().min(LONGEST + 1));
    for letter in letters.take(LONGEST + 1) {
        word.push(letter.to_ascii_lowercase());
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_however_it_is_spelled() {
        for name in [
            "file_path",
            "filePath",
            "FilePath",
            "FILE-PATH",
            "file\\u005fpath",
        ] {
            let json = format!("\"{name}\"");
            assert_eq!(word(Token::parse(&json).unwrap()), "filepath", "{name}");
        }
    }
}
