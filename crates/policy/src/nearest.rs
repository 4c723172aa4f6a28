//! The known word that an unknown word resembles, for `did you mean` hints.

use strsim::levenshtein;

/// No key of ours is so long that a longer word could have meant it.
const LONGEST: usize = 40;

/// Two letters that changed places are two mistakes.
const SLIPS: usize = 2;

/// The word among `words` that `word` resembles, if it resembles one: no more than a third of its letters are wrong.
pub fn nearest_of<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let spellings = [in_snake_case(word), word.to_ascii_lowercase()];
    let close = words.into_iter().flat_map(|key| {
        spellings
            .iter()
            .map(move |word| (levenshtein(word, key), key))
    });
    let (distance, key) = close.min()?;
    (distance <= SLIPS.max(key.len() / 3)).then_some(key)
}

/// `approval-mode` and `approvalMode` are `approval_mode`.
fn in_snake_case(word: &str) -> String {
    let mut snake = String::new();
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(if letter == '-' {
            '_'
        } else {
            letter.to_ascii_lowercase()
        });
    }
    snake
}
