//! Names of arguments, however an agent spells them: `file_path`, `filePath` and `FilePath` are the same word.

use lapidary_json::Token;

/// A longer name is not in any list of names.
const LONGEST: usize = 32;

/// A name in small letters, without the separators between its words.
pub(super) fn folded_name(name: Token<'_>) -> String {
    let letters = name.as_str().trim_matches('"').as_bytes();
    if letters.len() <= LONGEST && letters.iter().all(|it| is_plain(*it)) {
        return plain_word(letters);
    }
    let name = name.string().unwrap_or_default();
    let is_between = |letter: &char| matches!(letter, '_' | '-' | ' ' | '.');
    let letters = name.chars().filter(|letter| !is_between(letter));
    let mut word = String::with_capacity(name.len().min(LONGEST + 1));
    for letter in letters.take(LONGEST + 1) {
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// Nearly all names have nothing but these letters, of which none needs decoding.
fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_'
}

fn plain_word(letters: &[u8]) -> String {
    let mut word = String::with_capacity(letters.len());
    let letters = letters.iter().filter(|it| **it != b'_');
    word.extend(letters.map(|it| char::from(it.to_ascii_lowercase())));
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
            assert_eq!(
                folded_name(Token::parse(&json).unwrap()),
                "filepath",
                "{name}"
            );
        }
    }
}
